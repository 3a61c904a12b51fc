//! Calls of functions that take a path into a JSONB.

use types::json_path::PathResult;
use types::{DataType, ElementType, Result};

use super::json::{call, missing};
use super::types::{Context, can_cast};
use super::{Binder, Bound};
use crate::algebra::{Expr, JsonFunction as J, Place};

/// Whether moments without a zone are those of the session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathZone {
    Session,
    None,
}

/// Result and zone of the path function called `name`; None for other functions.
pub(super) fn path_call(name: &str) -> Option<(PathResult, PathZone)> {
    let name = name.strip_prefix("jsonb_path_")?;
    let (name, zone) = match name.strip_suffix("_tz") {
        Some(name) => (name, PathZone::Session),
        None => (name, PathZone::None),
    };
    let wanted = match name {
        "exists" => PathResult::Exists,
        "match" => PathResult::Match,
        "query" => PathResult::Query,
        "query_array" => PathResult::Array,
        "query_first" => PathResult::First,
        _ => return None,
    };
    Some((wanted, zone))
}

impl Binder<'_> {
    /// A call of such a function: (JSONB, JSONPATH [, JSONB variables [, BOOLEAN silent]]); None
    /// when `name` is another one.
    pub(super) fn path_called(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Expr>> {
        let Some((wanted, zone)) = path_call(name) else { return Ok(None) };
        let types = [DataType::Jsonb, DataType::JsonPath, DataType::Jsonb, DataType::Boolean];
        let fits = (2..=types.len()).contains(&arguments.len())
            && arguments
                .iter()
                .zip(types)
                .all(|(bound, ty)| can_cast(bound.ty(), ty, Context::Implicit));
        if !fits {
            return Err(missing(name, arguments, at));
        }
        let mut list = Vec::with_capacity(types.len() + 1);
        for (bound, ty) in arguments.iter().zip(types) {
            list.push(self.coerce(bound.clone(), ty, Context::Implicit)?);
        }
        if list.len() == 2 {
            list.push(Expr::text("{}").cast(DataType::Jsonb));
        }
        if list.len() == 3 {
            list.push(Expr::boolean(false));
        }
        if zone == PathZone::Session {
            list.push(self.zone_name().unwrap_or_else(|| Expr::text("UTC")));
        }
        let ty = match wanted {
            PathResult::Exists | PathResult::Match => DataType::Boolean,
            PathResult::Query => DataType::Array(ElementType::Jsonb),
            PathResult::Array | PathResult::First => DataType::Jsonb,
        };
        Ok(Some(call(J::PathResult(wanted), list, ty)))
    }
}
