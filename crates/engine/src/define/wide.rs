//! CREATE, REFRESH and DROP WIDE TABLE, and what a wide table forbids the tables behind it.
//!
//! ```text
//! fact -- its foreign keys, in order, each followed as deep as it goes --> nodes
//! columns of the nodes, keys that a foreign key repeats left out       --> columns of the table
//! ```
//! A table that is on the way from the fact table already is not followed again: so a reference to
//! itself, or back, ends there.
//! Source: Chasseur 2015, section 2.4; Patel et al. 2018, section 6.5.

use std::collections::HashSet;
use std::sync::Arc;

use catalog::locks::LockMode;
use catalog::rights::Object;
use catalog::wide::{Freshness, unfit};
use catalog::{State, TableDef, TableEntry, undefined_table, wide};
use sql::catalog::{
    ColumnDef, ForeignKeyDef, TableMeta, Untested, Validity, WideDef, WideLink, WideNode,
};
use sql::statement::{
    CreateWideTable, DropBehaviour, DropRelations, IfExists, Persistence, Privilege, Privileges,
    RelationName,
};
use storage::Layout;
use types::{DataType, Error, Result, SqlState};

use super::{drop, may_create, names, redefined, table, tell_taken, validate, view};
use crate::statement::running::Running;
use crate::{QueryResult, Session};

/// Tables behind a wide one.
const NODES_MAX: usize = 64;

/// Columns of a table, as PostgreSQL has it.
const COLUMNS_MAX: usize = 1600;

/// CREATE WIDE TABLE.
pub(super) fn create(session: &mut Session, create: &CreateWideTable) -> Result<QueryResult> {
    let done = QueryResult::command("CREATE WIDE TABLE");
    let name = &session.state().key_of(&create.name)?;
    if !may_create(&session.state(), name, create.if_exists)? {
        debug_assert_eq!(create.if_exists, IfExists::Skip);
        tell_taken(&mut session.definer(), name);
        return Ok(done);
    }
    let fact = &session.state().key_of(&create.fact)?;
    let nodes = walk(&session.state(), fact)?;
    let is_parted = |table: &str| {
        let entry = session.state().tables.get(table).cloned();
        entry.is_some_and(|entry| entry.def.partition_by.is_some() || entry.family().is_some())
    };
    if nodes.iter().any(|node| is_parted(&node.table)) {
        return Err(Error::unsupported("a wide table over tables with partitions or heirs"));
    }
    lock_all(session, &nodes)?;
    test_links(&mut Running::own(session), &nodes)?;
    let (state, who) = (session.state(), session.who());
    for node in &nodes {
        let object = Object::Relation(node.table.clone());
        state.check(&who, &object, Privileges::of(&[Privilege::Select]))?;
    }
    let layout = match session.inner().layout {
        Layout::Auto => Layout::Frozen,
        other => other,
    };
    let mut def = TableDef::new(name, Vec::new(), layout);
    let (columns, sources) = columns_of(&state, &nodes)?;
    def.columns = columns;
    def.wide = Some(WideDef { nodes, columns: sources });
    let entry = filled(session, def, Arc::default())?;
    session.change_catalog(|state| {
        state.tables.insert(name.to_owned(), entry);
        Ok(())
    })?;
    Ok(done)
}

/// REFRESH WIDE TABLE: new rows, from the tables as they are now.
pub(super) fn refresh(session: &mut Session, name: &RelationName) -> Result<QueryResult> {
    let name = &session.state().key_of(name)?;
    let state = session.state();
    let Some(def) = wide_named(&state, name)? else { return Err(undefined_table(name)) };
    lock_all(session, &def.nodes)?;
    let old = redefined::named_in(session, name, LockMode::Exclusive)?;
    let entry = filled(session, old.def.clone(), Arc::clone(&old.lock))?;
    session.change_catalog(|state| {
        state.tables.insert(name.to_owned(), entry);
        Ok(())
    })?;
    Ok(QueryResult::command("REFRESH WIDE TABLE"))
}

/// DROP WIDE TABLE.
pub(super) fn drop_all(session: &mut Session, drop: &DropRelations) -> Result<QueryResult> {
    let state = session.state();
    for name in &drop.names {
        wide_named(&state, &state.key_of(name)?)?;
    }
    drop::tables(session, drop)?;
    Ok(QueryResult::command("DROP WIDE TABLE"))
}

/// The definition of the wide table called `name`; None when there is no such table.
///
/// # Errors
/// 42809 for another relation.
fn wide_named(state: &State, name: &str) -> Result<Option<WideDef>> {
    match state.tables.get(name).map(|entry| &entry.def.wide) {
        Some(Some(def)) => Ok(Some(def.clone())),
        None if !state.contains(name) => Ok(None),
        _ => {
            let message = format!("\"{name}\" is not a wide table");
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
        }
    }
}

/// Locks the tables of the nodes: what they hold stays until the transaction ends.
fn lock_all(session: &mut Session, nodes: &[WideNode]) -> Result<()> {
    for node in nodes {
        redefined::named_in(session, &node.table, LockMode::Exclusive)?;
    }
    Ok(())
}

