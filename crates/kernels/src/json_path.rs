//! Search of JSONB values by paths (`types::json_path`).
//!
//! ```text
//! value, path, variables -> Run: step by step, depth first -> items, in order
//! ```
//! An item is a part of the value's text, or was made: a number, a text, a moment. Errors about the
//! structure of a value are errors of the statement, or end the search without one where the call
//! is silent; a predicate that meets one is unknown.
//! Source: PostgreSQL 15, documentation of jsonpath, and its answers.

mod item;
mod moment;
mod predicate;
mod run;
mod values;

use types::array::ArrayBuilder;
use types::calendar::TimeZone;
use types::json::Kind;
use types::json_path::{JsonPath, PathResult};
use types::{Error, Result, SqlState, Value};

use crate::rows::{Texts, Values, count, scratch, utf8, validity};
use crate::{Vector, VectorBuilder, time_fn};
use item::Item;
use run::{Call, Found, Outcome, Run};

/// Path that was parsed last, which is that of the next row, too, as a rule.
#[derive(Default)]
struct Last<'a>(Option<(&'a [u8], JsonPath)>);

impl<'a> Last<'a> {
    fn get(&mut self, text: &'a [u8]) -> Result<&JsonPath> {
        if self.0.as_ref().is_none_or(|(last, _)| *last != text) {
            self.0 = Some((text, JsonPath::parse(utf8(text)?)?));
        }
        match &self.0 {
            Some((_, path)) => Ok(path),
            None => Err(Error::internal("path not kept")),
        }
    }
}

/// Results of the path of each row in its JSONB. The arguments are JSONB, JSONPATH, and JSONB
/// variables, BOOLEAN silent and TEXT time zone where they are given. Without variables the call is
/// silent, as operators are.
///
/// # Errors
/// 22031 to 2203C for values of another structure, 22012 and other errors of numbers, 42704 for a
/// variable that is not there, 0A000 for what needs a time zone.
pub fn find(wanted: PathResult, arguments: &[&Vector]) -> Result<Vector> {
    let rows = count(arguments);
    let valid = validity(arguments, rows);
    let (values, paths) = (Texts::new(arguments[0]), Texts::new(arguments[1]));
    let variables = arguments.get(2).map(|vector| Texts::new(vector));
    let silent = arguments.get(3).map(|vector| Values::<u8>::new(vector));
    let zone = arguments.get(4).map(|zone| time_fn::session_zone(zone)).transpose()?;
    let mut last = Last::default();
    let mut out = VectorBuilder::with_capacity(physical(wanted), rows);
    for i in 0..rows {
        if valid.as_ref().is_some_and(|valid| !valid.get(i)) {
            out.push_null();
            continue;
        }
        let _scratch = scratch(arguments, i)?;
        let call = Call {
            value: values.bytes(i),
            variables: variables.as_ref().map(|texts| texts.bytes(i)),
            is_silent: silent.as_ref().is_none_or(|silent| silent.get(i) != 0),
            zone: zone.as_ref(),
        };
        push(&mut out, wanted, last.get(paths.bytes(i))?, call)?;
    }
    Ok(out.finish())
}

fn physical(wanted: PathResult) -> types::PhysicalType {
    match wanted {
        PathResult::Exists | PathResult::Match => types::PhysicalType::Bool,
        _ => types::PhysicalType::Str,
    }
}

/// Appends what is wanted of a row.
fn push(
    out: &mut VectorBuilder,
    wanted: PathResult,
    path: &JsonPath,
    call: Call<'_>,
) -> Result<()> {
    let run = Run::new(path, call)?;
    if wanted == PathResult::Exists {
        match run.exists()? {
            Outcome::Failed => out.push_null(),
            outcome => out.push_value(&Value::Bool(outcome == Outcome::Found)),
        }
        return Ok(());
    }
    let mut items = Vec::new();
    run.search(&mut Found::All(&mut items))?;
    match wanted {
        PathResult::Exists => {}
        PathResult::Match => match matched(&items, call.is_silent)? {
            Some(value) => out.push_value(&Value::Bool(value)),
            None => out.push_null(),
        },
        PathResult::Query => {
            let mut array = ArrayBuilder::new();
            items.iter().for_each(|item| array.push_text(&item.text()));
            out.push_str(&array.finish()?);
        }
        PathResult::Array => {
            let mut text = vec![b'['];
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    text.extend_from_slice(b", ");
                }
                text.extend_from_slice(&item.text());
            }
            text.push(b']');
            out.push_str(&text);
        }
        PathResult::First => match items.first() {
            Some(item) => out.push_str(&item.text()),
            None => out.push_null(),
        },
    }
    Ok(())
}

/// The only item, a BOOLEAN or null.
fn matched(items: &[Item<'_>], is_silent: bool) -> Result<Option<bool>> {
    if let [item] = items {
        match item.kind() {
            Some(Kind::Boolean) => return Ok(Some(*item.text() == *b"true")),
            Some(Kind::Null) => return Ok(None),
            _ => {}
        }
    }
    if is_silent {
        return Ok(None);
    }
    let message = "single boolean result is expected";
    Err(Error::new(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, message))
}

/// The zone by whose clocks moments without one are compared with those that have one.
type Zone<'z> = Option<&'z TimeZone>;
