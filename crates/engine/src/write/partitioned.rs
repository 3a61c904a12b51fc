//! Rows of partitioned tables: which partition has a row, and how statements write it there.
//!
//! ```text
//! batch -> keys of the target's tree -> leaf of each row -> a writer for each partition
//!      '-> keys of the tables above the target: does the row belong to it at all?
//! update whose row belongs elsewhere: deleted there, inserted here
//! ```
//! Invariant: every row of a partition is one that its bounds and those above let in. Rows on their
//! way have the columns in the target's order; where a partition has another one, they get it when
//! they are there ([`Routes::in_part`]).
//! Elsewhere: what is done for each row (`writer`, `change`, `conflict`), TIDs that say their
//! partition (`plan::partitions`).

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::checks::failing_row;
use catalog::partitions::{places, renumber};
use catalog::rows::Rows;
use exec::expr::Evaluator;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData};
use sql::algebra::family::Member;
use sql::algebra::partition::{Below, PartitionNode, PartitionTree, Scalar};
use sql::algebra::{ColumnId, Expr, ExprKind};
use sql::catalog::{IndexMeta, PARTITION_SHIFT, TableMeta, TableRef};
use sql::statement::ConflictTarget;
use storage::{Datum, Tid};
use types::{Error, Result, SqlState, text};

use super::action::{Action, OwnAction};
use super::returning::Written;
use super::rows::{attempt, push_error};
use super::triggers::RowTriggers;
use super::writer::TableWriter;
use crate::Session;
use crate::statement::running::Running;
use crate::transaction::work::stale;

/// Reads the keys of one partitioned table.
struct KeyReader(Vec<KeyColumn>);

enum KeyColumn {
    /// The column of this ordinal.
    Stored(usize),
    Computed(Evaluator),
}

/// Readers of a node and of those below it, by part.
struct Readers {
    own: KeyReader,
    below: Vec<Option<Readers>>,
}

/// A partitioned table above the target, and its part that the target is, or is below.
struct Above {
    tree: Arc<PartitionTree>,
    /// Its key over the columns of the target.
    keys: Vec<Expr>,
    reader: KeyReader,
    part: usize,
}

/// Ways of rows into the table that a statement writes and its partitions.
pub(crate) struct Routes {
    target: Arc<TableEntry>,
    tree: Option<(Arc<PartitionTree>, Readers)>,
    /// Its partitions; or the target and those that inherit from it, where the statement means them
    /// all. By number.
    members: Vec<Member>,
    /// The nearest first.
    above: Vec<Above>,
    /// Partitions that were written, locked, by number.
    entries: BTreeMap<usize, Arc<TableEntry>>,
}

impl KeyReader {
    fn new(keys: &[Expr]) -> Result<Self> {
        let column = |key: &Expr| {
            Ok(match key.kind {
                ExprKind::Column(id) => KeyColumn::Stored(id.0 as usize),
                _ => {
                    let position = |id: ColumnId| Some(id.0 as usize);
                    KeyColumn::Computed(Evaluator::new(&plan::lower_held(key, &position)?)?)
                }
            })
        };
        keys.iter().map(column).collect::<Result<_>>().map(Self)
    }

    fn read(&self, batch: &Batch) -> Result<Vec<Arc<Vector>>> {
        let read = |column: &KeyColumn| match column {
            KeyColumn::Stored(ordinal) => Ok(batch.columns[*ordinal].to_plain()),
            KeyColumn::Computed(evaluator) => Ok(evaluator.evaluate(batch)?.to_plain()),
        };
        self.0.iter().map(read).collect()
    }
}

impl Readers {
    fn new(node: &PartitionNode) -> Result<Self> {
        let below = node.parts.iter().map(|part| match &part.below {
            Below::Leaf(_) => Ok(None),
            Below::Node(node) => Self::new(node).map(Some),
        });
        let below = below.collect::<Result<_>>()?;
        Ok(Self { own: KeyReader::new(&node.keys)?, below })
    }
}

