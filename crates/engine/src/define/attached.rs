//! Definitions in the schema of the attached database: CREATE TABLE (AS) and DROP TABLE here,
//! sequences, indexes, ALTER TABLE and rights below. Other statements about its tables are refused
//! here, before anybody looks for them in the catalog.

mod rights;
mod references;
mod sequences;
mod index;
mod alter;

use std::sync::Arc;

use catalog::TableDef;
use catalog::codec::encode_table_def;
use catalog::stored::key_index;
use sql::catalog::{ColumnDef, IndexMeta, KeyDef, KeyNulls, TableRef, Uniqueness};
use sql::statement::{
    CreateTable, CreateTableAs, DropBehaviour, DropRelations, IfExists, IfMissing, Persistence,
    RelationName, SequenceChange, Statement, Truncate, TruncateIdentity, WithData,
};
use storage::TableId;
use types::{DataType, Error, Result, SqlState};

use references::Child;

use super::names::taken;
use super::table::referenced_rows;
use super::{command_of, tell_taken};
use crate::QueryResult;
use crate::instance::attached::{
    AttachedColumn, AttachedDouble, AttachedDoubles, AttachedKey, AttachedKeySource, AttachedNulls,
    AttachedTableId, HeldOrder, NewAttachedTable,
};
use crate::session::Session;
use crate::statement::attached::{AttachedRows, key_shown};
use crate::statement::running::{Run, Running};
use crate::transaction::holds::{Definition, Needs, Wait};
use crate::write::attached::{Loaded, load};

/// Outcome of a statement that may be about attached tables.
pub(crate) enum Ran {
    Done(QueryResult),
    NotOne(Statement),
}

/// Runs a definition of an attached table, and refuses what there is not for them.
///
/// # Errors
/// 0A000; errors of the definition.
pub(crate) fn run(running: &mut Running<'_>, statement: Statement) -> Result<Ran> {
    let Some(schema) = running.session.database().attached_schema().map(str::to_owned) else {
        return Ok(Ran::NotOne(statement));
    };
    let is_there = |name: &RelationName| name.schema.as_deref() == Some(&schema);
    match statement {
        Statement::CreateTable(new) if is_there(&new.name) => create(running, &new).map(Ran::Done),
        Statement::CreateTableAs(new) if is_there(&new.name) => {
            create_as(running, &new).map(Ran::Done)
        }
        Statement::CreateSequence(new) if is_there(&new.name) => {
            sequences::create(running, *new).map(Ran::Done)
        }
        Statement::AlterSequence(Some(change)) if is_there(&change.name) => {
            sequences::alter(running, &change).map(Ran::Done)
        }
        Statement::DropSequence(old) if old.names.iter().any(is_there) => {
            if !old.names.iter().all(is_there) {
                return Err(Error::unsupported("DROP SEQUENCE of shared ones and others at once"));
            }
            sequences::drop_all(running, &old).map(Ran::Done)
        }
        Statement::DropTable(old) if old.names.iter().any(is_there) => {
            if !old.names.iter().all(is_there) {
                return Err(Error::unsupported("DROP TABLE of shared tables and others at once"));
            }
            drop_all(running, &old).map(Ran::Done)
        }
        Statement::Truncate(what) if what.tables.iter().any(is_attached) => {
            truncate(running, &what).map(Ran::Done)
        }
        Statement::CreateIndex(new) if is_attached(&new.table) => {
            index::create(running, *new).map(Ran::Done)
        }
        Statement::DropIndex(old) if old.names.iter().any(is_there) => {
            if !old.names.iter().all(is_there) {
                return Err(Error::unsupported("DROP INDEX of shared tables and others at once"));
            }
            index::drop_all(running, &old).map(Ran::Done)
        }
        Statement::RenameIndex { name, to } if is_there(&name) => {
            index::rename(running, &name, &to).map(Ran::Done)
        }
        Statement::AlterTable(Some(change)) if is_attached(&change.table) => {
            alter::alter(running, &change).map(Ran::Done)
        }
        Statement::Privilege(about) => rights::run(running, *about, &schema),
        statement => match refused(&statement, &schema) {
            Some(command) => Err(Error::unsupported(format!("{command} with shared tables"))),
            None => Ok(Ran::NotOne(statement)),
        },
    }
}

fn is_attached(table: &TableRef) -> bool {
    table.rows_elsewhere().is_some()
}

