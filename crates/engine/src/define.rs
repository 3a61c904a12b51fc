//! Statements that define, change and drop tables, views, indexes and sequences.
//!
//! All of them change the transaction's own catalog, which others see when it commits.

pub(crate) mod role;
pub(crate) mod privilege;
mod comments;
pub(crate) mod index;
pub(crate) mod table;
mod aggregate;
mod alter;
mod attribute;
pub(crate) mod collation;
pub(crate) mod attached;
mod domain;
mod extension;
mod drop;
mod owned;
mod followers;
mod inherit;
pub(crate) mod large_object;
mod missing;
mod names;
pub(crate) mod partition;
mod policy;
mod redefined;
mod routine;
mod schema;
pub(crate) mod bus;
mod sequence;
mod texts;
mod trigger;
mod user_type;
mod range_type;
#[cfg(test)]
mod tests;
mod validate;
mod view;
mod wide;
mod materialized;

use catalog::State;
use sql::catalog::ColumnDef;
use sql::statement::{Discard, IfExists, Persistence, PrivilegeStatement, RelationName, Statement};
use storage::Layout;
use types::{Error, Result, SqlState};

use crate::instance::channels::Pending;
use crate::session::definer::Definer;
use crate::statement::running::Running;
use crate::transaction::work::Begun;
use crate::{QueryResult, Session};

/// Runs a statement of this module.
pub(crate) fn run(running: &mut Running<'_>, statement: Statement) -> Result<QueryResult> {
    if let Statement::Discard(discard) = statement {
        return run_discard(running.session, discard);
    }
    running.session.work().check_writable(command_of(&statement))?;
    // From here on the catalog stays as it is but for this transaction.
    running.session.lock_catalog()?;
    privilege::check_definition(running.session, &statement)?;
    let result = carry_out(running, statement)?;
    routine::refuse_temporary(running.session)?;
    Ok(result)
}

/// Carries out a statement that is allowed.
fn carry_out(running: &mut Running<'_>, statement: Statement) -> Result<QueryResult> {
    match statement {
        Statement::CreateTable(create) => table::create(running.session, *create),
        Statement::CreateTableAs(create) => table::create_as(running, *create),
        Statement::CreateView(create) => view::create(running.session, *create),
        Statement::CreateMaterialized(create) => materialized::create(running, *create),
        Statement::RefreshMaterialized(refresh) => materialized::refresh(running, &refresh),
        Statement::AlterMaterialized(alter) => alter::materialized(running, &alter),
        Statement::DropMaterialized(drop) => materialized::drop_all(running, &drop),
        Statement::AlterView(alter) => view::alter(running, alter),
        Statement::RenameView(rename) => view::rename(running.session, &rename),
        Statement::CreateIndex(create) => index::create(running.session, *create),
        Statement::CreateSequence(create) => {
            sequence::create(&mut running.session.definer(), *create)
        }
        Statement::AlterTable(Some(alter)) => alter::alter(running.session, &alter),
        Statement::AlterTable(None) => Ok(QueryResult::command("ALTER TABLE")),
        Statement::Partition(statement) => partition::run(running, *statement),
        Statement::AlterSequence(Some(alter)) => {
            sequence::alter(&mut running.session.definer(), *alter)
        }
        Statement::AlterSequence(None) => Ok(QueryResult::command("ALTER SEQUENCE")),
        Statement::RenameIndex { name, to } => index::rename(running.session, &name, to),
        Statement::CreateWideTable(create) => wide::create(running.session, &create),
        Statement::RefreshWideTable(name) => wide::refresh(running.session, &name),
        Statement::DropTable(drop) => drop::tables(running.session, &drop),
        Statement::DropWideTable(drop) => wide::drop_all(running.session, &drop),
        Statement::DropView(drop) => view::drop_all(&mut running.session.definer(), &drop),
        Statement::DropIndex(drop) => drop::indexes(running.session, &drop),
        Statement::DropSequence(drop) => sequence::drop_all(&mut running.session.definer(), &drop),
        Statement::Truncate(truncate) => table::truncate(running, &truncate),
        Statement::Comment(comment) => comments::run(running.session, *comment),
        Statement::Role(statement) => {
            let done = role::run(&mut running.session.definer(), (*statement).clone())?;
            large_object::LargeObjects { session: running.session }.follow_roles(&statement)?;
            Ok(done)
        }
        Statement::Privilege(statement) => match *statement {
            PrivilegeStatement::DropOwned { roles, behaviour } => {
                owned::drop(running, &roles, behaviour)
            }
            statement => privilege::run(&mut privilege::Ledger::own(running.session), statement),
        },
        Statement::Schema(statement) => schema::run(running.session, *statement),
        Statement::Extension(statement) => extension::run(running, *statement),
        Statement::Collation(statement) => collation::run(running, *statement),
        Statement::Type(statement) => user_type::run_statement(running.session, *statement),
        Statement::CreateComposite { name, attributes } => {
            user_type::create_composite(running, &name, attributes)
        }
        Statement::AlterComposite { name, changes } => attribute::alter(running, &name, changes),
        Statement::CreateRange(new) => range_type::create(running, *new),
        Statement::Policy(statement) => policy::run_statement(running, *statement),
        Statement::Domain(statement) => domain::run_statement(running.session, *statement),
        Statement::Routine(statement) => routine::run_statement(running, *statement),
        Statement::Trigger(statement) => trigger::run_statement(running, *statement),
        _ => Err(Error::unsupported("this statement")),
    }
}

