//! Tables and views of the message bus, made by the first client that connects.
//!
//! The database owns them, so nobody but superusers uses them until they grant it; calls of the bus
//! ask for rights of their own (`write::bus`).

use catalog::Schema;
use catalog::rights::Object;
use sql::algebra::BusFunction;
use sql::statement::{SchemaStatement, Statement};
use types::{Error, Result};

use super::{sequence, table, view};
use crate::Session;

/// Everything that there is in the schema, in order. Views show times as the bus means them.
const DEFINITIONS: &str = include_str!("bus/definitions.sql");

/// Makes the tables, in the session's transaction, when `statement` connects a client and there are
/// none.
///
/// # Errors
/// 42P07 when relations of these names stand in the way; 40P01, 57014 from waiting for others who
/// change the catalog.
pub(crate) fn ensure(session: &mut Session, statement: &Statement) -> Result<()> {
    if !connects(statement) || session.state().tables.contains_key("bus.client") {
        return Ok(());
    }
    session.work().check_writable("bus_connect")?;
    session.lock_catalog()?;
    for parsed in sql::parse(DEFINITIONS)? {
        match sql::bind(&parsed, &session.definition_catalog(), &[])? {
            Statement::Schema(schema) => match *schema {
                SchemaStatement::Create { name: Some(name), .. } => {
                    session.change_catalog(|state| {
                        state.schemas.entry(name).or_insert(Schema);
                        Ok(())
                    })?;
                }
                _ => return Err(unexpected()),
            },
            Statement::CreateTable(create) => drop(table::create(session, *create)?),
            Statement::CreateSequence(create) => {
                drop(sequence::create(&mut session.definer(), *create)?)
            }
            Statement::CreateView(create) => drop(view::create(session, *create)?),
            _ => return Err(unexpected()),
        }
    }
    session.change_catalog(|state| {
        let is_bus = |object: &Object| match object {
            Object::Schema(name) => name == "bus",
            Object::Relation(key) => key.starts_with("bus."),
            Object::Database | Object::Type(_) | Object::Routine(_) => false,
        };
        state.rights.retain(|object, _| !is_bus(object));
        Ok(())
    })
}

fn unexpected() -> Error {
    Error::internal("a definition of the message bus")
}

/// True when a part of the statement calls bus_connect.
fn connects(statement: &Statement) -> bool {
    let Statement::WithChanges(with) = statement else { return false };
    with.parts.iter().any(|part| match &part.statement {
        Statement::BusCalls(calls) => {
            calls.calls.iter().any(|call| call.function == BusFunction::Connect)
        }
        _ => false,
    })
}
