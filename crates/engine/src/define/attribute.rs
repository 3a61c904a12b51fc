//! ALTER TYPE ... ATTRIBUTE: other attributes of a composite type that nothing holds values of.

use sql::catalog::UserType;
use sql::statement::{AttributeChange, IfMissing, RelationName};
use types::{Attribute, DataType, Error, RecordType, Result, SqlState};

use super::user_type;
use crate::QueryResult;
use crate::statement::running::Running;

/// Makes the changes, one behind the other.
///
/// # Errors
/// 42P01 and 42809 for what is no composite type, 42501, 42701, 42703, 42P16; 0A000 where it is
/// used.
pub(super) fn alter(
    running: &mut Running<'_>,
    name: &RelationName,
    changes: Vec<AttributeChange>,
) -> Result<QueryResult> {
    let session = &mut *running.session;
    let state = session.state();
    let key = state.key_of(name)?;
    let old = match state.types.get(&key) {
        Some(UserType::Composite(ty)) => *ty,
        None if state.kind_of(&key).is_none() => {
            let message = format!("relation \"{name}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
        }
        _ => {
            let message = format!("\"{}\" is not a composite type", name.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
    };
    user_type::check_owner(&state, &session.who(), &key)?;
    let mut attributes = old.attributes();
    for change in changes {
        refuse_member_of_itself(&change, old, name)?;
        if let Some(notice) = apply(&mut attributes, change, &name.name)? {
            session.notice(SqlState::SUCCESSFUL_COMPLETION, notice);
        }
    }
    put(running, old, attributes)?;
    Ok(QueryResult::command("ALTER TYPE"))
}

/// Takes an attribute out of the type that the catalog calls `key`.
///
/// # Errors
/// 0A000 where the type is used, or has no other attribute.
pub(super) fn drop_one(running: &mut Running<'_>, key: &str, name: &str) -> Result<()> {
    let Some(UserType::Composite(old)) = running.session.state().types.get(key).copied() else {
        return Ok(());
    };
    let mut attributes = old.attributes();
    attributes.retain(|attribute| attribute.field.name != name);
    put(running, old, attributes)
}

/// Gives a composite type other attributes.
///
/// # Errors
/// 0A000 where it is used.
fn put(running: &mut Running<'_>, old: RecordType, attributes: Vec<Attribute>) -> Result<()> {
    let session = &mut *running.session;
    if let Some(user) = user_type::holder_of(session, old) {
        let message = format!("cannot alter type \"{}\" because {user} uses it", old.name());
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let (key, number) = (old.key().unwrap_or_default(), old.number().unwrap_or_default());
    let new = RecordType::composite(key, old.name(), number, attributes)?;
    session.change_catalog(|state| state.replace_composite(old, new))
}

/// # Errors
/// 42P16 for an attribute of the type that it is to be an attribute of, also below others.
fn refuse_member_of_itself(
    change: &AttributeChange,
    of: RecordType,
    name: &RelationName,
) -> Result<()> {
    let (AttributeChange::Add(new) | AttributeChange::SetType(new)) = change else {
        return Ok(());
    };
    if !has_record(new.field.ty, of) {
        return Ok(());
    }
    let message = format!("composite type {} cannot be made a member of itself", name.name);
    Err(Error::new(SqlState::INVALID_DEFINITION, message))
}

/// True when values of the type have records of type `of` in them.
fn has_record(ty: DataType, of: RecordType) -> bool {
    match ty.element().unwrap_or(ty) {
        DataType::Record(record) => {
            record == of || record.fields().iter().any(|field| has_record(field.ty, of))
        }
        _ => false,
    }
}

/// Makes one change of the type called `name`; a notice where there is nothing to do.
fn apply(
    known: &mut Vec<Attribute>,
    change: AttributeChange,
    name: &str,
) -> Result<Option<String>> {
    let place =
        |known: &[Attribute], wanted: &str| known.iter().position(|of| of.field.name == wanted);
    let missing = |wanted: &str| {
        let message = format!("column \"{wanted}\" of relation \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    };
    let taken = |known: &[Attribute], wanted: &str| match place(known, wanted) {
        Some(_) => {
            let message = format!("column \"{wanted}\" of relation \"{name}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_COLUMN, message))
        }
        None => Ok(()),
    };
    match change {
        AttributeChange::Add(new) => {
            taken(known, &new.field.name)?;
            known.push(new);
        }
        AttributeChange::Drop { name: wanted, if_missing } => match place(known, &wanted) {
            Some(at) => {
                known.remove(at);
            }
            None if if_missing == IfMissing::Skip => {
                let error = missing(&wanted);
                return Ok(Some(format!("{}, skipping", error.message())));
            }
            None => return Err(missing(&wanted)),
        },
        AttributeChange::SetType(new) => {
            let name = &new.field.name;
            let at = place(known, name).ok_or_else(|| missing(name))?;
            known[at] = new;
        }
        AttributeChange::Rename { from, to } => {
            let at = place(known, &from).ok_or_else(|| missing(&from))?;
            taken(known, &to)?;
            known[at].field.name = to;
        }
    }
    Ok(None)
}
