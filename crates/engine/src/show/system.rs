//! Table functions about the database itself: memory, blocks, definitions, sessions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use catalog::{Sequence, TableDef};
use exec::BatchSource;
use kernels::{Batch, Column, VectorBuilder};
use sql::catalog::{Arguments, ColumnDef, IndexColumn, IndexMeta, TableFunctionRef, Uniqueness};
use storage::{BlockLayout, SegmentInfo, TxnId};
use types::{DataType, Error, Result, SqlState, Value};

use crate::Database;
use crate::instance::database::WeakDatabase;
use crate::instance::info::SessionInfo;
use crate::instance::registry::{OpenedFile, SourceFunction, TableFunction};

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

/// A table function over `rows` of these columns, which are there when it is bound.
pub fn rows_function(
    name: &str,
    columns: &[(&str, DataType)],
    rows: &[Vec<Value>],
) -> TableFunctionRef {
    counted_function(name, columns, rows, rows.len() as u64)
}

/// [`rows_function`], of which the planner takes so many rows for granted.
pub(crate) fn counted_function(
    name: &str,
    columns: &[(&str, DataType)],
    rows: &[Vec<Value>],
    count: u64,
) -> TableFunctionRef {
    SourceFunction::bound(format!("{name}()"), file_of(columns, rows, count))
}

/// The rows of a transition table, whose columns are those of a table.
pub(crate) fn transition(
    name: &str,
    columns: &[ColumnDef],
    rows: &[Vec<Value>],
) -> TableFunctionRef {
    let collations = columns.iter().map(|column| column.collation).collect();
    let columns: Vec<(&str, DataType)> =
        columns.iter().map(|column| (column.name.as_str(), column.ty)).collect();
    let file = file_of(&columns, rows, rows.len() as u64);
    SourceFunction::collated(format!("{name}()"), file, collations)
}

/// Rows as a file has them; the planner takes `count` of them for granted.
fn file_of(columns: &[(&str, DataType)], rows: &[Vec<Value>], count: u64) -> OpenedFile {
    let column = |(i, (_, ty)): (usize, &(&str, DataType))| {
        let mut builder = VectorBuilder::new(ty.physical());
        rows.iter().for_each(|row| builder.push_value(&row[i]));
        Column::plain(builder.finish())
    };
    let vectors = columns.iter().enumerate().map(column).collect();
    let batches = if rows.is_empty() { vec![] } else { vec![Batch::new(vectors, rows.len())] };
    let columns = columns.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect();
    OpenedFile { columns, rows: Some(count), source: Arc::new(Rows(batches)) }
}

/// Makes sure that a table function was called without arguments.
///
/// # Errors
/// 42883.
pub fn no_arguments(name: &str, arguments: &Arguments) -> Result<()> {
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

/// `tessera_pool()`: what of the memory in use could be taken back, and how often it was.
struct Pool(WeakDatabase);

impl TableFunction for Pool {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_pool", arguments)?;
        let database = self.0.upgrade()?;
        let pool = database.pool();
        let counts = pool.evictions();
        let row = vec![
            pool.eviction_policy().map_or(Value::Null, Value::text),
            bigint(pool.limit()),
            bigint(pool.total()),
            bigint(pool.cached()),
            bigint(counts.loads),
            bigint(counts.evictions),
        ];
        let columns = [
            ("policy", DataType::Text),
            ("limit_bytes", DataType::BigInt),
            ("total_bytes", DataType::BigInt),
            ("cached_bytes", DataType::BigInt),
            ("loads", DataType::BigInt),
            ("evictions", DataType::BigInt),
        ];
        Ok(rows_function("tessera_pool", &columns, &[row]))
    }
}

/// `tessera_check()`: what is wrong with indexes. Of tables that others write it tells less.
struct Check(WeakDatabase);

impl TableFunction for Check {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_check", arguments)?;
        let report = self.0.upgrade()?.check_beside_others()?;
        let rows: Vec<_> = report.problems.iter().map(|text| vec![Value::text(text)]).collect();
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
                    bigint(block.live_rows as u64),
                    bigint(block.version_bytes),
                    Value::text(if block.is_resident { "resident" } else { "evicted" }),
                    bigint(block.changes),
                    bigint(block.changed.0),
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
            ("live_rows", DataType::BigInt),
            ("version_bytes", DataType::BigInt),
            ("residence", DataType::Text),
            ("changes", DataType::BigInt),
            ("changed", DataType::BigInt),
        ];
        Ok(rows_function("tessera_blocks", &columns, &rows))
    }
}

/// `tessera_temperatures()`: how much of each table is hot, and how much frozen.
struct Temperatures(WeakDatabase);

/// Blocks of one temperature.
#[derive(Default)]
struct Share {
    blocks: u64,
    rows: u64,
    bytes: u64,
}