/// The command, when it is about the schema or a table in it.
fn refused(statement: &Statement, schema: &str) -> Option<&'static str> {
    let is_there = |name: &RelationName| name.schema.as_deref() == Some(schema);
    let refers = |key: &str| RelationName::schema_of_key(key) == schema;
    let is_about = match statement {
        Statement::CreateTable(new) => {
            new.foreign_keys.iter().any(|key| refers(&key.table.name))
                || new.parents.iter().any(is_attached)
        }
        Statement::CreateView(new) => is_there(&new.name),
        Statement::CreateMaterialized(new) => is_there(&new.view.name),
        Statement::CreateSequence(new) => {
            new.owner.as_ref().is_some_and(|(table, _)| is_attached(table))
        }
        Statement::AlterSequence(Some(alter)) => match &alter.change {
            SequenceChange::Options { owner: Some(Some((table, _))), .. } => is_attached(table),
            _ => false,
        },
        Statement::CreateWideTable(new) => is_there(&new.name) || is_there(&new.fact),
        Statement::CreateComposite { name, .. } | Statement::AlterComposite { name, .. } => {
            is_there(name)
        }
        Statement::CreateRange(new) => is_there(&new.name),
        Statement::LockTable(lock) if lock.tables.iter().any(is_attached) => {
            return Some("LOCK TABLE");
        }
        Statement::Explain { statement, .. } => return refused(statement, schema),
        _ => false,
    };
    is_about.then(|| command_of(statement))
}

/// CREATE TABLE.
fn create(running: &mut Running<'_>, new: &CreateTable) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("CREATE TABLE")?;
    rights::check_creates(session, new.name.schema_name())?;
    refuse_clauses(new)?;
    let done = QueryResult::command("CREATE TABLE");
    if is_taken(running, &new.name, new.if_exists)? {
        return Ok(done);
    }
    hold_parents(running, new)?;
    let session = &*running.session;
    let before = rights::now(session)?;
    let mut def = TableDef::new(&new.name.name, new.columns.clone(), session.inner().layout);
    (def.keys, def.checks) = (new.keys.clone(), new.checks.clone());
    def.foreign_keys.clone_from(&new.foreign_keys);
    sequences::for_columns(session, &mut def, new)?;
    make(session, &def)?;
    rights::settle(session, &before, None)?;
    Ok(done)
}

/// Keeps others from writing the tables that a new one refers to, until they know that it does.
///
/// # Errors
/// 0A000 for foreign keys that shared tables do not have; as [`hold`].
fn hold_parents(running: &mut Running<'_>, new: &CreateTable) -> Result<()> {
    let session = &*running.session;
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let mut def = TableDef::new(&new.name.key(), new.columns.clone(), session.inner().layout);
    def.keys.clone_from(&new.keys);
    let mut ids = Vec::new();
    for key in &new.foreign_keys {
        ids.extend(references::parent(&*transaction, &def, key)?.0);
    }
    drop(transaction);
    hold(running, &ids, Needs::Rows)
}

/// True when a relation is there, and CREATE TABLE leaves it as it is.
///
/// # Errors
/// 42P07 when it should not be there.
fn is_taken(running: &mut Running<'_>, name: &RelationName, if_exists: IfExists) -> Result<bool> {
    let session = &mut *running.session;
    let transaction = session.work().attached_to_change(session.database().registry())?;
    if !transaction.has_name(&name.name)? {
        return Ok(false);
    }
    match if_exists {
        IfExists::Skip => {
            tell_taken(&mut session.definer(), &name.key());
            Ok(true)
        }
        IfExists::Fail => Err(taken(&name.name)),
        IfExists::Replace => Err(Error::unsupported("CREATE OR REPLACE of a shared table")),
    }
}

