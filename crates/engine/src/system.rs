//! Table functions about the database itself: memory, blocks.

use std::sync::Arc;

use exec::BatchSource;
use kernels::{Batch, Column, VectorBuilder};
use sql::catalog::{Arguments, TableFunctionRef};
use storage::SegmentInfo;
use types::{DataType, Error, Result, SqlState, Value};

use crate::Database;
use crate::database::WeakDatabase;
use crate::registry::{OpenedFile, SourceFunction, TableFunction};

/// Rows made at bind time.
struct Rows(Vec<Batch>);

impl BatchSource for Rows {
    fn orders(&self) -> usize {
        self.0.len()
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let batch = &self.0[order];
        let picked = columns.iter().map(|&c| batch.columns[c].clone()).collect();
        push(Batch::new(picked, batch.rows)).map(|_| ())
    }
}

/// A table function over `rows` of these columns.
pub(crate) fn rows_function(
    name: &str,
    columns: &[(&str, DataType)],
    rows: &[Vec<Value>],
) -> TableFunctionRef {
    let column = |(i, (_, ty)): (usize, &(&str, DataType))| {
        let mut builder = VectorBuilder::new(ty.physical());
        rows.iter().for_each(|row| builder.push_value(&row[i]));
        Column::plain(builder.finish())
    };
    let vectors = columns.iter().enumerate().map(column).collect();
    let batches = if rows.is_empty() { vec![] } else { vec![Batch::new(vectors, rows.len())] };
    let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
    let count = Some(rows.len() as u64);
    let file = OpenedFile { columns, rows: count, source: Arc::new(Rows(batches)) };
    SourceFunction::bound(format!("{name}()"), file)
}

fn no_arguments(name: &str, arguments: &Arguments) -> Result<()> {
    if arguments.positional.is_empty() && arguments.named.is_empty() {
        return Ok(());
    }
    let message = format!("function {name} takes no arguments");
    Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
}

fn bigint(value: u64) -> Value {
    Value::I64(i64::try_from(value).unwrap_or(i64::MAX))
}

/// `tessera_memory()`: bytes by category, the limit and the peak.
struct Memory(WeakDatabase);

impl TableFunction for Memory {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_memory", arguments)?;
        let database = self.0.upgrade()?;
        let pool = database.pool();
        let mut rows: Vec<Vec<Value>> = pool
            .usage()
            .into_iter()
            .map(|(category, bytes)| vec![Value::text(category.name()), bigint(bytes)])
            .collect();
        rows.push(vec![Value::text("total"), bigint(pool.total())]);
        rows.push(vec![Value::text("peak"), bigint(pool.peak())]);
        rows.push(vec![Value::text("limit"), bigint(pool.limit())]);
        let columns = [("category", DataType::Text), ("bytes", DataType::BigInt)];
        Ok(rows_function("tessera_memory", &columns, &rows))
    }
}

/// `tessera_check()`: what is wrong with indexes; for a database that nobody writes meanwhile.
struct Check(WeakDatabase);

impl TableFunction for Check {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_check", arguments)?;
        let report = self.0.upgrade()?.check_indexes();
        let rows: Vec<_> = report.indexes.iter().map(|text| vec![Value::text(text)]).collect();
        Ok(rows_function("tessera_check", &[("problem", DataType::Text)], &rows))
    }
}

/// `tessera_tables()`: rows, bytes and blocks of each table.
struct Tables(WeakDatabase);

impl TableFunction for Tables {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_tables", arguments)?;
        let database = self.0.upgrade()?;
        let mut rows = Vec::new();
        for info in database.relations().iter().filter(|i| i.kind == "table") {
            let table = database.table(&info.name)?;
            let storage = table.storage();
            rows.push(vec![
                Value::text(&info.name),
                Value::text(storage.layout().name()),
                bigint(info.rows),
                bigint(storage.block_infos().len() as u64),
                bigint(info.bytes),
            ]);
        }
        let columns = [
            ("table_name", DataType::Text),
            ("layout", DataType::Text),
            ("rows", DataType::BigInt),
            ("blocks", DataType::BigInt),
            ("bytes", DataType::BigInt),
        ];
        Ok(rows_function("tessera_tables", &columns, &rows))
    }
}

/// `tessera_blocks()`: every block of every table with the scheme of each column.
struct Blocks(WeakDatabase);

impl TableFunction for Blocks {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_blocks", arguments)?;
        let database = self.0.upgrade()?;
        let mut rows = Vec::new();
        for info in database.relations().iter().filter(|i| i.kind == "table") {
            let table = database.table(&info.name)?;
            for block in table.storage().block_infos() {
                let scheme = |s: &SegmentInfo| format!("{} {}", s.scheme.name(), s.width);
                let schemes: Vec<String> = block.segments.iter().map(scheme).collect();
                rows.push(vec![
                    Value::text(&info.name),
                    bigint(block.id),
                    Value::text(block.layout.name()),
                    bigint(block.rows as u64),
                    bigint(block.bytes),
                    Value::text(&schemes.join(", ")),
                ]);
            }
        }
        let columns = [
            ("table_name", DataType::Text),
            ("block", DataType::BigInt),
            ("layout", DataType::Text),
            ("rows", DataType::BigInt),
            ("bytes", DataType::BigInt),
            ("schemes", DataType::Text),
        ];
        Ok(rows_function("tessera_blocks", &columns, &rows))
    }
}

/// Registers the functions of this module.
pub(crate) fn register(database: &Database) {
    let registry = database.registry();
    registry.add_function("tessera_memory", Arc::new(Memory(database.downgrade())));
    registry.add_function("tessera_check", Arc::new(Check(database.downgrade())));
    registry.add_function("tessera_tables", Arc::new(Tables(database.downgrade())));
    registry.add_function("tessera_blocks", Arc::new(Blocks(database.downgrade())));
}
