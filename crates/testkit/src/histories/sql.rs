//! Lists in the tables of an SQL database.
//!
//! ```text
//! Text: lists(key, items)            one row a list, "1,2,3,": updates of one row
//! Rows: items(key, place, value)     one row an element: inserts, predicates, a unique key
//! ```
//! Every other read goes by an expression of the key, so that no index answers it.

use super::{Key, ListSession, ListStore, StoreError, Value};
use crate::slt::{Answer, Connection, Database, SqlError};

/// How a list is a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One row for each list.
    Text,
    /// One row for each element.
    Rows,
}

/// A database with the tables made.
pub struct SqlLists {
    database: Box<dyn Database>,
    begin: String,
    shape: Shape,
}

impl SqlLists {
    /// Makes the tables; transactions begin with `begin`, such as
    /// `BEGIN ISOLATION LEVEL SERIALIZABLE`.
    ///
    /// # Errors
    /// When the tables cannot be made.
    pub fn new(database: Box<dyn Database>, begin: &str, shape: Shape) -> Result<Self, SqlError> {
        let mut connection = database.connect()?;
        connection.run("CREATE TABLE lists (key integer PRIMARY KEY, items text NOT NULL)")?;
        connection.run(
            "CREATE TABLE items (key integer, place integer, value integer, \
             PRIMARY KEY (key, place))",
        )?;
        Ok(Self { database, begin: begin.to_owned(), shape })
    }
}

impl ListStore for SqlLists {
    type Session = SqlSession;

    fn open(&self) -> Result<SqlSession, StoreError> {
        let connection = self.database.connect().map_err(|e| StoreError::Failed(e.to_string()))?;
        Ok(SqlSession { connection, begin: self.begin.clone(), shape: self.shape, reads: 0 })
    }
}

/// A session on such a database.
pub struct SqlSession {
    connection: Box<dyn Connection>,
    begin: String,
    shape: Shape,
    reads: u64,
}

impl SqlSession {
    fn run(&mut self, sql: &str) -> Result<Answer, StoreError> {
        self.connection.run(sql).map_err(|error| match error.sqlstate.as_str() {
            // A unique key taken by somebody else is how two inserts of a place conflict.
            "40001" | "40P01" | "23505" => StoreError::Retry,
            "08007" => StoreError::Unknown,
            _ => StoreError::Failed(format!("{sql}: {error}")),
        })
    }
}

impl ListSession for SqlSession {
    fn begin(&mut self) -> Result<(), StoreError> {
        let begin = self.begin.clone();
        self.run(&begin).map(drop)
    }

    fn append(&mut self, Key(key): Key, Value(value): Value) -> Result<(), StoreError> {
        let sql = match self.shape {
            Shape::Text => format!(
                "INSERT INTO lists VALUES ({key}, '{value},') \
                 ON CONFLICT (key) DO UPDATE SET items = lists.items || excluded.items"
            ),
            Shape::Rows => format!(
                "INSERT INTO items SELECT {key}, coalesce(max(place), 0) + 1, {value} \
                 FROM items WHERE key = {key}"
            ),
        };
        self.run(&sql).map(drop)
    }

    fn read(&mut self, Key(key): Key) -> Result<Vec<Value>, StoreError> {
        self.reads += 1;
        let column = if self.reads.is_multiple_of(2) { "key" } else { "key + 0" };
        let sql = match self.shape {
            Shape::Text => format!("SELECT items FROM lists WHERE {column} = {key}"),
            Shape::Rows => {
                format!("SELECT value FROM items WHERE {column} = {key} ORDER BY place")
            }
        };
        let Answer::Rows { rows, .. } = self.run(&sql)? else { return Ok(Vec::new()) };
        let cells = rows.into_iter().flatten().flatten();
        let texts: Vec<String> = cells.collect();
        let numbers = texts.iter().flat_map(|text| text.split(',')).filter(|n| !n.is_empty());
        let value = |number: &str| number.parse().map(Value);
        numbers.map(value).collect::<Result<_, _>>().map_err(|e| StoreError::Failed(e.to_string()))
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT").map(drop)
    }

    fn abort(&mut self) -> Result<(), StoreError> {
        self.run("ROLLBACK").map(drop)
    }
}
