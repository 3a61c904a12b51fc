//! Scans of one snapshot in parts, from any number of connections.
//!
//! ```text
//! GetFlightInfo: snapshot held, table locked against changes of its definition -> n tickets
//! ticket i -> a session at that snapshot -> blocks of part i, some at a time -> record batches
//! ```
//! The parts are ranges of places of rows (`ctid`), of which each row has one in each snapshot: so
//! each comes once. The snapshot is held until all parts were read to their ends, or none was for
//! as long as tickets wait; a part may be read again until then.

use std::sync::Arc;

use arrow_flight::FlightDescriptor;
use arrow_schema::SchemaRef;
use engine::{Held, HeldSnapshot, Session};
use parking_lot::Mutex;
use serde_json::Value as Json;
use types::{Error, Result, SqlState};

use crate::lists::{identifier, literal, texts};
use crate::seat::SharedSeat;
use crate::status::unreadable;

/// Rows that are read at a time: four blocks, which are in memory until they are sent.
const PIECE_ROWS: u64 = 1 << 18;

/// Parts that a scan has at most.
const PARTS_MAX: u64 = 10_000;

/// A scan that a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Names, as in `schema.table`.
    table: Vec<String>,
    /// All, when there are none.
    columns: Vec<String>,
    condition: Option<String>,
    limit: Option<u64>,
    /// As many as there are threads, when it is not said.
    parts: Option<u64>,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

fn strings(key: &str, value: &Json) -> Result<Vec<String>> {
    let wrong = || invalid(format!("\"{key}\" of a scan is a list of names"));
    let names = value.as_array().ok_or_else(wrong)?.iter();
    names.map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

fn number(key: &str, value: &Json) -> Result<u64> {
    value.as_u64().ok_or_else(|| invalid(format!("\"{key}\" of a scan is a number from 0")))
}

impl Asked {
    /// The scan that `descriptor` names: by a path, or by an object of JSON; None for others.
    ///
    /// # Errors
    /// 22023 for an object that is no scan.
    pub(crate) fn read(descriptor: &FlightDescriptor) -> Result<Option<Self>> {
        if !descriptor.path.is_empty() {
            return Ok(Some(Self { table: descriptor.path.clone(), ..Self::default() }));
        }
        // Messages of Flight SQL begin with another byte.
        if descriptor.cmd.first() != Some(&b'{') {
            return Ok(None);
        }
        let object: serde_json::Map<String, Json> =
            serde_json::from_slice(&descriptor.cmd).map_err(unreadable)?;
        let mut asked = Self::default();
        for (key, value) in &object {
            match (key.as_str(), value) {
                (_, Json::Null) => {}
                ("table", Json::String(name)) => asked.table = vec![name.clone()],
                ("table", names) => asked.table = strings(key, names)?,
                ("columns", names) => asked.columns = strings(key, names)?,
                ("where", Json::String(condition)) => asked.condition = Some(condition.clone()),
                ("where", _) => return Err(invalid("\"where\" of a scan is a text")),
                ("limit", limit) => asked.limit = Some(number(key, limit)?),
                ("parts", parts) => asked.parts = Some(number(key, parts)?),
                _ => return Err(invalid(format!("a scan has no \"{key}\""))),
            }
        }
        if asked.parts.is_some_and(|parts| !(1..=PARTS_MAX).contains(&parts)) {
            return Err(invalid(format!("a scan has 1 to {PARTS_MAX} parts")));
        }
        Ok(Some(asked))
    }

    /// The names of the table, in quotes.
    ///
    /// # Errors
    /// 22023 when there are none or too many.
    fn relation(&self) -> Result<String> {
        match self.table.len() {
            1 | 2 => {
                let names: Vec<String> = self.table.iter().map(|name| identifier(name)).collect();
                Ok(names.join("."))
            }
            _ => Err(invalid("a scan names a table, or a schema and a table")),
        }
    }

    /// The query, to which more conditions may be added.
    ///
    /// # Errors
    /// 42601 for a condition that is none; as [`Self::relation`].
    pub(crate) fn query(&self) -> Result<String> {
        let columns: Vec<String> = self.columns.iter().map(|name| identifier(name)).collect();
        let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
        let condition = match &self.condition {
            Some(condition) => {
                sql::check_expression(condition)?;
                // A comment may end it.
                format!("({condition}\n)")
            }
            None => "true".to_owned(),
        };
        Ok(format!("SELECT {columns} FROM {} WHERE {condition}", self.relation()?))
    }
}

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

    /// Notes that a part was read; true when all of them were.
    pub(crate) fn note(&self, part: usize) -> bool {
        let mut is_read = self.is_read.lock();
        is_read.get_mut(part).into_iter().for_each(|is_read| *is_read = true);
        is_read.iter().all(|is_read| *is_read)
    }
}

/// Some neighbouring blocks.
struct Piece {
    /// The first block's id.
    from: u64,
    rows: u64,
}

