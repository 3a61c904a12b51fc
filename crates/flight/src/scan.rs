//! Scans of one snapshot in parts, from any number of connections.
//!
//! ```text
//! GetFlightInfo: snapshot held, table locked against changes of its definition -> n tickets
//! ticket i -> a session at that snapshot -> blocks of part i, some at a time -> record batches
//! ```
//! The parts are ranges of places of rows (`ctid`), of which each row has one in each snapshot: so
//! each comes once. Those of a shared table are ranges of hashes of its keys, and any node reads
//! them (`told`). The snapshot is held until all parts were read to their ends, or none was for
//! as long as tickets wait; a part may be read again until then.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use engine::{Held, HeldSnapshot, Session};
use parking_lot::Mutex;
use types::{DataType, Result};

use crate::asked::Asked;
use crate::lists::{identifier, literal, texts};
use crate::places::{Piece, conditions};
use crate::seat::SharedSeat;
use crate::told::Told;

/// A scan whose snapshot is held.
pub(crate) struct Scan {
    pub(crate) made: Made,
    /// Has the table locked against changes of its definition.
    _holder: SharedSeat,
    /// Which parts were read to their ends.
    is_read: Mutex<Vec<bool>>,
}

impl Scan {
    /// The scan of a session that stays in its transaction.
    pub(crate) fn new(made: Made, holder: SharedSeat) -> Self {
        let is_read = Mutex::new(vec![false; made.parts.len()]);
        Self { made, _holder: holder, is_read }
    }

    /// Notes that a part was read; true when nothing is left to be read.
    pub(crate) fn note(&self, part: usize) -> bool {
        let mut is_read = self.is_read.lock();
        is_read.get_mut(part).into_iter().for_each(|is_read| *is_read = true);
        !self.made.is_held && is_read.iter().all(|is_read| *is_read)
    }
}

/// A table as the catalog has it.
struct Found {
    /// Names in the catalog of the relations that have its rows.
    keys: Vec<String>,
    has_places: bool,
}

/// The name of the table among those of the attached database, if it is one of them.
fn attached(session: &mut Session, asked: &Asked) -> Option<String> {
    let schema = session.database().attached_schema()?.to_owned();
    match asked.table.as_slice() {
        [named, name] => (*named == schema).then(|| name.clone()),
        [name] => {
            let query = format!("SELECT 1 FROM {}.{}", identifier(&schema), identifier(name));
            session.prepare(&query, &[]).is_ok().then(|| name.clone())
        }
        _ => None,
    }
}

/// Finds a table and its partitions.
fn find(session: &mut Session, relation: &str) -> Result<Found> {
    let root = literal(relation);
    let query = format!(
        "WITH RECURSIVE all_of(id) AS (SELECT {root}::regclass::oid UNION \
         SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN all_of ON i.inhparent = id) \
         SELECT n.nspname, c.relname, c.relkind FROM all_of \
         JOIN pg_catalog.pg_class c ON c.oid = id \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         ORDER BY c.oid <> {root}::regclass::oid"
    );
    let rows = texts(session, &query)?;
    let key = |row: &Vec<String>| match row.as_slice() {
        [schema, name, ..] if schema == "public" => name.clone(),
        [schema, name, ..] => format!("{schema}.{name}"),
        _ => String::new(),
    };
    let kind = rows.first().and_then(|row| row.get(2)).map_or("", String::as_str);
    Ok(Found { keys: rows.iter().map(key).collect(), has_places: matches!(kind, "r" | "p" | "m") })
}

/// The blocks that have the table's rows in the snapshot, in the order of their ids.
fn blocks_of(session: &Session, found: &Found, held: &HeldSnapshot) -> Vec<Piece> {
    let mut blocks = Vec::new();
    for key in &found.keys {
        let Ok(table) = session.database().table(key) else { continue };
        let seen = table.storage().snapshot(held.snapshot());
        let of_table = (0..seen.block_count()).map(|at| {
            let block = seen.block(at);
            Piece { from: block.id(), rows: block.rows() as u64 }
        });
        blocks.extend(of_table);
    }
    blocks.sort_by_key(|block| block.from);
    // A TID of SQL has 32 bits for the block; what lies behind is a part of the last piece.
    blocks.retain(|block| u32::try_from(block.from).is_ok());
    blocks
}