impl TableFunction for Temperatures {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_temperatures", arguments)?;
        let database = self.0.upgrade()?;
        let mut rows = Vec::new();
        for info in database.relations().iter().filter(|i| i.kind == "table") {
            let (mut hot, mut frozen) = (Share::default(), Share::default());
            for block in database.table(&info.name)?.storage().block_infos() {
                let is_frozen = block.layout == BlockLayout::Frozen;
                let share = if is_frozen { &mut frozen } else { &mut hot };
                share.blocks += 1;
                share.rows += block.rows as u64;
                share.bytes += block.bytes;
            }
            let counts = [hot, frozen].map(|s| [s.blocks, s.rows, s.bytes]).concat();
            let counts = counts.into_iter().map(bigint);
            rows.push(std::iter::once(Value::text(&info.name)).chain(counts).collect());
        }
        let columns = [
            ("table_name", DataType::Text),
            ("hot_blocks", DataType::BigInt),
            ("hot_rows", DataType::BigInt),
            ("hot_bytes", DataType::BigInt),
            ("frozen_blocks", DataType::BigInt),
            ("frozen_rows", DataType::BigInt),
            ("frozen_bytes", DataType::BigInt),
        ];
        Ok(rows_function("tessera_temperatures", &columns, &rows))
    }
}

/// `tessera_wide_tables()`: what each wide table is made of, and whether its rows are read.
struct WideTables(WeakDatabase);

impl TableFunction for WideTables {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_wide_tables", arguments)?;
        let database = self.0.upgrade()?;
        let state = database.inner().stores.relations.snapshot();
        let mut rows = Vec::new();
        for entry in state.tables.values() {
            let Some(def) = &entry.def.wide else { continue };
            let names: Vec<&str> = def.nodes.iter().map(|node| node.table.as_str()).collect();
            rows.push(vec![
                Value::text(&entry.def.name),
                Value::text(&names.join(", ")),
                Value::Bool(!entry.freshness.has_ended()),
            ]);
        }
        let columns = [
            ("table_name", DataType::Text),
            ("made_of", DataType::Text),
            ("holds", DataType::Boolean),
        ];
        Ok(rows_function("tessera_wide_tables", &columns, &rows))
    }
}

/// Names of the columns with these ordinals, as `a, b`.
fn column_list(def: &TableDef, ordinals: impl Iterator<Item = usize>) -> Value {
    let names: Vec<&str> = ordinals.map(|o| def.columns[o].name.as_str()).collect();
    Value::text(&names.join(", "))
}

/// Names of the columns of an index, and its expressions.
fn index_columns(def: &TableDef, meta: &IndexMeta) -> Value {
    let text = |column: &IndexColumn| match column.expression() {
        Some(number) => meta.terms.expressions[number].definition(),
        None => def.columns[column.ordinal].name.clone(),
    };
    Value::text(&meta.columns.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// `tessera_indexes()`: every index of every table, those of constraints included.
struct Indexes(WeakDatabase);

impl TableFunction for Indexes {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_indexes", arguments)?;
        let database = self.0.upgrade()?;
        let mut rows = Vec::new();
        for table in database.inner().stores.relations.snapshot().tables.values() {
            let built = table.built();
            for (position, meta) in table.def.all_indexes().enumerate() {
                let index = built.indexes.get(position);
                let of_blocks = position.checked_sub(table.def.indexes.len());
                let of_blocks = of_blocks.and_then(|at| built.of_blocks.get(at));
                let of_blocks = of_blocks.map(|&id| table.storage().sub_block_info(id));
                let count = |number: Option<u64>| number.map_or(Value::Null, bigint);
                rows.push(vec![
                    Value::text(&table.def.name),
                    Value::text(&meta.name),
                    index_columns(&table.def, meta),
                    Value::Bool(meta.unique != Uniqueness::No),
                    Value::text(meta.kind.method()),
                    count(index.map(|i| i.len()).or(of_blocks.map(|info| info.entries))),
                    count(index.map(|i| i.bytes()).or(of_blocks.map(|info| info.bytes))),
                ]);
            }
        }
        let columns = [
            ("table_name", DataType::Text),
            ("index_name", DataType::Text),
            ("columns", DataType::Text),
            ("is_unique", DataType::Boolean),
            ("method", DataType::Text),
            ("entries", DataType::BigInt),
            ("bytes", DataType::BigInt),
        ];
        Ok(rows_function("tessera_indexes", &columns, &rows))
    }
}

/// `tessera_constraints()`: every constraint of every table, NOT NULL apart.
struct Constraints(WeakDatabase);

impl TableFunction for Constraints {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_constraints", arguments)?;
        let database = self.0.upgrade()?;
        let state = database.inner().stores.relations.snapshot();
        let mut rows = Vec::new();
        for table in state.tables.values() {
            let def = &table.def;
            let mut add = |name: &str, kind: &str, columns: Value, refers_to: Value| {
                let texts = [def.name.as_str(), name, kind].map(Value::text);
                rows.push(texts.into_iter().chain([columns, refers_to]).collect());
            };
            for key in &def.keys {
                let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
                let columns = column_list(def, key.columns.iter().copied());
                add(&key.name, kind, columns, Value::Null);
            }
            for check in &def.checks {
                add(&check.name, "CHECK", Value::text(&check.sql), Value::Null);
            }
            for key in &def.foreign_keys {
                let columns = column_list(def, key.columns.iter().copied());
                let other = &key.table.name;
                add(&key.name, "FOREIGN KEY", columns, Value::text(other));
            }
        }
        let columns = [
            ("table_name", DataType::Text),
            ("constraint_name", DataType::Text),
            ("constraint_type", DataType::Text),
            ("definition", DataType::Text),
            ("refers_to", DataType::Text),
        ];
        Ok(rows_function("tessera_constraints", &columns, &rows))
    }
}