fn scalar(vector: &Vector, row: usize) -> Scalar<'_> {
    match Datum::of(vector, row) {
        Datum::Null => Scalar::Null,
        Datum::Bool(value) => Scalar::Bool(value),
        Datum::I32(value) => Scalar::Int(value.into()),
        Datum::I64(value) => Scalar::Int(value.into()),
        Datum::I128(value) => Scalar::Int(value),
        Datum::F64(value) => Scalar::Float(value),
        Datum::Str(bytes) => Scalar::Bytes(bytes),
        Datum::Interval(value) => Scalar::Interval(value),
    }
}

/// Puts the key of row `row` into `out`.
fn key_of<'k>(keys: &'k [Arc<Vector>], row: usize, out: &mut Vec<Scalar<'k>>) {
    out.clear();
    out.extend(keys.iter().map(|vector| scalar(vector, row)));
}

impl Routes {
    /// The ways into `entry`; None for a table that is neither partitioned nor a partition.
    pub(crate) fn of(session: &Session, entry: &Arc<TableEntry>) -> Result<Option<Self>> {
        Self::into(session, entry, entry.partitions().cloned())
    }

    /// As [`Self::of`], of a table that the statement may mean without its partitions.
    pub(crate) fn of_table(
        session: &Session,
        table: &TableRef,
        entry: &Arc<TableEntry>,
    ) -> Result<Option<Self>> {
        if table.family().is_none() {
            return Self::into(session, entry, table.partitions().and(entry.partitions()).cloned());
        }
        let members = table.members().unwrap_or_default();
        let (tree, above, entries) = (None, Vec::new(), BTreeMap::new());
        Ok(Some(Self { target: Arc::clone(entry), tree, members, above, entries }))
    }

    /// The action in each partition or table of the family; none without these.
    /// `Settled::ByTriggers` writes all columns.
    pub(super) fn own_actions(
        &self,
        entries: &[Arc<TableEntry>],
        action: Action<'_>,
        settled: Settled,
    ) -> Vec<OwnAction> {
        let own = |(leaf, entry): (usize, &Arc<TableEntry>)| {
            let all = (settled == Settled::ByTriggers).then(|| RowTriggers::all_columns(entry));
            OwnAction::new(action, |columns| self.ordinals(leaf, columns), all)
        };
        let entries = entries.iter().take(self.members.len());
        entries.enumerate().map(own).collect()
    }

    /// True when the rows that a statement finds say which table they are of.
    pub(crate) fn is_tagged(&self) -> bool {
        self.tree.is_some() || !self.members.is_empty()
    }

    /// Columns of the target as the table of this number has them.
    pub(super) fn ordinals(&self, leaf: usize, columns: &[usize]) -> Vec<usize> {
        self.members.get(leaf).map_or_else(|| columns.to_vec(), |member| member.ordinals(columns))
    }

    /// The ordinals in the table of this number of all columns of the target; None where they are
    /// its own.
    pub(crate) fn places(&self, leaf: usize) -> Option<Vec<usize>> {
        let member = self.members.get(leaf)?;
        let is_own = Some(self.target.def.columns.len()) == width_of(member);
        (!is_own).then(|| {
            let all: Vec<usize> = (0..self.target.def.columns.len()).collect();
            member.ordinals(&all)
        })
    }

    /// Rows of the target, all columns, as the partition of this number has them.
    pub(super) fn in_part(&self, leaf: usize, mut batch: Batch) -> Batch {
        let Some(places) = self.places(leaf) else { return batch };
        let columns = batch.columns.clone();
        for (column, place) in columns.into_iter().zip(places) {
            batch.columns[place] = column;
        }
        batch
    }

    /// Rows of the partition of this number, all columns, as the target has them.
    pub(super) fn in_target(&self, leaf: usize, batch: Batch) -> Batch {
        let Some(places) = self.places(leaf) else { return batch };
        let columns = places.into_iter().map(|place| batch.columns[place].clone()).collect();
        Batch { columns, ..batch }
    }

