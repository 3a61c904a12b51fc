//! ALTER TYPE ... ATTRIBUTE: other attributes of a composite type that only routines use.

use sql::catalog::UserType;
use sql::statement::{AttributeChange, IfMissing, RelationName};
use types::{DataType, Error, RecordField, RecordType, Result, SqlState};

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
    if let Some(user) = user_type::user_of(session, UserType::Composite(old)) {
        let message = format!("cannot alter type \"{}\" because {user} uses it", name.name);
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let mut fields = old.fields().to_vec();
    for change in changes {
        refuse_member_of_itself(&change, old, name)?;
        if let Some(notice) = apply(&mut fields, change, &name.name)? {
            session.notice(SqlState::SUCCESSFUL_COMPLETION, notice);
        }
    }
    if fields.is_empty() {
        return Err(Error::unsupported("a composite type without attributes"));
    }
    let number = old.number().unwrap_or_default();
    let shown = RelationName::of_key(&key).quoted();
    let new = RecordType::composite(&key, &shown, number, fields)?;
    session.change_catalog(|state| {
        state.replace_composite(old, new);
        Ok(())
    })?;
    Ok(QueryResult::command("ALTER TYPE"))
}

/// # Errors
/// 42P16 for an attribute of the type that it is to be an attribute of, also below others.
fn refuse_member_of_itself(
    change: &AttributeChange,
    of: RecordType,
    name: &RelationName,
) -> Result<()> {
    let (AttributeChange::Add(field) | AttributeChange::SetType(field)) = change else {
        return Ok(());
    };
    if !has_record(field.ty, of) {
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
    fields: &mut Vec<RecordField>,
    change: AttributeChange,
    name: &str,
) -> Result<Option<String>> {
    let place =
        |fields: &[RecordField], wanted: &str| fields.iter().position(|field| field.name == wanted);
    let missing = |wanted: &str| {
        let message = format!("column \"{wanted}\" of relation \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    };
    let taken = |fields: &[RecordField], wanted: &str| match place(fields, wanted) {
        Some(_) => {
            let message = format!("column \"{wanted}\" of relation \"{name}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_COLUMN, message))
        }
        None => Ok(()),
    };
    match change {
        AttributeChange::Add(field) => {
            taken(fields, &field.name)?;
            fields.push(field);
        }
        AttributeChange::Drop { name: wanted, if_missing } => match place(fields, &wanted) {
            Some(at) => {
                fields.remove(at);
            }
            None if if_missing == IfMissing::Skip => {
                let error = missing(&wanted);
                return Ok(Some(format!("{}, skipping", error.message())));
            }
            None => return Err(missing(&wanted)),
        },
        AttributeChange::SetType(field) => {
            let at = place(fields, &field.name).ok_or_else(|| missing(&field.name))?;
            fields[at] = field;
        }
        AttributeChange::Rename { from, to } => {
            let at = place(fields, &from).ok_or_else(|| missing(&from))?;
            taken(fields, &to)?;
            fields[at].name = to;
        }
    }
    Ok(None)
}
