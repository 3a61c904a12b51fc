//! The transactions on Tessera: native here, and through SQL.

mod sql;

use std::ops::ControlFlow;

use ::sql::statement::AccessMode;
use engine::Database;
use engine::native::{NativeOptions, NativeSession, TableHandle};
use storage::{RowBuffer, Tid};

use super::driver::{System, Use};
use super::native::{Datum, Direction, Index, NativeTerminal, Row, Session, Transaction};
use super::schema::{SECONDARY, Table};
use super::sql::Access;
use super::terminal::Failure;

pub use self::sql::TesseraSql;

/// The tables and indexes of a loaded database, for the terminals of all workers.
pub struct Tessera {
    database: Database,
    tables: Vec<TableHandle>,
    /// Positions of the primary keys, by table.
    primary: Vec<usize>,
    /// Positions of [`SECONDARY`].
    secondary: Vec<usize>,
    synchronous: bool,
}

/// Whether commits wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// They do.
    Yes,
    /// They do not, or there is no disk.
    No,
}

fn failure(error: types::Error) -> Failure {
    let text = error.to_string();
    match error.state().as_str() {
        "40001" | "40P01" => Failure::Retry(text),
        _ => Failure::Fatal(text),
    }
}

impl Tessera {
    /// Looks up the tables of `database`, which holds a population and the secondary indexes.
    ///
    /// # Errors
    /// When a table or an index is not there.
    pub fn new(database: &Database, waits: Waits) -> Result<Self, Failure> {
        let missing = |name: &str| Failure::Fatal(format!("there is no index {name}"));
        let handle = |table: &Table| database.handle(table.name()).map_err(failure);
        let tables: Vec<TableHandle> = Table::ALL.iter().map(handle).collect::<Result<_, _>>()?;
        // History has no key, and nobody asks for one.
        let primary = tables.iter().map(|t| t.primary_key().unwrap_or(0)).collect();
        let position = |index: &super::schema::SecondaryIndex| {
            tables[index.table as usize].index(index.name).ok_or_else(|| missing(index.name))
        };
        let secondary = SECONDARY.iter().map(position).collect::<Result<_, _>>()?;
        let (database, synchronous) = (database.clone(), waits == Waits::Yes);
        Ok(Self { database, tables, primary, secondary, synchronous })
    }
}

impl System for Tessera {
    fn with_terminal(&self, _: usize, body: Use<'_>) -> Result<(), Failure> {
        let mut native = self.database.native();
        native.set_synchronous(self.synchronous).map_err(failure)?;
        body(&mut NativeTerminal::new(TesseraSession { system: self, native }))
    }
}

struct TesseraSession<'t> {
    system: &'t Tessera,
    native: NativeSession,
}

/// Columns of a row.
#[derive(Default)]
pub struct TesseraRow(RowBuffer);

impl Row for TesseraRow {
    fn is_null(&self, i: usize) -> bool {
        self.0.get(i).is_null()
    }

    fn i32(&self, i: usize) -> i32 {
        match self.0.get(i) {
            storage::Datum::I32(v) => v,
            _ => 0,
        }
    }

    fn i64(&self, i: usize) -> i64 {
        match self.0.get(i) {
            storage::Datum::I64(v) => v,
            storage::Datum::I32(v) => v.into(),
            _ => 0,
        }
    }

    fn text(&self, i: usize) -> &[u8] {
        match self.0.get(i) {
            storage::Datum::Str(v) => v.trim_ascii_end(),
            _ => &[],
        }
    }
}

fn datum<'a>(datum: &Datum<'a>) -> storage::Datum<'a> {
    match *datum {
        Datum::Null => storage::Datum::Null,
        Datum::I32(v) => storage::Datum::I32(v),
        Datum::I64(v) => storage::Datum::I64(v),
        Datum::Str(v) => storage::Datum::Str(v),
    }
}

/// The most columns of a table or key.
const COLUMNS_MAX: usize = 24;