/// Blocks as pieces of `rows` at least, but for the last one.
fn pieces_of(blocks: &[Piece], rows: u64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for block in blocks {
        match pieces.last_mut() {
            Some(last) if last.rows < rows => last.rows += block.rows,
            _ => pieces.push(Piece { from: block.from, rows: block.rows }),
        }
    }
    pieces
}

/// The conditions on places that make parts of a table with these blocks, which ascend: each row
/// meets one condition of one part. There are as many parts as wanted, or fewer.
fn conditions(blocks: &[Piece], parts: usize) -> Vec<Vec<String>> {
    let all: u64 = blocks.iter().map(|block| block.rows).sum();
    let pieces = pieces_of(blocks, PIECE_ROWS.min(all.div_ceil(parts as u64)).max(1));
    let bounds: Vec<u64> = pieces.iter().skip(1).map(|piece| piece.from).collect();
    let count = bounds.len() + 1;
    let condition = |at: usize| {
        let from = at.checked_sub(1).and_then(|at| bounds.get(at));
        let from = from.map(|from| format!(" AND ctid >= '({from},0)'"));
        let to = bounds.get(at).map(|to| format!(" AND ctid < '({to},0)'"));
        from.unwrap_or_default() + &to.unwrap_or_default()
    };
    let parts = parts.min(count);
    let of_part = |part| (part * count / parts..(part + 1) * count / parts).map(condition);
    (0..parts).map(|part| of_part(part).collect()).collect()
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

/// A snapshot, and how its rows are read.
pub(crate) struct Made {
    pub(crate) held: Arc<HeldSnapshot>,
    pub(crate) schema: SchemaRef,
    /// The queries of each part, one after the other.
    pub(crate) parts: Vec<Vec<String>>,
}

/// Holds a snapshot, and makes parts; `session` stays in a transaction that reads the table.
///
/// # Errors
/// Errors of the query.
pub(crate) fn make(session: &mut Session, asked: &Asked) -> Result<Made> {
    let (query, relation) = (asked.query()?, asked.relation()?);
    let attached = attached(session, asked);
    let found = match &attached {
        Some(_) => Found { keys: Vec::new(), has_places: false },
        None => find(session, &relation)?,
    };
    let which = if attached.is_some() { Held::WithAttached } else { Held::Own };
    let held = session.database().hold_snapshot(which)?;
    session.begin_at(&held)?;
    let columns = session.execute(&format!("{query} LIMIT 0"))?;
    let schema = formats::arrow_schema(columns.columns());
    let wanted = asked.parts.unwrap_or(session.database().threads() as u64);
    let parts = match asked.limit {
        Some(limit) => vec![vec![format!("{query} LIMIT {limit}")]],
        None if !found.has_places => vec![vec![query]],
        None => {
            let blocks = blocks_of(session, &found, &held);
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).max(1);
            let with = |conditions: Vec<String>| {
                conditions.iter().map(|more| format!("{query}{more}")).collect()
            };
            conditions(&blocks, wanted).into_iter().map(with).collect()
        }
    };
    Ok(Made { held, schema, parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(rows: &[u64]) -> Vec<Piece> {
        let block = |(at, &rows): (usize, &u64)| Piece { from: 3 * at as u64 + 1, rows };
        rows.iter().enumerate().map(block).collect()
    }

    #[test]
    fn conditions_meet_at_their_bounds() {
        let parts = conditions(&blocks(&[10, 10, 10, 10]), 2);
        let expected = [vec![" AND ctid < '(7,0)'"], vec![" AND ctid >= '(7,0)'"]];
        assert_eq!(parts, expected);
        assert_eq!(conditions(&blocks(&[]), 8), [[""]]);
        assert_eq!(conditions(&blocks(&[5]), 8), [[""]]);
        let many = conditions(&blocks(&[1 << 16; 16]), 2);
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(many[0][1], " AND ctid >= '(13,0)' AND ctid < '(25,0)'");
    }

    #[test]
    fn scans_are_paths_or_objects() {
        let read = |text: &str| Asked::read(&FlightDescriptor::new_cmd(text.to_owned()));
        let asked =
            read(r#"{"table": ["s", "t"], "columns": ["a"], "where": "a > 1", "parts": 3}"#);
        let asked = asked.expect("a scan").expect("an object");
        let query = asked.query().expect("a query");
        assert_eq!(query, "SELECT \"a\" FROM \"s\".\"t\" WHERE (a > 1\n)");
        let path = FlightDescriptor::new_path(vec!["t".to_owned()]);
        let asked = Asked::read(&path).expect("a scan").expect("a path");
        assert_eq!(asked.query().expect("a query"), "SELECT * FROM \"t\" WHERE true");
        for wrong in [
            r#"{"table": "t", "parts": 0}"#,
            r#"{"table": "t", "rows": 1}"#,
            r#"{"table": 1}"#,
            r#"{"table": "t", "where": 1}"#,
            "{",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let asked = read(r#"{"table": "t", "where": "a = 1) OR (b = 2"}"#).expect("an object");
        let error = asked.expect("an object").query().expect_err("no condition");
        assert_eq!(error.state(), SqlState::SYNTAX_ERROR);
        assert_eq!(read("\u{a}").expect("none"), None);
    }
}