/// How PostgreSQL names a statement in errors.
fn command_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::CreateView(_) => "CREATE VIEW",
        Statement::AlterView(_) | Statement::RenameView(_) => "ALTER VIEW",
        Statement::CreateMaterialized(_) => "CREATE MATERIALIZED VIEW",
        Statement::RefreshMaterialized(_) => "REFRESH MATERIALIZED VIEW",
        Statement::AlterMaterialized(_) => "ALTER MATERIALIZED VIEW",
        Statement::DropMaterialized(_) => "DROP MATERIALIZED VIEW",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::CreateSequence(_) => "CREATE SEQUENCE",
        Statement::AlterTable(_) | Statement::Partition(_) => "ALTER TABLE",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::RenameIndex { .. } => "ALTER INDEX",
        Statement::CreateWideTable(_) => "CREATE WIDE TABLE",
        Statement::RefreshWideTable(_) => "REFRESH WIDE TABLE",
        Statement::DropTable(_) => "DROP TABLE",
        Statement::DropWideTable(_) => "DROP WIDE TABLE",
        Statement::DropView(_) => "DROP VIEW",
        Statement::DropIndex(_) => "DROP INDEX",
        Statement::DropSequence(_) => "DROP SEQUENCE",
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Comment(_) => "COMMENT",
        Statement::Role(statement) => statement.command(),
        Statement::Privilege(statement) => statement.command(),
        Statement::Schema(statement) => statement.command(),
        Statement::Extension(statement) => statement.command(),
        Statement::Collation(statement) => statement.command(),
        Statement::Type(statement) => statement.command(),
        Statement::CreateComposite { .. } | Statement::CreateRange(_) => "CREATE TYPE",
        Statement::AlterComposite { .. } => "ALTER TYPE",
        Statement::Policy(statement) => statement.command(),
        Statement::Domain(statement) => statement.command(),
        Statement::Routine(statement) => statement.command(),
        Statement::Trigger(statement) => statement.command(),
        _ => "this statement",
    }
}

fn run_discard(session: &mut Session, discard: Discard) -> Result<QueryResult> {
    let tag = match discard {
        Discard::All => {
            if session.work().begun != Begun::ForOneStatement {
                let message = "DISCARD ALL cannot run inside a transaction block";
                return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
            }
            session.prepared.clear();
            session.cursors.clear();
            session.work_mut().pending.push(Pending::Unlisten(None));
            session.end_locks();
            session.remember_settings();
            session.settings.reset_user();
            session.settings.reset();
            *session.sequences.lock() = Default::default();
            drop::temporary(session)?;
            "DISCARD ALL"
        }
        // Plans are made for each run.
        Discard::Plans => "DISCARD PLANS",
        Discard::Sequences => {
            *session.sequences.lock() = Default::default();
            "DISCARD SEQUENCES"
        }
        Discard::Temporary => {
            drop::temporary(session)?;
            "DISCARD TEMP"
        }
    };
    Ok(QueryResult::command(tag))
}

/// Carries out ON COMMIT of the session's temporary tables.
///
/// # Errors
/// 0A000 when foreign keys refer to a table that is to be empty; then nothing is committed.
pub(crate) fn on_commit(session: &mut Session) -> Result<()> {
    let has_any = session.work.as_ref().is_some_and(|work| !work.temporary.is_empty());
    if has_any { drop::on_commit(session) } else { Ok(()) }
}

/// How long a relation of this name is to live: those of `pg_temp` as long as the session.
pub(crate) fn persistence_of(name: &RelationName, declared: Persistence) -> Persistence {
    match name.schema.as_deref() {
        Some("pg_temp") => Persistence::Temporary,
        _ => declared,
    }
}

/// The layout that WITH (...) asks for, else the database's.
fn layout_of(session: &Session, options: &[(String, String)]) -> Result<Layout> {
    let mut layout = session.inner().layout;
    for (name, value) in options.iter().filter(|(name, _)| name != "order_by") {
        if name != "layout" {
            let message = format!("unrecognized parameter \"{name}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        layout = Layout::from_name(&value.to_ascii_lowercase()).ok_or_else(|| {
            let message = format!("invalid value for option \"layout\": \"{value}\"");
            Error::new(SqlState::INVALID_PARAMETER, message)
                .with_hint("Valid values are \"row\", \"column\", \"frozen\" and \"auto\".")
        })?;
    }
    Ok(layout)
}

/// The column that WITH (order_by = ...) names among `columns`.
///
/// # Errors
/// 42703.
fn order_of(columns: &[ColumnDef], options: &[(String, String)]) -> Result<Option<usize>> {
    let Some((_, wanted)) = options.iter().find(|(name, _)| name == "order_by") else {
        return Ok(None);
    };
    let found = columns.iter().position(|column| column.name == *wanted);
    found.map(Some).ok_or_else(|| {
        let message = format!("column \"{wanted}\" named in option \"order_by\" does not exist");
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

/// True when the catalog may call a new relation so: `Ok(false)` when IF NOT EXISTS skips it.
fn may_create(state: &State, name: &str, if_exists: IfExists) -> Result<bool> {
    match if_exists {
        _ if state.types.contains_key(name) => Err(user_type::taken_by_type(name)),
        _ if !state.contains(name) => Ok(true),
        IfExists::Skip => Ok(false),
        IfExists::Fail | IfExists::Replace => Err(names::taken(RelationName::name_of_key(name))),
    }
}

/// Tells the client that IF NOT EXISTS skipped a relation.
fn tell_taken(definer: &mut Definer<'_>, name: &str) {
    let name = RelationName::name_of_key(name);
    definer
        .notice(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
}

/// 2BP01 for dropping `what` while `dependent` needs it.
fn needed(what: &str, dependent: &str) -> Error {
    let message = format!("cannot drop {what} because other objects depend on it");
    Error::new(SqlState::DEPENDENT_OBJECTS, message)
        .with_detail(format!("{dependent} depends on {what}"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
}
