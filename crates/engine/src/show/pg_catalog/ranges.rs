//! Types of ranges that users made, in `pg_type` and `pg_range`.

use sql::catalog::UserType;
use sql::statement::RelationName;
use types::{
    ElementType, Error, RangeContent, RangeOptions, RegKind, Result, SqlState, Value, object_name,
    object_number,
};

use super::objects::Seen;
use super::{Row, Subject, builtin, full_name, numbers, written};

/// Number of the access method `btree`.
const BTREE: i64 = 403;

/// A row of `pg_type`, as a type of ranges or of multiranges has it.
pub(super) fn type_row(row: Row, ty: &UserType) -> Row {
    let words = match ty {
        UserType::Range(_) => ["r", "range_in", "range_out", "range_recv", "range_send"],
        _ => ["m", "multirange_in", "multirange_out", "multirange_recv", "multirange_send"],
    };
    row.number("typlen", -1)
        .text("typtype", words[0])
        .text("typcategory", "R")
        .text("typinput", words[1])
        .text("typoutput", words[2])
        .text("typreceive", words[3])
        .text("typsend", words[4])
        .text(
            "typanalyze",
            if words[0] == "r" { "range_typanalyze" } else { "multirange_typanalyze" },
        )
        .text("typstorage", "x")
}

/// Rows of `pg_range` for types that users made.
pub(super) fn rows(subject: &Subject<'_>) -> Vec<Row> {
    let ranges = subject.state.types.values().filter_map(|ty| match ty {
        UserType::Range(ty) => Some(ty.content()),
        _ => None,
    });
    ranges.map(|content| row(subject.seen(), content)).collect()
}

fn row(seen: Seen<'_>, content: &RangeContent) -> Row {
    let bound = content.element.data_type();
    let (subtype, _) = numbers::of_type(bound);
    let usual = numbers::entry(bound).collation;
    let collation = match content.options.collation.as_str() {
        "" => usual,
        "POSIX" => 951,
        "default" => 100,
        _ => 950,
    };
    let row = Row::default()
        .number("rngtypid", i64::from(content.range.number))
        .number("rngsubtype", subtype)
        .number("rngmultitypid", i64::from(content.multirange.number))
        .number("rngcollation", collation)
        .number("rngsubopc", class_of(content.element, &content.options).unwrap_or(0));
    match difference(seen, content.element, &content.options) {
        Ok(Some(number)) => match seen.numbered(RegKind::Proc, number) {
            Value::Str(shown) => {
                let name = String::from_utf8_lossy(object_name(&shown)).into_owned();
                row.function("rngsubdiff", number, &name)
            }
            _ => row,
        },
        _ => row,
    }
}

/// The schemas of functions that make ranges of users, by their names, where the search path does
/// not find their types.
pub(super) fn hidden(seen: Seen<'_>) -> impl Iterator<Item = (&str, String)> {
    let is_maker = |ty: &UserType| matches!(ty, UserType::Range(_) | UserType::Multirange(_));
    let makers = seen.state.types.iter().filter(move |(_, ty)| is_maker(ty));
    let hidden = makers.filter(move |(key, _)| !seen.is_visible_type(key));
    hidden.map(|(key, _)| {
        let schema = written::quoted(RelationName::schema_of_key(key)).into_owned();
        (RelationName::name_of_key(key), schema)
    })
}

/// The number of the operator class of the bounds; None when there is none of its name.
fn class_of(element: ElementType, options: &RangeOptions) -> Option<i64> {
    let (subtype, _) = numbers::of_type(element.data_type());
    match options.class.as_str() {
        "" => Some(builtin::operator_class(BTREE, u32::try_from(subtype).ok()?)),
        name => builtin::operator_class_named(BTREE, name),
    }
}

/// The number of the function that subtracts bounds.
///
/// # Errors
/// 42883 when there is none.
fn difference(seen: Seen<'_>, element: ElementType, options: &RangeOptions) -> Result<Option<u32>> {
    let name = &options.difference;
    if name.is_empty() {
        return Ok(None);
    }
    let ty = element.data_type().name();
    let written = if builtin::functions().named(name).next().is_some() {
        name.clone()
    } else {
        full_name(name)
    };
    let found = seen.named(RegKind::Procedure, &format!("{written}({ty},{ty})"));
    let found = found.map_err(|error| match error.state() {
        SqlState::UNDEFINED_FUNCTION => {
            let shown = RelationName::of_key(name).quoted();
            Error::new(error.state(), format!("function {shown}({ty}, {ty}) does not exist"))
        }
        _ => error,
    })?;
    Ok(match found {
        Value::Str(bytes) => Some(object_number(&bytes)),
        _ => None,
    })
}

/// The number of the function that subtracts bounds, where a user made it.
pub(super) fn difference_of_users(seen: Seen<'_>, content: &RangeContent) -> Option<i64> {
    let found = difference(seen, content.element, &content.options).ok().flatten()?;
    builtin::functions().numbered(found).is_none().then_some(i64::from(found))
}

/// Checks that what the definition of a type of ranges names is there.
///
/// # Errors
/// 42704 for the operator class, 42883 for the function that subtracts.
pub(crate) fn check_options(
    seen: Seen<'_>,
    element: ElementType,
    options: &RangeOptions,
) -> Result<()> {
    if class_of(element, options).is_none() {
        let message = format!(
            "operator class \"{}\" does not exist for access method \"btree\"",
            options.class
        );
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    difference(seen, element, options).map(drop)
}