    fn into(
        session: &Session,
        entry: &Arc<TableEntry>,
        tree: Option<Arc<PartitionTree>>,
    ) -> Result<Option<Self>> {
        if tree.is_none() && entry.def.partition_of.is_none() {
            return Ok(None);
        }
        let tree = match tree {
            Some(tree) => {
                let readers = Readers::new(&tree.root)?;
                Some((tree, readers))
            }
            None => None,
        };
        let mut above = Vec::new();
        let (state, mut child) = (session.state(), Arc::clone(entry));
        while let Some(place) = &child.def.partition_of {
            let parent = state.tables.get(&place.parent).cloned().ok_or_else(stale)?;
            let tree = parent.partitions().cloned().ok_or_else(stale)?;
            let part = tree.root.parts.iter().position(|part| part.table == child.def.name);
            let part = part.ok_or_else(stale)?;
            let mut keys = tree.root.keys.clone();
            renumber(&mut keys, &places(&parent.def, &entry.def));
            above.push(Above { reader: KeyReader::new(&keys)?, keys, tree, part });
            child = parent;
        }
        let members = match &tree {
            Some((tree, _)) => tree.leaves.clone(),
            None => Vec::new(),
        };
        let entries = BTreeMap::new();
        Ok(Some(Self { target: Arc::clone(entry), tree, members, above, entries }))
    }

    /// True when another value of one of these columns may belong elsewhere.
    pub(crate) fn depends_on(&self, columns: &[usize]) -> bool {
        let reads = |keys: &[Expr]| {
            let mut reads = false;
            keys.iter().for_each(|key| {
                key.each_column(&mut |id| reads |= columns.contains(&(id.0 as usize)));
            });
            reads
        };
        fn any(node: &PartitionNode, reads: &dyn Fn(&[Expr]) -> bool) -> bool {
            let below = |part: &sql::algebra::partition::Part| match &part.below {
                Below::Leaf(_) => false,
                Below::Node(node) => any(node, reads),
            };
            reads(&node.keys) || node.parts.iter().any(below)
        }
        self.above.iter().any(|above| reads(&above.keys))
            || self.tree.as_ref().is_some_and(|(tree, _)| any(&tree.root, &reads))
    }

    /// Positions of those indexes of the partition `entry` that are parts of the indexes of the
    /// target that `meant` names.
    pub(super) fn indexes(&self, entry: &TableEntry, meant: &ConflictTarget) -> Result<Vec<usize>> {
        if self.tree.is_none() {
            return Ok(meant.indexes.clone());
        }
        let target = &self.target.def;
        let names: Vec<&str> =
            meant.indexes.iter().map(|at| target.indexes[*at].name.as_str()).collect();
        let is_meant = |index: &IndexMeta| {
            let of = self.index_above(entry, &index.name);
            of.is_some_and(|of| names.contains(&of.as_str()))
        };
        let positions = entry.def.indexes.iter().enumerate();
        Ok(positions.filter(|(_, index)| is_meant(index)).map(|(at, _)| at).collect())
    }

    /// The index of the target that an index of a partition is a part of.
    fn index_above(&self, entry: &TableEntry, index: &str) -> Option<String> {
        let (tree, _) = self.tree.as_ref()?;
        let mut place = entry.def.partition_of.as_ref()?;
        let mut name = index.to_owned();
        loop {
            let (above, _) = place.indexes.iter().find(|(_, own)| *own == name)?;
            name.clone_from(above);
            if place.parent == self.target.def.name {
                return Some(name);
            }
            let parent = tree.inner.iter().find(|table| table.name() == place.parent)?;
            place = parent.partition_of()?;
        }
    }

    /// The number of the partition of each row of `batch`, all columns; 0 where the target has
    /// none.
    ///
    /// # Errors
    /// 23514 for a row that no partition takes, or that is not one of the target.
    pub(crate) fn leaves(&self, batch: &Batch) -> Result<Vec<usize>> {
        for above in &self.above {
            let keys = above.reader.read(batch)?;
            let mut key = Vec::new();
            for row in 0..batch.rows {
                key_of(&keys, row, &mut key);
                if above.tree.root.part_of(&key) != Some(above.part) {
                    return Err(self.not_of_target(batch, row));
                }
            }
        }
        let mut leaves = vec![0; batch.rows];
        if let Some((tree, readers)) = &self.tree {
            let rows: Vec<u32> = (0..batch.rows as u32).collect();
            route(&tree.root, readers, Part { batch, rows: &rows }, &mut leaves)?;
        }
        Ok(leaves)
    }