/// Columns of a scan.
pub(crate) struct Columns {
    /// The schema of the rows.
    pub(crate) plain: SchemaRef,
    /// The same with the names of SQL's types, for who plans the scan.
    pub(crate) described: SchemaRef,
}

impl Columns {
    /// Columns of these names and types.
    pub(crate) fn new(columns: &[(String, DataType)]) -> Self {
        let plain = formats::arrow_schema(columns);
        let described = |(field, (_, ty)): (&FieldRef, &(String, DataType))| {
            let name = (TYPE_NAME.to_owned(), ty.to_string());
            field.as_ref().clone().with_metadata(HashMap::from([name]))
        };
        let described: Vec<Field> = plain.fields().iter().zip(columns).map(described).collect();
        Self { plain, described: Arc::new(Schema::new(described)) }
    }
}

/// Key of the name of SQL's type in a field's metadata, as Flight SQL has it.
const TYPE_NAME: &str = "ARROW:FLIGHT:SQL:TYPE_NAME";

/// A snapshot, and how its rows are read.
pub(crate) struct Made {
    pub(crate) held: Arc<HeldSnapshot>,
    pub(crate) columns: Columns,
    /// True when parts may be read again after all of them were read.
    pub(crate) is_held: bool,
    /// The queries of each part, one after the other.
    pub(crate) parts: Vec<Vec<String>>,
    /// Parts as tickets say them to other nodes, of a shared table.
    pub(crate) told: Option<Told>,
}

/// Holds a snapshot, and makes parts; `session` stays in a transaction that reads the table.
///
/// # Errors
/// Errors of the query.
pub(crate) fn make(session: &mut Session, asked: &Asked) -> Result<Made> {
    let relation = asked.relation()?;
    // A condition that is none is told before anything is held.
    let query = asked.query("", "")?;
    let wanted = asked.parts.unwrap_or(session.database().threads() as u64).max(1);
    if let Some(name) = attached(session, asked) {
        let held = session.database().hold_snapshot(Held::WithAttached)?;
        if let (Some(size), Some(state)) = (held.attached_size(&name)?, held.attached_state()?) {
            let stores = size.stores as u64;
            let wanted = if asked.parts.is_none() { wanted.max(stores) } else { wanted };
            return begin(session, held, Told::new(asked.clone(), wanted, size, state));
        }
    }
    let found = find(session, &relation)?;
    let held = session.database().hold_snapshot(Held::Own)?;
    session.begin_at(&held)?;
    let columns = columns_of(session, &query)?;
    let parts = match asked.limit {
        Some(limit) => vec![vec![format!("{query} LIMIT {limit}")]],
        None if !found.has_places => vec![vec![query]],
        None => {
            let blocks = blocks_of(session, &found, &held);
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            let with = |conditions: Vec<String>| {
                conditions.iter().map(|more| asked.query("", more)).collect::<Result<Vec<_>>>()
            };
            conditions(&blocks, wanted).into_iter().map(with).collect::<Result<_>>()?
        }
    };
    Ok(Made { held, columns, is_held: asked.is_held, parts, told: None })
}

/// Holds the snapshot of a ticket of another node; None when nobody holds it any more. `session`
/// stays in a transaction that reads it.
///
/// # Errors
/// Errors of the query; 0A000 for a database that is not shared.
pub(crate) fn join(session: &mut Session, told: Told) -> Result<Option<Made>> {
    let held = session.database().hold_attached_at(told.state())?;
    held.map(|held| begin(session, held, told)).transpose()
}

/// Begins to read a shared table in parts.
fn begin(session: &mut Session, held: Arc<HeldSnapshot>, told: Told) -> Result<Made> {
    session.begin_at(&held)?;
    let columns = columns_of(session, &told.asked().query("", "")?)?;
    let (parts, is_held) = (told.queries()?, told.asked().is_held);
    Ok(Made { held, columns, is_held, parts, told: Some(told) })
}

/// Columns of a query.
fn columns_of(session: &mut Session, query: &str) -> Result<Columns> {
    let result = session.execute(&format!("{query} LIMIT 0"))?;
    Ok(Columns::new(result.columns()))
}