/// A table of this definition with the rows of its outer joins. Those tables are locked.
fn filled(
    session: &mut Session,
    def: TableDef,
    lock: Arc<catalog::locks::TableLock>,
) -> Result<Arc<TableEntry>> {
    let text = def.wide.as_ref().and_then(|wide| wide::query_text(&session.state(), wide));
    let text = text.ok_or_else(crate::transaction::work::stale)?;
    let query = validate::bind(session, &text)?;
    let run = validate::run_newest(session);
    Ok(table::new_filled(&mut Running::own(session), def, lock, Some((&query, run)))?.0)
}

/// A permanent table.
///
/// # Errors
/// 42P01, 42809, 42P16.
fn permanent<'s>(state: &'s State, name: &str) -> Result<&'s Arc<TableEntry>> {
    let Some(entry) = state.tables.get(name) else {
        return Err(match state.kind_of(name) {
            Some(_) => {
                Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table"))
            }
            None => undefined_table(name),
        });
    };
    match entry.def.persistence {
        Persistence::Permanent => Ok(entry),
        Persistence::Temporary => {
            let message = format!("wide tables cannot be made of the temporary table \"{name}\"");
            Err(Error::new(SqlState::INVALID_DEFINITION, message))
        }
    }
}

/// The tables that the foreign keys of `fact` lead to, itself first.
fn walk(state: &State, fact: &str) -> Result<Vec<WideNode>> {
    let entry = permanent(state, fact)?;
    if entry.def.foreign_keys.is_empty() {
        let message = format!("table \"{fact}\" has no foreign keys to follow");
        return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message));
    }
    let mut nodes = vec![WideNode { table: fact.to_owned(), link: None }];
    follow(state, &mut nodes, 0)?;
    if nodes.len() == 1 {
        let message = format!("the foreign keys of table \"{fact}\" lead to itself only");
        return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message));
    }
    Ok(nodes)
}

/// Adds what the foreign keys of node `from` lead to, each with all behind it.
fn follow(state: &State, nodes: &mut Vec<WideNode>, from: usize) -> Result<()> {
    let entry = Arc::clone(permanent(state, &nodes[from].table)?);
    for key in &entry.def.foreign_keys {
        let ForeignKeyDef { columns, references, table, validity, untested, .. } = key;
        // One that is not valid, or not tested, may lead nowhere.
        let is_doubtful = *validity == Validity::NotValid || *untested != Untested::Nothing;
        if is_doubtful || is_on_way(nodes, from, &table.name) {
            continue;
        }
        if nodes.len() == NODES_MAX {
            let message = format!("a wide table is made of at most {NODES_MAX} tables");
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, message));
        }
        let (columns, references) = (columns.clone(), references.clone());
        let link = Some(WideLink { from, columns, references });
        nodes.push(WideNode { table: table.name.clone(), link });
        let number = nodes.len() - 1;
        follow(state, nodes, number)?;
    }
    Ok(())
}

/// Tests that each key leads somewhere: rows may have come when nobody did.
///
/// # Errors
/// 23503.
fn test_links(running: &mut Running<'_>, nodes: &[WideNode]) -> Result<()> {
    let session = &mut *running.session;
    for link in nodes.iter().filter_map(|node| node.link.as_ref()) {
        let def = permanent(&session.state(), &nodes[link.from].table)?.def.clone();
        let is_it = |key: &&ForeignKeyDef| key.columns == link.columns;
        for key in def.foreign_keys.iter().filter(is_it) {
            validate::foreign_key(session, &def, key)?;
        }
    }
    Ok(())
}

/// True when the way from the fact table to node `node` goes through `table`.
fn is_on_way(nodes: &[WideNode], mut node: usize, table: &str) -> bool {
    loop {
        if nodes[node].table == table {
            return true;
        }
        match &nodes[node].link {
            Some(link) => node = link.from,
            None => return false,
        }
    }
}

/// Types whose equal values are the same.
pub(super) fn has_one_form(ty: DataType) -> bool {
    matches!(
        ty,
        DataType::Boolean
            | DataType::SmallInt
            | DataType::Integer
            | DataType::BigInt
            | DataType::Text
            | DataType::Name
            | DataType::Varchar(_)
            | DataType::Date
            | DataType::Time(_)
            | DataType::Timestamp(_)
            | DataType::TimestampTz(_)
            | DataType::Uuid
            | DataType::Enum(_)
    )
}

