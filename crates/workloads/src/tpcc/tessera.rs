//! The transactions on Tessera: native here, and through SQL.

mod sql;

use std::ops::ControlFlow;

use ::sql::statement::AccessMode;
use engine::Database;
use engine::native::{Between, IndexRead, NativeOptions, NativeSession, TableHandle};
use storage::{Datum, KeyBatch, RowBuffer, Tid};

use super::driver::{System, Use};
use super::native::{Direction, Index, NativeTerminal, Nth, Range, Row, Session, Transaction};
use super::schema::{SECONDARY, Table, names};
use super::sql::Access;
use super::terminal::Failure;

pub use self::sql::TesseraSql;

/// The tables and indexes of a loaded database, for the terminals of all workers.
pub struct Tessera {
    database: Database,
    tables: Vec<TableHandle>,
    /// Positions of the primary keys, by table.
    primary: Vec<usize>,
    /// Positions of the indexes for whole keys: see [`point_indexes`].
    point: Vec<usize>,
    /// Positions of [`SECONDARY`].
    secondary: Vec<usize>,
    synchronous: bool,
}

/// CREATE INDEX statements that save rows of tables without inserts the way down a tree.
pub fn point_indexes() -> Vec<String> {
    let tables = [Table::Warehouse, Table::District, Table::Customer, Table::Item, Table::Stock];
    let create = |table: Table| {
        let (name, key) = (table.name(), names(table, table.key()));
        format!("CREATE INDEX {name}_point ON {name} USING hash ({key})")
    };
    tables.into_iter().map(create).collect()
}

/// Wait of commits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Commits wait.
    Yes,
    /// Commits do not wait, or there is no disk.
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
        let point = |table: &TableHandle| {
            let hash = table.index(&format!("{}_point", table.name()));
            hash.or(table.primary_key()).unwrap_or(0)
        };
        let point = tables.iter().map(point).collect();
        let position = |index: &super::schema::SecondaryIndex| {
            tables[index.table as usize].index(index.name).ok_or_else(|| missing(index.name))
        };
        let secondary = SECONDARY.iter().map(position).collect::<Result<_, _>>()?;
        let (database, synchronous) = (database.clone(), waits == Waits::Yes);
        Ok(Self { database, tables, primary, point, secondary, synchronous })
    }
}

impl Tessera {
    /// Reads of `columns` by the key that finds one row.
    fn point<'a>(&'a self, table: Table, columns: &'a [usize]) -> IndexRead<'a> {
        let (handle, index) = (&self.tables[table as usize], self.point[table as usize]);
        IndexRead { table: handle, index, columns }
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

impl Row for RowBuffer {
    fn is_null(&self, i: usize) -> bool {
        self.get(i).is_null()
    }

    fn i32(&self, i: usize) -> i32 {
        match self.get(i) {
            Datum::I32(v) => v,
            _ => 0,
        }
    }

    fn i64(&self, i: usize) -> i64 {
        match self.get(i) {
            Datum::I64(v) => v,
            Datum::I32(v) => v.into(),
            _ => 0,
        }
    }

    fn text(&self, i: usize) -> &[u8] {
        match self.get(i) {
            Datum::Str(v) => v.trim_ascii_end(),
            _ => &[],
        }
    }
}

impl Transaction for TesseraSession<'_> {
    type RowId = Tid;
    type Row = RowBuffer;
    type Batch = KeyBatch;

    fn start_batch<const N: usize>(
        &mut self,
        table: Table,
        keys: &[[Datum<'_>; N]],
        batch: &mut KeyBatch,
    ) -> Result<(), Failure> {
        let (handle, index) =
            (&self.system.tables[table as usize], self.system.point[table as usize]);
        let keys = keys.iter().map(|key| &key[..]);
        self.native.start_batch(handle, index, keys, batch).map_err(failure)
    }

    fn get_nth(
        &mut self,
        table: Table,
        Nth { batch, i }: Nth<'_, KeyBatch>,
        columns: &[usize],
        row: &mut RowBuffer,
    ) -> Result<Option<Tid>, Failure> {
        self.native.get_nth(self.system.point(table, columns), batch, i, row).map_err(failure)
    }

    fn get(
        &mut self,
        table: Table,
        key: &[Datum<'_>],
        columns: &[usize],
        row: &mut RowBuffer,
    ) -> Result<Option<Tid>, Failure> {
        self.native.get(self.system.point(table, columns), key, row).map_err(failure)
    }

    fn read(
        &mut self,
        table: Table,
        id: Tid,
        columns: &[usize],
        row: &mut RowBuffer,
    ) -> Result<(), Failure> {
        let handle = &self.system.tables[table as usize];
        if self.native.read(handle, id, columns, row).map_err(failure)? {
            Ok(())
        } else {
            Err(Failure::Fatal(format!("a row of {} is gone", table.name())))
        }
    }

    fn range(
        &mut self,
        Range { index, low, high, direction }: Range<'_>,
        columns: &[usize],
        row: &mut RowBuffer,
        visit: impl FnMut(Tid, &RowBuffer) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
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
        let read = IndexRead { table: handle, index: position, columns };
        self.native.range(read, Between { low, high, direction }, row, visit).map_err(failure)
    }

    fn update(
        &mut self,
        table: Table,
        id: Tid,
        changes: &[(usize, Datum<'_>)],
    ) -> Result<(), Failure> {
        let handle = &self.system.tables[table as usize];
        self.native.update(handle, id, changes).map(|_| ()).map_err(failure)
    }

    fn insert(&mut self, table: Table, row: &[Datum<'_>]) -> Result<(), Failure> {
        let handle = &self.system.tables[table as usize];
        self.native.insert(handle, row).map(|_| ()).map_err(failure)
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