    fn not_of_target(&self, batch: &Batch, row: usize) -> Error {
        let def = &self.target.def;
        let message =
            format!("new row for relation \"{}\" violates partition constraint", def.bare_name());
        Error::new(SqlState::CHECK_VIOLATION, message)
            .with_detail(failing_row(def, batch, row))
            .about_part(def.about_table())
    }

    /// All partitions or members of the family, locked for writing, by number; the target where it
    /// has none.
    pub(crate) fn entries(&self, running: &mut Running<'_>) -> Result<Vec<Arc<TableEntry>>> {
        if !self.is_tagged() {
            return Ok(vec![Arc::clone(&self.target)]);
        }
        let tables = self.members.iter();
        tables.map(|member| running.session.write_table(&member.table)).collect()
    }

    /// The partition of this number, locked for writing.
    pub(crate) fn entry(
        &mut self,
        running: &mut Running<'_>,
        leaf: usize,
    ) -> Result<Arc<TableEntry>> {
        if self.tree.is_none() {
            return Ok(Arc::clone(&self.target));
        }
        if let Some(entry) = self.entries.get(&leaf) {
            return Ok(Arc::clone(entry));
        }
        let member = self.members.get(leaf).ok_or_else(stale)?;
        let entry = running.session.write_table(&member.table)?;
        self.entries.insert(leaf, Arc::clone(&entry));
        Ok(entry)
    }
}

/// The number of columns of a member that has them in the places of the target; None of another.
fn width_of(member: &Member) -> Option<usize> {
    member.columns.is_none().then(|| member.table.columns().len())
}

/// Values of rows that a statement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Triggers may change any of them.
    ByTriggers,
    BySource,
}

/// Message about a row that a trigger sends to another partition.
const MOVED_BY_TRIGGER: &str = "moving row to another partition during a BEFORE FOR EACH ROW \
                                trigger is not supported";

impl Routes {
    /// Runs the triggers before a new row of partition `leaf`, as that has it, the only one of
    /// `batch` if there are some; None when it is skipped.
    ///
    /// # Errors
    /// Errors of the functions; 0A000 when the row belongs elsewhere then.
    pub(crate) fn before(
        &self,
        running: &mut Running<'_>,
        writer: &TableWriter<'_>,
        batch: Batch,
        leaf: usize,
    ) -> Result<Option<Batch>> {
        if !writer.has_before() {
            return Ok(Some(batch));
        }
        let Some(row) = writer.before(running, batch)? else { return Ok(None) };
        // A row that no partition takes is one that moved, too.
        let leaves = self.leaves(&self.in_target(leaf, row.clone()));
        let stays = leaves.is_ok_and(|leaves| leaves.iter().all(|now| *now == leaf));
        if !stays {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, MOVED_BY_TRIGGER));
        }
        Ok(Some(row))
    }
}

/// The same rows in batches of one.
pub(super) fn one_by_one(batches: &[Batch]) -> Vec<Batch> {
    let rows = batches.iter().flat_map(|batch| (0..batch.rows as u32).map(move |row| (batch, row)));
    rows.map(|(batch, row)| pick(batch, &[row])).collect()
}

/// Some rows of a batch.
#[derive(Clone, Copy)]
struct Part<'a> {
    batch: &'a Batch,
    rows: &'a [u32],
}