/// The columns of a wide table over `nodes`, and where each comes from.
fn columns_of(state: &State, nodes: &[WideNode]) -> Result<(Vec<ColumnDef>, Vec<(usize, usize)>)> {
    let defs: Vec<&TableDef> =
        nodes.iter().map(|node| Ok(&permanent(state, &node.table)?.def)).collect::<Result<_>>()?;
    // Whether each fact leads to a row of the node.
    let mut always: Vec<bool> = Vec::with_capacity(nodes.len());
    let mut sources = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let Some(link) = &node.link else {
            always.push(true);
            sources.extend((0..defs[number].columns.len()).map(|ordinal| (number, ordinal)));
            continue;
        };
        let referring = |&c: &usize| &defs[link.from].columns[c];
        let is_full = always[link.from] && link.columns.iter().all(|c| referring(c).not_null);
        always.push(is_full);
        for (ordinal, column) in defs[number].columns.iter().enumerate() {
            let at = link.references.iter().position(|&key| key == ordinal);
            // Of several columns some may be NULL: then there is no row, and its key is NULL.
            let repeats = at.is_some_and(|at| {
                let same = referring(&link.columns[at]).ty == column.ty;
                same && has_one_form(column.ty) && (is_full || link.columns.len() == 1)
            });
            if !repeats {
                sources.push((number, ordinal));
            }
        }
    }
    if sources.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
    }
    let names = names_of(nodes, &defs, &sources);
    let column = |(name, &(node, ordinal)): (String, &(usize, usize))| {
        let source = &defs[node].columns[ordinal];
        let not_null = always[node] && source.not_null;
        ColumnDef { not_null, ..ColumnDef::new(name, source.ty) }
    };
    Ok((names.into_iter().zip(&sources).map(column).collect(), sources))
}

/// The names of the columns: their own where no other table has a column of this name; else behind
/// the names of the referring columns, as many steps back as needed. The fact table's are its own.
fn names_of(nodes: &[WideNode], defs: &[&TableDef], sources: &[(usize, usize)]) -> Vec<String> {
    let own = |&(node, ordinal): &(usize, usize)| &defs[node].columns[ordinal].name;
    let is_kept = |source: &(usize, usize)| {
        let same = |other: &(usize, usize)| other.0 != source.0 && own(other) == own(source);
        source.0 == 0 || !sources.iter().any(same)
    };
    let kept: HashSet<&String> = sources.iter().filter(|source| is_kept(source)).map(own).collect();
    let mut names: Vec<String> = Vec::with_capacity(sources.len());
    for source in sources {
        let mut name = own(source).clone();
        if is_kept(source) {
            names.push(name);
            continue;
        }
        let is_taken = |name: &str| names.iter().chain(kept.iter().copied()).any(|n| n == name);
        let mut node = source.0;
        while let Some(link) = &nodes[node].link {
            let columns = link.columns.iter().map(|&c| defs[link.from].columns[c].name.as_str());
            name = format!("{}_{name}", columns.collect::<Vec<_>>().join("_"));
            node = link.from;
            if !is_taken(&name) {
                break;
            }
        }
        names.push(names::free(&name, is_taken));
    }
    names
}

/// Replaces the freshness of every wide table over `table` after its storage was rewritten.
pub(super) fn renew(state: &mut State, table: &str, freshness: impl Fn(&Freshness) -> Freshness) {
    let over: Vec<_> = wide::over(state, table).map(|(entry, _)| Arc::clone(entry)).collect();
    for entry in over {
        let renewed = entry.with_freshness(freshness(&entry.freshness));
        state.tables.insert(entry.def.name.clone(), Arc::new(renewed));
    }
}

/// Names of the wide tables that have the column `ordinal` of `table`.
pub(super) fn holders(state: &State, table: &str, ordinal: usize) -> Vec<String> {
    let holds = |def: &WideDef| {
        let mut nodes = def.nodes.iter().enumerate().filter(|(_, node)| node.table == table);
        nodes.any(|(number, _)| def.column(number, ordinal).is_some())
    };
    let over = wide::over(state, table).filter(|(_, def)| holds(def));
    over.map(|(entry, _)| entry.def.name.clone()).collect()
}

/// Drops what no longer fits, or is named, or fails because of it when `behaviour` is RESTRICT.
///
/// # Errors
/// 2BP01 for `what`.
pub(super) fn drop_unfit(
    state: &mut State,
    named: &[String],
    what: &str,
    behaviour: DropBehaviour,
) -> Result<()> {
    let mut names = unfit(state);
    names.extend(named.iter().filter(|name| state.tables.contains_key(*name)).cloned());
    names.sort();
    names.dedup();
    for name in names {
        if behaviour == DropBehaviour::Restrict {
            return Err(super::needed(what, &format!("wide table {name}")));
        }
        drop_one(state, &name)?;
    }
    Ok(())
}

/// Drops a wide table with all that depends on it.
pub(super) fn drop_one(state: &mut State, name: &str) -> Result<()> {
    state.tables.remove(name);
    view::drop_dependents(state, "table", name, DropBehaviour::Cascade)
}

/// Refuses other changes of a table that a wide table would notice.
///
/// # Errors
/// 0A000.
pub(super) fn refuse_unfit(state: &State, table: &str) -> Result<()> {
    let Some(name) = unfit(state).into_iter().next() else { return Ok(()) };
    let message =
        format!("cannot alter table \"{table}\" in a way that wide table \"{name}\" would notice");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("Drop the wide table first, and create it again afterwards."))
}