/// CREATE TABLE AS.
fn create_as(running: &mut Running<'_>, new: &CreateTableAs) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("CREATE TABLE AS")?;
    rights::check_creates(session, new.name.schema_name())?;
    if !new.options.is_empty() || new.persistence == Persistence::Temporary {
        let what = "WITH or TEMPORARY in CREATE TABLE AS of a shared table";
        return Err(Error::unsupported(what));
    }
    if is_taken(running, &new.name, new.if_exists)? {
        return Ok(QueryResult::command("CREATE TABLE AS"));
    }
    let session = &*running.session;
    let before = rights::now(session)?;
    let def = TableDef::new(&new.name.name, new.columns.clone(), session.inner().layout);
    make(session, &def)?;
    rights::settle(session, &before, None)?;
    if new.data == WithData::Empty {
        return Ok(QueryResult::command("CREATE TABLE AS"));
    }
    let result = running.run_query(&new.query, Run::default())?;
    let table = running.session.own_catalog().attached(&new.name.name)?;
    let rows = table.as_ref().and_then(AttachedRows::of);
    let rows = rows.ok_or_else(|| Error::internal("a table that was just made"))?;
    let count = load(running, &rows, &result, &mut Loaded::default())?;
    Ok(QueryResult::command(format!("SELECT {count}")))
}

/// 0A000 for texts that are not told apart by their bytes, as keys of shared tables are.
pub(super) fn refuse_own_equality(columns: &[ColumnDef]) -> Result<()> {
    if columns.iter().any(ColumnDef::has_own_equality) {
        let what = "a nondeterministic collation in a shared table";
        return Err(Error::unsupported(what));
    }
    Ok(())
}

/// 0A000 for a key of JSONB, of which shared tables have no keys.
pub(super) fn refuse_json_key(key: &KeyDef, columns: &[ColumnDef]) -> Result<()> {
    if key.columns.iter().any(|ordinal| columns.get(*ordinal).is_some_and(ColumnDef::is_keyed)) {
        return Err(Error::unsupported("a key of jsonb in a shared table"));
    }
    Ok(())
}

/// Makes the table `def`, which has its bare name.
///
/// # Errors
/// 0A000 for columns and keys that shared tables do not have.
fn make(session: &Session, def: &TableDef) -> Result<()> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let mut def = def.clone();
    refuse_own_equality(&def.columns)?;
    def.keys.iter().try_for_each(|key| refuse_json_key(key, &def.columns))?;
    def.indexes = def.keys.iter().map(|key| key_index(key, &def.columns)).collect();
    transaction.create(&table_of(&def, &def.name)?)
}

/// The table `def` under its bare name `name`, as the attached database keeps it.
///
/// # Errors
/// 0A000 for columns and indexes that shared tables do not have.
fn table_of(def: &TableDef, name: &str) -> Result<NewAttachedTable> {
    let columns = def.columns.iter().map(column_of).collect::<Result<Vec<_>>>()?;
    let is_refused =
        |key: &KeyDef| key.deferral.is_deferrable() || key.nulls == KeyNulls::NotDistinct;
    if def.keys.iter().any(is_refused) {
        let what = "DEFERRABLE and NULLS NOT DISTINCT keys of shared tables";
        return Err(Error::unsupported(what));
    }
    let keys = def.indexes.iter().map(|index| key_of(def, index)).collect::<Result<Vec<_>>>()?;
    let mut stored = def.clone();
    name.clone_into(&mut stored.name);
    stored.indexes.retain(|index| !def.keys.iter().any(|key| key.name == index.name));
    let mut definition = Vec::new();
    encode_table_def(&stored, TableId::default(), &mut definition);
    Ok(NewAttachedTable { name: name.to_owned(), columns, keys, definition })
}

/// The index as the attached database keeps it.
///
/// # Errors
/// 0A000 for values that stores do not order as SQL does.
fn key_of(def: &TableDef, index: &IndexMeta) -> Result<AttachedKey> {
    let mut columns = Vec::with_capacity(index.columns.len());
    for column in &index.columns {
        let (at, ty) = match column.expression() {
            Some(number) => (def.columns.len() + number, index.terms.expressions[number].ty),
            None => (column.ordinal, def.columns[column.ordinal].ty),
        };
        if order_of(ty)? == HeldOrder::Other {
            return Err(Error::unsupported(format!("a key of {ty} in a shared table")));
        }
        columns.push(at);
    }
    let doubles = match index.unique {
        Uniqueness::No => AttachedDoubles::Allowed,
        _ => AttachedDoubles::Never,
    };
    let source =
        if index.terms.is_empty() { AttachedKeySource::Columns } else { AttachedKeySource::Terms };
    Ok(AttachedKey { name: index.name.clone(), columns, doubles, source })
}