/// Finds the partitions of rows below `node`.
fn route(
    node: &PartitionNode,
    readers: &Readers,
    part: Part<'_>,
    leaves: &mut [usize],
) -> Result<()> {
    let Part { batch, rows } = part;
    // Expressions are asked about the rows that come here alone.
    let whole = rows.len() == batch.rows;
    let picked = (!whole).then(|| pick(batch, rows));
    let keys = readers.own.read(picked.as_ref().unwrap_or(batch))?;
    let mut below: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut key = Vec::new();
    for (at, &row) in rows.iter().enumerate() {
        key_of(&keys, at, &mut key);
        let Some(number) = node.part_of(&key) else {
            return Err(no_partition(node, &key));
        };
        match &node.parts[number].below {
            Below::Leaf(leaf) => leaves[row as usize] = *leaf,
            Below::Node(_) => below.entry(number).or_default().push(row),
        }
    }
    for (number, rows) in below {
        if let (Below::Node(node), Some(readers)) =
            (&node.parts[number].below, &readers.below[number])
        {
            route(node, readers, Part { batch, rows: &rows }, leaves)?;
        }
    }
    Ok(())
}

/// 23514 for a row that no partition takes.
fn no_partition(node: &PartitionNode, key: &[Scalar<'_>]) -> Error {
    let name = sql::statement::RelationName::name_of_key(&node.table);
    let message = format!("no partition of relation \"{name}\" found for row");
    let values = key.iter().zip(&node.keys).map(|(value, key)| match datum_of(*value) {
        Datum::Null => "null".to_owned(),
        datum => {
            let value = datum.widened(key.ty.physical()).unwrap_or(datum).to_value();
            text::format(&value, key.ty)
        }
    });
    let values: Vec<String> = values.collect();
    let detail = format!(
        "Partition key of the failing row contains ({}) = ({}).",
        node.key_names.join(", "),
        values.join(", ")
    );
    Error::new(SqlState::CHECK_VIOLATION, message).with_detail(detail)
}

fn datum_of(value: Scalar<'_>) -> Datum<'_> {
    match value {
        Scalar::Null => Datum::Null,
        Scalar::Bool(value) => Datum::Bool(value),
        Scalar::Int(value) => match (i32::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => Datum::I32(value),
            (_, Ok(value)) => Datum::I64(value),
            _ => Datum::I128(value),
        },
        Scalar::Float(value) => Datum::F64(value),
        Scalar::Bytes(bytes) => Datum::Str(bytes),
        Scalar::Interval(value) => Datum::Interval(value),
    }
}

/// These rows of a batch.
pub(super) fn pick(batch: &Batch, rows: &[u32]) -> Batch {
    let columns = batch.columns.iter().map(|column| column.gather(rows)).collect();
    Batch::new(columns, rows.len())
}

/// The rows of all `batches`, by their numbers in `order`.
pub(super) fn in_order(batches: &[Batch], order: &[u32]) -> Batch {
    let width = batches.iter().find(|batch| batch.rows > 0).map_or(0, |b| b.columns.len());
    let column = |column: usize| {
        let parts = batches.iter().filter(|batch| batch.rows > 0);
        let parts: Vec<Arc<Vector>> = parts.map(|b| b.columns[column].to_plain()).collect();
        let mut builder = VectorBuilder::with_capacity(parts[0].physical(), order.len());
        parts.iter().for_each(|part| builder.append(part, None));
        Column::plain(builder.finish()).gather(order)
    };
    Batch::new((0..width).map(column).collect(), order.len())
}

/// The rows of each number, in their order.
pub(super) fn grouped(numbers: &[usize]) -> BTreeMap<usize, Vec<u32>> {
    let mut groups: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (row, number) in numbers.iter().enumerate() {
        groups.entry(*number).or_default().push(row as u32);
    }
    groups
}

/// The TID of a row of partition `leaf`, as plans over the whole table have it.
pub(crate) fn tagged(leaf: usize, tid: Tid) -> Tid {
    Tid(tid.0 | (leaf as u64) << PARTITION_SHIFT)
}

/// The partition and the TID there of what [`tagged`] made.
pub(crate) fn untagged(tid: Tid) -> (usize, Tid) {
    let own = (1 << PARTITION_SHIFT) - 1;
    ((tid.0 >> PARTITION_SHIFT) as usize, Tid(tid.0 & own))
}

/// Inserts all rows of `batches`, each into its partition. What is given back has them in their
/// order.
///
/// # Errors
/// Errors of INSERT; 23514 for a row that is not one of the target.
pub(crate) fn insert(
    running: &mut Running<'_>,
    routes: &mut Routes,
    batches: Vec<Batch>,
) -> Result<Written> {
    let mut written = Written::default();
    let mut owed: Vec<(Arc<TableEntry>, Batch)> = Vec::new();
    let fires = running.session.state().has_row_triggers(&routes.target.def.name);
    let batches = if fires { one_by_one(&batches) } else { batches };
    for batch in batches {
        let groups = grouped(&routes.leaves(&batch)?);
        let is_whole = groups.len() == 1;
        let (mut parts, mut tids, mut order) = (Vec::new(), Vec::new(), vec![0; batch.rows]);
        for (leaf, rows) in groups {
            let entry = routes.entry(running, leaf)?;
            let part = if is_whole { batch.clone() } else { pick(&batch, &rows) };
            let part = routes.in_part(leaf, part);
            let writer = TableWriter::firing(running.session, &entry)?;
            let Some(mut part) = routes.before(running, &writer, part, leaf)? else { continue };
            writer.complete(&mut part, running.session.clocks())?;
            for (at, row) in rows.iter().enumerate() {
                order[*row as usize] = (tids.len() + at) as u32;
            }
            let stored = writer.store(running, &part)?;
            tids.extend(stored.into_iter().map(|tid| tagged(leaf, tid)));
            owed.push((entry, part.clone()));
            parts.push(routes.in_target(leaf, part));
        }
        written.count += tids.len() as u64;
        if parts.len() == 1 {
            written.batches.append(&mut parts);
            written.tids.push(tids);
        } else if !parts.is_empty() {
            written.tids.push(order.iter().map(|&at| tids[at as usize]).collect());
            written.batches.push(in_order(&parts, &order));
        }
    }
    for (entry, batch) in &owed {
        TableWriter::firing(running.session, entry)?.inserted(running, batch)?;
    }
    Ok(written)
}

/// Loads many rows into blocks of their own, each into its partition. How many.
///
/// # Errors
/// As [`insert`].
pub(crate) fn load(
    running: &mut Running<'_>,
    routes: &mut Routes,
    batches: Vec<Batch>,
) -> Result<u64> {
    let cancel = running.session.cancel_handle();
    let mut loads = BTreeMap::new();
    for batch in batches {
        cancel.check()?;
        for (leaf, rows) in grouped(&routes.leaves(&batch)?) {
            let entry = routes.entry(running, leaf)?;
            let part = if rows.len() == batch.rows { batch.clone() } else { pick(&batch, &rows) };
            let mut part = routes.in_part(leaf, part);
            TableWriter::inserting(&entry).complete(&mut part, running.session.clocks())?;
            let (_, writer) = loads.entry(leaf).or_insert_with(|| {
                let load = entry.storage().begin_load();
                let writer = entry.writer_of(&load);
                (load, writer)
            });
            writer.push(&part).map_err(|error| push_error(&entry, error))?;
        }
    }
    let mut count = 0;
    for (leaf, (load, writer)) in loads {
        writer.finish()?;
        let entry = routes.entry(running, leaf)?;
        let work = running.session.work_mut();
        count += attempt(work, &cancel, |undo| load.commit(undo))
            .map_err(|error| error.into_error(running.session.work(), &entry))?;
    }
    Ok(count)
}

/// The source rows of each partition, with TIDs as they are there.
pub(super) fn of_partitions(batch: &Batch) -> Vec<(usize, Batch)> {
    let rows = Rows::new(batch);
    let mut groups: BTreeMap<usize, (Vec<u32>, Vec<i64>)> = BTreeMap::new();
    for row in 0..rows.count {
        let Some(tid) = rows.tid(row) else { continue };
        let (leaf, tid) = untagged(tid);
        let (rows, tids) = groups.entry(leaf).or_default();
        rows.push(row as u32);
        tids.push(tid.0 as i64);
    }
    let part = |(leaf, (rows, tids)): (usize, (Vec<u32>, Vec<i64>))| {
        let mut part = pick(batch, &rows);
        part.columns[0] = Column::plain(Vector::new(VectorData::I64(tids)));
        (leaf, part)
    };
    groups.into_iter().map(part).collect()
}