/// The values in the database's terms, without allocation.
fn converted<'a>(values: &[Datum<'a>], out: &mut [storage::Datum<'a>; COLUMNS_MAX]) -> usize {
    for (to, from) in out.iter_mut().zip(values) {
        *to = datum(from);
    }
    values.len()
}

impl Transaction for TesseraSession<'_> {
    type RowId = Tid;
    type Row = TesseraRow;

    fn get(
        &mut self,
        table: Table,
        key: &[Datum<'_>],
        columns: &[usize],
        row: &mut TesseraRow,
    ) -> Result<Option<Tid>, Failure> {
        let mut values = [storage::Datum::Null; COLUMNS_MAX];
        let count = converted(key, &mut values);
        let (handle, index) =
            (&self.system.tables[table as usize], self.system.primary[table as usize]);
        let found = self.native.get(handle, index, &values[..count], columns, &mut row.0);
        found.map_err(failure)
    }

    fn read(
        &mut self,
        table: Table,
        id: Tid,
        columns: &[usize],
        row: &mut TesseraRow,
    ) -> Result<(), Failure> {
        let handle = &self.system.tables[table as usize];
        match self.native.read(handle, id, columns, &mut row.0).map_err(failure)? {
            true => Ok(()),
            false => Err(Failure::Fatal(format!("a row of {} is gone", table.name()))),
        }
    }

    fn range(
        &mut self,
        index: Index,
        low: &[Datum<'_>],
        high: &[Datum<'_>],
        direction: Direction,
        columns: &[usize],
        row: &mut TesseraRow,
        mut visit: impl FnMut(Tid, &TesseraRow) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let (mut lows, mut highs) =
            ([storage::Datum::Null; COLUMNS_MAX], [storage::Datum::Null; COLUMNS_MAX]);
        let (low, high) = (converted(low, &mut lows), converted(high, &mut highs));
        let (table, position) = match index {
            Index::Primary(table) => (table, self.system.primary[table as usize]),
            Index::Secondary(index) => {
                let at = SECONDARY.iter().position(|s| s.name == index.name).unwrap_or(0);
                (index.table, self.system.secondary[at])
            }
        };
        let direction = match direction {
            Direction::Ascending => storage::Direction::Forward,
            Direction::Descending => storage::Direction::Backward,
        };
        let handle = &self.system.tables[table as usize];
        let mut buffer = std::mem::take(&mut row.0);
        let outcome = self.native.range(
            handle,
            position,
            &lows[..low],
            &highs[..high],
            direction,
            columns,
            &mut buffer,
            |tid, found| {
                // The visitor wants a row of its own type: the buffers change places for the call.
                row.0.clone_from(found);
                visit(tid, row)
            },
        );
        outcome.map_err(failure)
    }

    fn update(
        &mut self,
        table: Table,
        id: Tid,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<(), Failure> {
        let mut values = [(0, storage::Datum::Null); COLUMNS_MAX];
        for (to, (column, value)) in values.iter_mut().zip(changes) {
            *to = (*column, datum(value));
        }
        let handle = &self.system.tables[table as usize];
        self.native.update(handle, id, &values[..changes.len()]).map(|_| ()).map_err(failure)
    }

    fn insert(&mut self, table: Table, row: &[Datum<'_>]) -> Result<(), Failure> {
        let mut values = [storage::Datum::Null; COLUMNS_MAX];
        let count = converted(row, &mut values);
        let handle = &self.system.tables[table as usize];
        self.native.insert(handle, &values[..count]).map(|_| ()).map_err(failure)
    }

    fn delete(&mut self, table: Table, id: Tid) -> Result<(), Failure> {
        self.native.delete(&self.system.tables[table as usize], id).map_err(failure)
    }
}

impl Session for TesseraSession<'_> {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        let access = match access {
            Access::ReadOnly => AccessMode::ReadOnly,
            Access::ReadWrite => AccessMode::ReadWrite,
        };
        self.native.begin(NativeOptions { access, ..NativeOptions::default() }).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.native.commit().map_err(failure)
    }

    fn rollback(&mut self) {
        self.native.rollback();
    }
}