/// `tessera_sequences()`: every sequence and where it stands.
struct Sequences(WeakDatabase);

impl TableFunction for Sequences {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_sequences", arguments)?;
        let database = self.0.upgrade()?;
        let state = database.inner().stores.relations.snapshot();
        let row = |sequence: &Arc<Sequence>| {
            let value = *sequence.value.lock();
            let owner = sequence.owner.as_ref();
            vec![
                Value::text(&sequence.name),
                Value::text(&sequence.def.ty.to_string()),
                Value::I64(sequence.def.start),
                Value::I64(sequence.def.increment),
                Value::I64(sequence.def.min),
                Value::I64(sequence.def.max),
                if value.called { Value::I64(value.last) } else { Value::Null },
                owner.map_or(Value::Null, |(t, c)| Value::text(&format!("{t}.{c}"))),
            ]
        };
        let rows: Vec<Vec<Value>> = state.sequences.values().map(row).collect();
        let columns = [
            ("sequence_name", DataType::Text),
            ("data_type", DataType::Text),
            ("start_value", DataType::BigInt),
            ("increment_by", DataType::BigInt),
            ("min_value", DataType::BigInt),
            ("max_value", DataType::BigInt),
            ("last_value", DataType::BigInt),
            ("owned_by", DataType::Text),
        ];
        Ok(rows_function("tessera_sequences", &columns, &rows))
    }
}

/// `tessera_sessions()`: what each session does; `snapshot` is the timestamp that its
/// transaction reads at.
struct Sessions(WeakDatabase);

impl TableFunction for Sessions {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments("tessera_sessions", arguments)?;
        let database = self.0.upgrade()?;
        let running = database.inner().stores.transactions.running();
        let row = |(id, info): (u64, Arc<SessionInfo>)| {
            let txn = TxnId(info.txn.load(Ordering::Relaxed));
            let found = running.iter().find(|(running, ..)| *running == txn && txn != TxnId::NONE);
            let state = match found {
                Some((_, _, Some(_))) => "waiting",
                _ if info.listening.load(Ordering::Acquire) => "waiting",
                _ if info.active.load(Ordering::Relaxed) => "active",
                _ => "idle",
            };
            let snapshot = found.map_or(Value::Null, |(_, ts, _)| bigint(ts.0));
            vec![bigint(id), Value::text(state), snapshot]
        };
        let rows: Vec<Vec<Value>> = database.sessions().into_iter().map(row).collect();
        let columns = [
            ("session_id", DataType::BigInt),
            ("state", DataType::Text),
            ("snapshot", DataType::BigInt),
        ];
        Ok(rows_function("tessera_sessions", &columns, &rows))
    }
}

/// Registers the functions of this module.
pub(crate) fn register(database: &Database) {
    let registry = database.registry();
    registry.add_function("tessera_memory", Arc::new(Memory(database.downgrade())));
    registry.add_function("tessera_check", Arc::new(Check(database.downgrade())));
    registry.add_function("tessera_tables", Arc::new(Tables(database.downgrade())));
    registry.add_function("tessera_temperatures", Arc::new(Temperatures(database.downgrade())));
    registry.add_function("tessera_wide_tables", Arc::new(WideTables(database.downgrade())));
    registry.add_function("tessera_pool", Arc::new(Pool(database.downgrade())));
    registry.add_function("tessera_blocks", Arc::new(Blocks(database.downgrade())));
    registry.add_function("tessera_indexes", Arc::new(Indexes(database.downgrade())));
    registry.add_function("tessera_constraints", Arc::new(Constraints(database.downgrade())));
    registry.add_function("tessera_sequences", Arc::new(Sequences(database.downgrade())));
    registry.add_function("tessera_sessions", Arc::new(Sessions(database.downgrade())));
}
