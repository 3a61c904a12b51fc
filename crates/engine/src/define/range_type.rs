//! CREATE TYPE ... AS RANGE: a type of ranges, and one of their multiranges.
//!
//! Both are types of the catalog with one content, and are dropped together.
//! Elsewhere: other statements about types (`user_type`).

use catalog::State;
use sql::catalog::UserType;
use sql::statement::{NewRange, RelationName};
use types::{Error, RangeContent, RangeName, Result, SqlState, UserRange};

use super::user_type::check_free;
use crate::QueryResult;
use crate::show::pg_catalog::objects::Seen;
use crate::show::pg_catalog::ranges;
use crate::statement::running::Running;

/// Makes both types.
///
/// # Errors
/// 42710 when one of their names is taken, 42704 and 42883 for what the options name, 54000.
pub(super) fn create(running: &mut Running<'_>, new: NewRange) -> Result<QueryResult> {
    let state = running.session.state();
    let key = state.key_of(&new.name)?;
    check_free(&state, &key)?;
    let seen = Seen { state: &state, settings: &running.session.settings };
    ranges::check_options(seen, new.element, &new.options)?;
    let multirange = multirange_key(&state, &key, new.multirange.as_ref())?;
    let range = named(key.clone(), state.new_type_number(&key));
    let mut number = state.new_type_number(&multirange);
    if number == range.number {
        number += 2;
    }
    let multirange = named(multirange, number);
    let content = RangeContent { range, multirange, element: new.element, options: new.options };
    let ty = UserRange::new(content)?;
    running.session.change_catalog(|state| {
        for ty in [UserType::Range(ty), UserType::Multirange(ty)] {
            state.types.insert(ty.key().to_owned(), ty);
        }
        Ok(())
    })?;
    Ok(QueryResult::command("CREATE TYPE"))
}

fn named(key: String, number: u32) -> RangeName {
    RangeName { name: RelationName::of_key(&key).quoted(), key, number }
}

/// The key of the type of multiranges of the type called `key`.
///
/// # Errors
/// 42710 when it is taken.
fn multirange_key(state: &State, key: &str, given: Option<&RelationName>) -> Result<String> {
    if let Some(given) = given {
        let multirange = state.key_of(given)?;
        if multirange == key {
            let message = format!("type \"{}\" already exists", given.name);
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        check_free(state, &multirange)?;
        return Ok(multirange);
    }
    let name = RelationName::name_of_key(key);
    let multirange = match name.find("range") {
        Some(at) => format!("{}multi{}", &name[..at], &name[at..]),
        None => format!("{name}_multirange"),
    };
    let multirange = RelationName::key_beside(key, &multirange);
    check_free(state, &multirange).map_err(|error| {
        let detail = format!("Failed while creating a multirange type for type \"{name}\".");
        error.with_detail(detail).with_hint(
            "You can manually specify a multirange type name using the \"multirange_type_name\" \
             attribute.",
        )
    })?;
    Ok(multirange)
}

/// The type with another key of its ranges, or of their multiranges, in the catalog.
///
/// # Errors
/// 54000 when there are too many types.
pub(super) fn rename(state: &mut State, old: UserType, key: &str) -> Result<()> {
    let (UserType::Range(ty) | UserType::Multirange(ty)) = old else { return Ok(()) };
    let mut content = ty.content().clone();
    let name = match old {
        UserType::Range(_) => &mut content.range,
        _ => &mut content.multirange,
    };
    *name = named(key.to_owned(), name.number);
    let new = UserRange::new(content)?;
    for ty in [UserType::Range(ty), UserType::Multirange(ty)] {
        state.types.remove(ty.key());
    }
    for ty in [UserType::Range(new), UserType::Multirange(new)] {
        state.types.insert(ty.key().to_owned(), ty);
    }
    Ok(())
}

/// # Errors
/// 2BP01 for a type of multiranges, which goes with that of its ranges.
pub(super) fn refuse_multirange(ty: Option<&UserType>) -> Result<()> {
    let Some(UserType::Multirange(ty)) = ty else { return Ok(()) };
    let (range, multirange) = (&ty.range().name, &ty.multirange().name);
    let message = format!("cannot drop type {multirange} because type {range} requires it");
    Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
        .with_hint(format!("You can drop type {range} instead.")))
}
