//! CREATE INDEX ... USING hnsw: its operator classes and options.
//!
//! Called by `index`. Elsewhere: the index itself (`storage::index::near`).
//! Source: pgvector 0.8, manual and the texts of its errors.

use sqlparser::ast;
use types::packed::distance::Metric;
use types::{DataType, Error, PackedType, Result, SqlState};

use super::name::object_parts;
use super::{Binder, fail, place};
use crate::algebra::Place;
use crate::catalog::{Called, IndexKind};

/// The extension that has the access methods and their operator classes.
const EXTENSION: &str = "vector";

/// Dimensions of a column of an index at most, as in pgvector.
const DIMENSIONS_MAX: u16 = 2000;

/// The method of pgvector in the place of which `hnsw` is taken.
pub(super) const LISTS: &str = "ivfflat";

/// The kind of index with such parameters, whose values were looked at one by one.
///
/// # Errors
/// 22023 where they do not fit each other.
pub(super) fn near_kind(options: &[(String, String)], at: Place) -> Result<IndexKind> {
    let value = |name: &str, usual: u16| {
        let given = options.iter().find(|(known, _)| known == name);
        given.and_then(|(_, value)| value.parse().ok()).unwrap_or(usual)
    };
    let links = value("m", IndexKind::NEAR_LINKS);
    let breadth = value("ef_construction", IndexKind::NEAR_BREADTH);
    if breadth < 2 * links {
        let message = "ef_construction must be greater than or equal to 2 * m";
        return fail(SqlState::INVALID_PARAMETER, message, at);
    }
    Ok(IndexKind::Near { links, breadth })
}

/// The notice about a method that another one is taken in the place of.
fn near_notice(method: &str) -> Option<(SqlState, String)> {
    (method == LISTS).then(|| {
        let message = format!("access method \"hnsw\" is taken in the place of \"{LISTS}\"");
        (SqlState::SUCCESSFUL_COMPLETION, message)
    })
}

impl Binder<'_> {
    /// A notice about an access method of vectors, where there is something to say.
    ///
    /// # Errors
    /// 42704 where nobody created the extension.
    pub(super) fn check_near(&self, method: &str, at: Place) -> Result<Option<(SqlState, String)>> {
        if self.catalog.finds_extension(EXTENSION, Called::InKeptText) {
            return Ok(near_notice(method));
        }
        let message = format!("access method \"{method}\" does not exist");
        fail(SqlState::UNDEFINED_OBJECT, message, at)
    }

    /// The operator class of the column of a near index, which has no usual one but that of
    /// `ivfflat`.
    ///
    /// # Errors
    /// 42704 for a class that is not there or was not named, 42804 for another type, 22023 and
    /// 54000 for vectors of no or too many dimensions.
    pub(super) fn near_class(
        &self,
        class: Option<&ast::ObjectName>,
        method: &str,
        ty: DataType,
        at: Place,
    ) -> Result<String> {
        let name = match class {
            Some(named) => object_parts(named)?.pop().unwrap_or_default(),
            None if method == LISTS && matches!(ty, DataType::Packed(PackedType::Vector(_))) => {
                Metric::L2.class().to_owned()
            }
            None => return Err(super::index::no_usual_class(ty, method, at)),
        };
        if Metric::of_class(&name).is_none() {
            let message =
                format!("operator class \"{name}\" does not exist for access method \"{method}\"");
            return fail(SqlState::UNDEFINED_OBJECT, message, at);
        }
        check_near_type(ty, &name, method).map_err(|error| place(error, at))?;
        Ok(name)
    }
}

/// Makes sure that a column of type `ty` may have an index by `method` of the operator class
/// `class`.
///
/// # Errors
/// 42804 for another type, 22023 and 54000 for vectors of no or too many dimensions.
pub fn check_near_type(ty: DataType, class: &str, method: &str) -> Result<()> {
    let (state, message) = match ty {
        DataType::Packed(PackedType::Vector(Some(..=DIMENSIONS_MAX))) => return Ok(()),
        DataType::Packed(PackedType::Vector(Some(_))) => {
            let most = format!("more than {DIMENSIONS_MAX} dimensions");
            (SqlState::LIMIT_EXCEEDED, format!("column cannot have {most} for {method} index"))
        }
        DataType::Packed(PackedType::Vector(None)) => {
            (SqlState::INVALID_PARAMETER, "column does not have dimensions".to_owned())
        }
        ty => {
            let ty = ty.name();
            let message = format!("operator class \"{class}\" does not accept data type {ty}");
            (SqlState::DATATYPE_MISMATCH, message)
        }
    };
    Err(Error::new(state, message))
}