/// Keeps others from writing tables that are to be defined anew.
///
/// # Errors
/// As [`crate::transaction::work::Work::hold_attached`].
fn hold(running: &mut Running<'_>, tables: &[AttachedTableId], needs: Needs) -> Result<()> {
    let session = &mut *running.session;
    let wait = Wait { cancel: session.cancel_handle(), limit: session.settings.lock_limit() };
    let database = session.database().clone();
    let Some(attachment) = database.registry().attachment() else {
        return Err(Error::internal("no database is attached"));
    };
    session.work_mut().hold_attached(&**attachment, &Definition { tables, needs, wait })
}

/// Gives a table the definition `def` over the rows that it has.
///
/// # Errors
/// 0A000 as [`table_of`]; 23505 for rows with equal keys in a new index.
fn redefine(session: &Session, table: AttachedTableId, def: &TableDef) -> Result<()> {
    let transaction = session.work().attached_to_change(session.database().registry())?;
    match transaction.redefine(table, &table_of(def, def.bare_name())?)? {
        None => Ok(()),
        Some(double) => Err(duplicated(def, &double)),
    }
}

/// 23505 for rows with equal keys in a new index.
fn duplicated(def: &TableDef, double: &AttachedDouble) -> Error {
    let Some(index) = def.indexes.get(double.index) else {
        return Error::internal("an index of the table");
    };
    let key = key_shown(def, index, &double.values);
    let message = format!("could not create unique index \"{}\"", index.name);
    Error::new(SqlState::UNIQUE_VIOLATION, message)
        .about_part(def.about_constraint(&index.name))
        .with_detail(format!("Key {key} is duplicated."))
}

/// # Errors
/// 0A000 for clauses of CREATE TABLE that shared tables do not have.
fn refuse_clauses(new: &CreateTable) -> Result<()> {
    let is_made = |at: usize| new.sequences.iter().any(|sequence| sequence.column == at);
    let schema = new.name.schema_name();
    let uses_other = |(at, column): (usize, &ColumnDef)| {
        let default = column.default.as_deref().unwrap_or_default();
        !is_made(at) && uses_own_sequence(default, schema)
    };
    let what = if new.columns.iter().enumerate().any(uses_other) {
        "a sequence that is not shared"
    } else if new.indexes.iter().any(IndexMeta::excludes) {
        "EXCLUDE"
    } else if !new.indexes.is_empty() {
        "an index other than of a key"
    } else if !new.options.is_empty() {
        "WITH"
    } else if new.persistence == Persistence::Temporary {
        "TEMPORARY"
    } else if new.partition_by.is_some() || new.partition_of.is_some() {
        "a partition"
    } else if !new.parents.is_empty() {
        "INHERITS"
    } else if new.columns.iter().any(|column| column.domain.is_some()) {
        "a domain"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("{what} in CREATE TABLE of a shared table")))
}

/// True for a default that takes numbers of a sequence outside of the schema.
fn uses_own_sequence(default: &str, schema: &str) -> bool {
    let is_there = default.contains(&format!("'{schema}."));
    default.to_ascii_lowercase().contains("nextval") && !is_there
}

/// The column as stores hold it.
///
/// # Errors
/// 0A000 for types that mean something in one database alone, and others.
fn column_of(column: &ColumnDef) -> Result<AttachedColumn> {
    let order = order_of(column.ty)?;
    let nulls = if column.not_null { AttachedNulls::Never } else { AttachedNulls::Allowed };
    Ok(AttachedColumn { name: column.name.clone(), physical: column.ty.physical(), order, nulls })
}

/// The order of values of a type.
///
/// # Errors
/// As [`column_of`].
fn order_of(ty: DataType) -> Result<HeldOrder> {
    use DataType as T;
    Ok(match ty {
        T::Boolean | T::SmallInt | T::Integer | T::BigInt | T::Real | T::Double | T::Numeric(_) => {
            HeldOrder::Same
        }
        T::Date | T::Time(_) | T::Timestamp(_) | T::TimestampTz(_) | T::Uuid | T::Bytea => {
            HeldOrder::Same
        }
        T::Text | T::Varchar(_) | T::Name => HeldOrder::Same,
        T::Char(length) if length > 0 => HeldOrder::Same,
        T::WideNumeric(_) | T::Interval(_) | T::Json | T::Jsonb => HeldOrder::Other,
        // Elements are held as values of their type are.
        T::Array(element) => order_of(element.data_type()).map(|_| HeldOrder::Other)?,
        ty => return Err(Error::unsupported(format!("{ty} in a shared table"))),
    })
}

/// TRUNCATE.
///
/// # Errors
/// 0A000 for shared tables and others at once.
fn truncate(running: &mut Running<'_>, what: &Truncate) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("TRUNCATE TABLE")?;
    let mut tables: Vec<Arc<AttachedRows>> =
        what.tables.iter().filter_map(AttachedRows::of).collect();
    if tables.len() < what.tables.len() {
        return Err(Error::unsupported("TRUNCATE of shared tables and others at once"));
    }
    add_referring(session, &mut tables, what.behaviour)?;
    let ids: Vec<AttachedTableId> = tables.iter().map(|rows| rows.id).collect();
    hold(running, &ids, Needs::Silence)?;
    let session = &mut *running.session;
    for rows in &tables {
        if what.identity == TruncateIdentity::Restart {
            rights::check_restarts(session, &rows.def.name)?;
        }
        let transaction = session.work().attached_to_change(session.database().registry())?;
        if what.identity == TruncateIdentity::Restart {
            sequences::restart_owned(&*transaction, &rows.def.name)?;
        }
        transaction.truncate(rows.id)?;
    }
    Ok(QueryResult::command("TRUNCATE TABLE"))
}

/// Adds the tables that refer to those that are to be empty.
///
/// # Errors
/// 0A000 for any under RESTRICT; 42501.
fn add_referring(
    session: &Session,
    tables: &mut Vec<Arc<AttachedRows>>,
    behaviour: DropBehaviour,
) -> Result<()> {
    let mut at = 0;
    while let Some(name) = tables.get(at).map(|rows| rows.def.name.clone()) {
        at += 1;
        for child in references::children(session, &name)? {
            if tables.iter().any(|rows| rows.id == child.id) {
                continue;
            }
            let (child, parent) = (child.def.bare_name(), RelationName::name_of_key(&name));
            if behaviour == DropBehaviour::Restrict {
                return Err(referenced_rows(child, parent));
            }
            let found = session.own_catalog().attached(child)?;
            let found = found.as_ref().and_then(AttachedRows::of);
            let found = found.ok_or_else(|| Error::internal("a table that refers to another"))?;
            rights::check_truncates(session, &found.def.name)?;
            tables.push(found);
        }
    }
    Ok(())
}

/// DROP TABLE.
fn drop_all(running: &mut Running<'_>, old: &DropRelations) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("DROP TABLE")?;
    let (mut tables, mut children) = (Vec::new(), Vec::new());
    let goes = |child: &Child| old.names.iter().any(|name| name.key() == child.def.name);
    for name in &old.names {
        rights::check_drops(session, "table", &name.key())?;
        let transaction = session.work().attached_to_change(session.database().registry())?;
        tables.extend(transaction.find(&name.name)?.map(|table| table.id));
        for child in references::children(session, &name.key())? {
            let is_known = children.iter().any(|known: &Child| known.id == child.id);
            if !is_known && !goes(&child) {
                children.push(child);
            }
        }
    }
    for name in &old.names {
        references::lose_table(&mut children, &name.key(), old.behaviour)?;
    }
    tables.extend(references::numbers(&children));
    hold(running, &tables, Needs::Silence)?;
    references::follow(running.session, &children)?;
    let session = &mut *running.session;
    for name in &old.names {
        let transaction = session.work().attached_to_change(session.database().registry())?;
        match (transaction.find(&name.name)?, old.if_missing) {
            (Some(table), _) => {
                transaction.drop_table(table.id)?;
                sequences::drop_owned(&*transaction, &name.key())?;
            }
            (None, if_missing) => {
                let message = missing("table", &name.name, if_missing)?;
                session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            }
        }
    }
    Ok(QueryResult::command("DROP TABLE"))
}

/// Notice of DROP IF EXISTS that there is nothing of the name.
///
/// # Errors
/// 42P01 without IF EXISTS.
fn missing(kind: &str, name: &str, if_missing: IfMissing) -> Result<String> {
    let message = format!("{kind} \"{name}\" does not exist");
    match if_missing {
        IfMissing::Fail => Err(Error::new(SqlState::UNDEFINED_TABLE, message)),
        IfMissing::Skip => Ok(format!("{message}, skipping")),
    }
}
