//! Interleaved transactions against a naive model: every open snapshot, that of a statement within
//! a transaction, too, is compared by scan, by point reads and by unpacking random rows after every
//! step, and the end state by image, replay and index.

mod batches;
mod compare;
mod evicting;
mod finding;
mod freezing;
mod moving;
mod redo;
mod restoring;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use kernels::{Vector, VectorBuilder};
use proptest::prelude::*;
use testkit::Random;
use types::{CompareOp, DataType, Interval, Value};

use compare::check;
use redo::Redo;

use super::*;
use crate::manager::{Manager, Txn};
use crate::positions::Positions;
use crate::{
    BlockPaths, ChangeKind, ColumnSpec, Datum, Derivation, EvictionPolicy, INDEX_EXPRESSION,
    IndexColumn, IndexKind, IndexSpec, KeyBuffer, LockStrength, Lru, Lru2, Membership,
    RandomEviction, Restriction, RestrictionKind, ScanPlan, SubBlockKind, TID_COLUMN, Timestamp,
    UndoMark, Uniqueness, WeaveForm, WriteError, batch_of,
};

const TYPES: [DataType; 8] = [
    DataType::BigInt,
    DataType::Integer,
    DataType::BigInt,
    DataType::Text,
    DataType::numeric(38, 0),
    DataType::Boolean,
    DataType::Double,
    DataType::INTERVAL,
];
/// The column with the unique index, and one with another.
const KEY: usize = 1;
const OTHER: usize = 3;

type Row = Vec<Value>;
/// By what the model calls the row.
type State = BTreeMap<u64, (Tid, Row)>;

struct Running {
    txn: Txn,
    /// Rows that its snapshot saw at first.
    base: State,
    /// The versions it wrote, newest last; None: deleted.
    wrote: BTreeMap<u64, Vec<Option<(Tid, Row)>>>,
    /// How it has rows that it locked, changed or deleted.
    locked: Locked,
    saved: Vec<(UndoMark, Box<Wrote>)>,
    /// State when its statement began, and what was written before.
    statement: Option<(Snapshot, UndoMark, State)>,
    redo_from: Vec<Redo>,
}

type Locked = BTreeMap<u64, BTreeSet<LockStrength>>;
type Wrote = (BTreeMap<u64, Vec<Option<(Tid, Row)>>>, Locked);

impl Running {
    fn begin_statement(&mut self) {
        let until = self.txn.undo.begin_statement().expect("few");
        let at = self.txn.at.before(until);
        self.statement = Some((at, self.txn.undo.mark(), self.sees()));
    }

    /// How it has the row.
    fn has(&self, id: u64) -> BTreeSet<LockStrength> {
        let mut all = self.locked.get(&id).cloned().unwrap_or_default();
        if all.last().is_none_or(|last| last.is_shared()) && self.wrote.contains_key(&id) {
            all.insert(LockStrength::Update);
        }
        all
    }

    fn note(&mut self, id: u64, strength: LockStrength) {
        self.locked.entry(id).or_default().insert(strength);
    }

    fn sees(&self) -> State {
        let mut state = self.base.clone();
        for (id, versions) in &self.wrote {
            match versions.last().expect("never empty") {
                Some(row) => drop(state.insert(*id, row.clone())),
                None => drop(state.remove(id)),
            }
        }
        state
    }
}

struct Model {
    random: Random,
    table: Arc<Table>,
    manager: Manager,
    running: Vec<Running>,
    committed: State,
    /// When a row was last changed by a commit.
    changed: BTreeMap<u64, u64>,
    /// Snapshots of plain readers and what they see.
    held: Vec<(Snapshot, Arc<TableSnapshot>, State)>,
    log: Vec<Redo>,
    start: Vec<(u64, Vec<u64>, Vec<u8>)>,
    /// Images of the same blocks, taken in parts while transactions go on.
    images: Vec<BlockImage>,
    copies: Vec<(u64, BlockCopy)>,
    ids: u64,
    /// Blocks frozen in place.
    frozen: usize,
    /// Where rows went that moved.
    moved: BTreeMap<Tid, Tid>,
    /// Moves of rows.
    moves: usize,
    /// Decides what is looked for, so that steps do not depend on it.
    finder: Random,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Wait(u64),
    Conflict,
    Duplicate,
}

fn outcome<T>(result: Result<T, WriteError>) -> (Outcome, Option<T>) {
    match result {
        Ok(value) => (Outcome::Done, Some(value)),
        Err(WriteError::Wait(txn)) => (Outcome::Wait(txn.0), None),
        Err(WriteError::Conflict { .. }) => (Outcome::Conflict, None),
        Err(WriteError::Duplicate { index, .. }) => {
            assert_eq!(index, 0, "the unique one");
            (Outcome::Duplicate, None)
        }
        Err(error @ (WriteError::Null { .. } | WriteError::Failed(_))) => panic!("{error:?}"),
    }
}

fn datums(row: &[Value]) -> Vec<Datum<'_>> {
    row.iter().map(Datum::from).collect()
}

fn same(a: &[Value], b: &[Value]) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

impl Model {
    fn new(seed: u64, layout: Layout) -> Self {
        let mut random = Random::new(seed);
        let policies: [Box<dyn EvictionPolicy>; 3] =
            [Box::new(Lru2), Box::new(Lru), Box::new(RandomEviction::new(seed))];
        let policy = policies.into_iter().nth(random.below(3) as usize).expect("there are three");
        let pool = BufferPool::evicting(1 << 30, policy);
        let specs = TYPES.iter().enumerate();
        let specs = specs.map(|(i, &ty)| ColumnSpec { not_null: i == 0, ..spec(i, ty) });
        let table = Table::new(TableId(7), "t", specs.collect::<Vec<_>>().into(), layout, pool);
        let mut model = Self {
            table,
            manager: Manager::default(),
            running: Vec::new(),
            committed: State::new(),
            changed: BTreeMap::new(),
            held: Vec::new(),
            log: Vec::new(),
            start: Vec::new(),
            images: Vec::new(),
            copies: Vec::new(),
            ids: 0,
            frozen: 0,
            moved: BTreeMap::new(),
            moves: 0,
            finder: Random::new(seed),
            random: Random::new(random.bits()),
        };
        model.load(random.below(60) as usize);
        model.load(random.below(3) as usize);
        for (id, column, unique) in [(1, KEY, Uniqueness::Distinct), (2, OTHER, Uniqueness::No)] {
            let spec = IndexSpec {
                id: IndexId(id),
                name: format!("i{id}"),
                columns: vec![IndexColumn::new(column), IndexColumn::new(0)],
                unique,
                kind: if random.chance(50) { IndexKind::Ordered } else { IndexKind::Hash },
            };
            let columns = if unique == Uniqueness::No { 2 } else { 1 };
            let spec = IndexSpec { columns: spec.columns[..columns].to_vec(), ..spec };
            let index = TableIndex::new(spec, model.table.schema(), model.table.pool());
            model
                .table
                .add_index(index.expect("fits"), 2, TxnId::NONE)
                .expect("keys are different");
        }
        model.add_derived(if random.chance(50) { IndexKind::Ordered } else { IndexKind::Hash });
        for (id, column, kind) in [
            (3, 2, SubBlockKind::Csb),
            (4, 2, SubBlockKind::BitWeaving(WeaveForm::Vertical)),
            (5, OTHER, SubBlockKind::BitWeaving(WeaveForm::Horizontal)),
            (6, OTHER, SubBlockKind::Csb),
        ] {
            if random.chance(50) {
                let spec = SubBlockSpec { id: IndexId(id), name: format!("i{id}"), column, kind };
                model.table.add_sub_blocks(spec, 1).expect("fits");
            }
        }
        for image in model.table.blocks_at(Snapshot::ALL) {
            let dead = image.dead();
            let bytes = image.write(&dead).expect("fits");
            model.start.push((image.id(), dead, bytes));
            model.images.push(image);
        }
        model
    }

    fn load(&mut self, rows: usize) {
        let mut builders: Vec<VectorBuilder> =
            TYPES.iter().map(|ty| VectorBuilder::new(ty.physical())).collect();
        let mut loaded = Vec::new();
        for _ in 0..rows {
            let mut row = self.row();
            // Keys of loaded rows are different.
            if !row[KEY].is_null() {
                row[KEY] = Value::I32(100 + self.ids as i32);
            }
            builders.iter_mut().zip(&row).for_each(|(b, v)| b.push_value(v));
            loaded.push((self.ids - 1, row));
        }
        let vectors: Vec<Vector> = builders.into_iter().map(VectorBuilder::finish).collect();
        let next = self.table.next_block();
        let mut writer = self.table.bulk_writer();
        writer.push(&batch_of(vectors)).expect("fits");
        writer.finish().expect("fits");
        for (i, (id, row)) in loaded.into_iter().enumerate() {
            self.committed.insert(id, (Tid::new(next, i as u32), row));
        }
    }

    /// An index over an expression, of some rows only.
    fn add_derived(&self, kind: IndexKind) {
        let spec = IndexSpec {
            id: IndexId(7),
            name: "i7".to_owned(),
            columns: vec![IndexColumn::new(INDEX_EXPRESSION), IndexColumn::new(0)],
            unique: Uniqueness::No,
            kind,
        };
        let index = index_of(&self.table, spec);
        self.table.add_index(index, 2, TxnId::NONE).expect("not unique");
    }

    fn value(&mut self, column: usize) -> Value {
        let random = &mut self.random;
        if column != 0 && random.chance(15) {
            return Value::Null;
        }
        let n = random.below(1000) as i64;
        match column {
            KEY => Value::I32((n % 12) as i32),
            2 => Value::I64(n - 500),
            OTHER if n % 3 == 0 => Value::text(&format!("a text of some length about {n}")),
            OTHER => Value::text(&format!("{}", n % 20)),
            4 => Value::I128(i128::from(n) << 70),
            5 => Value::Bool(n % 2 == 0),
            6 => Value::F64(n as f64 / 8.0),
            _ => Value::Interval(Interval { months: n as i32, days: 1, micros: n << 33 }),
        }
    }

    fn row(&mut self) -> Row {
        self.ids += 1;
        let id = Value::I64(self.ids as i64 - 1);
        std::iter::once(id).chain((1..TYPES.len()).map(|c| self.value(c))).collect()
    }

    /// Outcomes that writing the key of `row` may have.
    fn key_outcomes(&self, t: usize, id: u64, key: &Value) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        if key.is_null() {
            return vec![Outcome::Done];
        }
        for (u, other) in self.running.iter().enumerate().filter(|(u, _)| *u != t) {
            for (row, versions) in &other.wrote {
                let before = self.committed.get(row).map(|r| &r.1[KEY]);
                let mut keys = versions.iter().flatten().map(|r| &r.1[KEY]).chain(before);
                if *row != id && keys.any(|k| k == key) {
                    outcomes.push(Outcome::Wait(self.running[u].txn.undo.txn().0));
                }
            }
        }
        let busy = |row: &u64| {
            let others = self.running.iter().enumerate().filter(|(u, _)| *u != t);
            others.into_iter().any(|(_, o)| o.wrote.contains_key(row))
        };
        let own = &self.running[t].wrote;
        let mut newest: BTreeMap<u64, &Row> =
            self.committed.iter().map(|(id, row)| (*id, &row.1)).collect();
        for (row, versions) in own {
            match versions.last().expect("never empty") {
                Some((_, values)) => drop(newest.insert(*row, values)),
                None => drop(newest.remove(row)),
            }
        }
        if newest.iter().any(|(row, values)| *row != id && values[KEY] == *key && !busy(row)) {
            outcomes.push(Outcome::Duplicate);
        }
        if outcomes.is_empty() {
            outcomes.push(Outcome::Done);
        }
        outcomes
    }

    /// Outcomes that locking the row so may have, or writing it, apart from its key.
    fn row_outcomes(&self, t: usize, id: u64, tid: Tid, wanted: LockStrength) -> Vec<Outcome> {
        let ts = self.running[t].txn.at.base().0;
        let own = self.running[t].wrote.contains_key(&id);
        let late = !own && self.changed.get(&id).is_some_and(|&changed| changed > ts);
        // A lock of somebody else is on the place where the row is now.
        if late && self.committed.get(&id).is_none_or(|row| row.0 != self.now(tid)) {
            return vec![Outcome::Conflict];
        }
        // Those who have it alone come before commits, those who share it behind.
        let waits = |is_shared: bool| -> Vec<Outcome> {
            let others = self.running.iter().enumerate().filter(|(u, _)| *u != t);
            let is_it =
                |held: &LockStrength| held.is_shared() == is_shared && held.excludes(wanted);
            let others = others.filter(|(_, other)| other.has(id).iter().any(is_it));
            others.map(|(_, other)| Outcome::Wait(other.txn.undo.txn().0)).collect()
        };
        let alone = waits(false);
        let shared = waits(true);
        match (alone.is_empty(), late, shared.is_empty()) {
            (false, ..) => alone,
            (true, true, _) => vec![Outcome::Conflict],
            (true, false, false) => shared,
            (true, false, true) => vec![Outcome::Done],
        }
    }

    fn insert(&mut self, t: usize) {
        let row = self.row();
        let id = self.ids - 1;
        let allowed = self.key_outcomes(t, id, &row[KEY]);
        let undo = &mut self.running[t].txn.undo;
        let (found, tid) = outcome(self.table.insert(undo, &datums(&row)));
        assert!(allowed.contains(&found), "{found:?}, not {allowed:?}");
        if let Some(tid) = tid {
            self.running[t].wrote.entry(id).or_default().push(Some((tid, row)));
        }
    }

    fn insert_batch(&mut self, t: usize) {
        let count = 1 + self.random.below(4) as usize * 30;
        let mut rows: Vec<Row> = (0..count).map(|_| self.row()).collect();
        rows.iter_mut().for_each(|row| row[KEY] = Value::Null);
        let mut builders: Vec<VectorBuilder> =
            TYPES.iter().map(|ty| VectorBuilder::new(ty.physical())).collect();
        for row in &rows {
            builders.iter_mut().zip(row).for_each(|(b, v)| b.push_value(v));
        }
        let batch = batch_of(builders.into_iter().map(VectorBuilder::finish).collect());
        let mut tids = Vec::new();
        let undo = &mut self.running[t].txn.undo;
        self.table.insert_batch(undo, &batch, &mut tids).expect("no keys");
        assert_eq!(tids.len(), count);
        for (tid, row) in tids.into_iter().zip(rows) {
            let Value::I64(id) = row[0] else { panic!("an id") };
            self.running[t].wrote.entry(id as u64).or_default().push(Some((tid, row)));
        }
    }

    fn pick(&mut self, t: usize) -> Option<(u64, Tid, Row)> {
        let state = self.running[t].sees();
        // Few rows, so that transactions meet.
        let few = (state.len() as u64).min(if self.random.chance(70) { 6 } else { u64::MAX });
        let i = self.random.below(few.max(1)) as usize;
        state.into_iter().nth(i).map(|(id, (tid, row))| (id, tid, row))
    }

    fn update(&mut self, t: usize) {
        let Some((id, tid, mut row)) = self.pick(t) else { return };
        let mut columns: Vec<usize> = (1..TYPES.len()).collect();
        let keep = if self.random.chance(60) { KEY } else { 0 };
        columns.retain(|&c| c != keep && self.random.chance(40));
        let changes: Vec<(usize, Value)> =
            columns.into_iter().map(|c| (c, self.value(c))).collect();
        let key = changes.iter().find(|change| change.0 == KEY);
        let strength = match key {
            Some((_, new)) if row[KEY] != *new => LockStrength::Update,
            _ => LockStrength::NoKeyUpdate,
        };
        changes.iter().for_each(|(c, v)| row[*c] = v.clone());
        let mut allowed = self.row_outcomes(t, id, tid, strength);
        let weaker = self.row_outcomes(t, id, tid, LockStrength::NoKeyUpdate);
        if weaker[0] == Outcome::Done && changes.iter().any(|c| c.0 == KEY) {
            // Who shares the row is met before or behind its key.
            let keys = self.key_outcomes(t, id, &row[KEY]);
            if allowed[0] == Outcome::Done {
                allowed = keys;
            } else {
                allowed.extend(keys.into_iter().filter(|outcome| *outcome != Outcome::Done));
            }
        }
        let Running { txn, .. } = &mut self.running[t];
        let data: Vec<(usize, Datum<'_>)> =
            changes.iter().map(|(c, v)| (*c, Datum::from(v))).collect();
        let result = self.table.update(&mut txn.undo, txn.at, tid, &data);
        let (found, tid) = outcome(result);
        assert!(allowed.contains(&found), "row {id}: {found:?}, not {allowed:?}");
        if let Some(tid) = tid {
            self.running[t].wrote.entry(id).or_default().push(Some((tid, row)));
            self.running[t].note(id, strength);
        }
    }

    fn delete(&mut self, t: usize) {
        let Some((id, tid, _)) = self.pick(t) else { return };
        let allowed = self.row_outcomes(t, id, tid, LockStrength::Update);
        let txn = &mut self.running[t].txn;
        let (found, done) = outcome(self.table.delete(&mut txn.undo, txn.at, tid));
        assert!(allowed.contains(&found), "row {id}: {found:?}, not {allowed:?}");
        if done.is_some() {
            self.running[t].note(id, LockStrength::Update);
            self.running[t].wrote.entry(id).or_default().push(None);
        }
    }

    fn lock(&mut self, t: usize) {
        let Some((id, tid, _)) = self.pick(t) else { return };
        use LockStrength as L;
        let strength = [L::KeyShare, L::Share, L::NoKeyUpdate, L::Update];
        let strength = strength[self.random.below(4) as usize];
        let allowed = self.row_outcomes(t, id, tid, strength);
        let txn = &mut self.running[t].txn;
        let (found, done) = outcome(self.table.lock(&mut txn.undo, txn.at, tid, strength));
        assert!(allowed.contains(&found), "row {id}: {strength:?} {found:?}, not {allowed:?}");
        if done.is_some() {
            self.running[t].note(id, strength);
        }
    }

    fn begin(&mut self) {
        let (txn, base) = (self.manager.begin(), self.committed.clone());
        let (wrote, locked, saved, statement, redo_from) = Default::default();
        self.running.push(Running { txn, base, wrote, locked, saved, statement, redo_from });
    }

    fn commit(&mut self, t: usize) {
        let mut running = self.running.swap_remove(t);
        for change in running.txn.undo.changes() {
            let mut buffer = RowBuffer::new();
            let mut after = |c: usize| change.after(c, &mut buffer).to_value();
            let tid = change.tid;
            match change.kind {
                ChangeKind::Insert => {
                    let row = (0..TYPES.len()).map(&mut after).collect();
                    running.redo_from.push(Redo::Insert(tid, row));
                }
                ChangeKind::Update => {
                    let columns = change.columns().map(|c| (c, after(c))).collect();
                    running.redo_from.push(Redo::Update(tid, columns));
                }
                ChangeKind::Delete => running.redo_from.push(Redo::Delete(tid)),
                ChangeKind::Block => {
                    let bytes = change.block_bytes().expect("fits");
                    running.redo_from.push(Redo::Block(tid.block(), bytes));
                }
                ChangeKind::Target | ChangeKind::Source => panic!("not a move"),
                ChangeKind::Lock | ChangeKind::Void => {}
            }
        }
        self.log.append(&mut running.redo_from);
        self.committed = {
            let mut state = std::mem::take(&mut self.committed);
            for (id, versions) in &running.wrote {
                match versions.last().expect("never empty") {
                    Some(row) => drop(state.insert(*id, row.clone())),
                    None => drop(state.remove(id)),
                }
            }
            state
        };
        let wrote: Vec<u64> = running.wrote.into_keys().collect();
        let ts = self.manager.commit(running.txn);
        self.changed.extend(wrote.into_iter().map(|id| (id, ts.0)));
    }

    fn step(&mut self) {
        if self.running.is_empty() || self.running.len() < 4 && self.random.chance(15) {
            return self.begin();
        }
        if self.random.chance(5) {
            self.copy_part();
        }
        match self.random.below(33) {
            0 => self.freeze(),
            1 => self.move_rows(),
            _ => {}
        }
        if self.random.chance(8) {
            self.evict();
        }
        let t = self.random.below(self.running.len() as u64) as usize;
        self.find(t);
        match self.random.below(100) {
            0..12 => self.insert(t),
            12..15 => self.insert_batch(t),
            15..46 => self.update(t),
            46..54 => self.delete(t),
            54..66 => self.lock(t),
            66..74 => {
                let running = &mut self.running[t];
                let wrote = Box::new((running.wrote.clone(), running.locked.clone()));
                running.saved.push((running.txn.undo.mark(), wrote));
            }
            74..80 => {
                let running = &mut self.running[t];
                if let Some((mark, wrote)) = running.saved.pop() {
                    running.txn.undo.rollback_to(mark);
                    running.statement.take_if(|(_, before, _)| mark < *before);
                    (running.wrote, running.locked) = *wrote;
                }
            }
            80..86 => self.commit(t),
            86..89 => {
                let running = self.running.swap_remove(t);
                self.manager.abort(running.txn);
            }
            89..92 => self.running[t].begin_statement(),
            92..94 => {
                let at = self.manager.enter(TxnId::NONE);
                self.held.push((at, self.table.snapshot(at), self.committed.clone()));
            }
            94..96 if !self.held.is_empty() => {
                let i = self.random.below(self.held.len() as u64) as usize;
                let (at, ..) = self.held.swap_remove(i);
                self.manager.leave(at);
            }
            _ => self.collect(),
        }
    }

    fn collect(&mut self) {
        let random = &mut self.random;
        self.manager.collect(|buffers| {
            for i in (1..buffers.len()).rev() {
                buffers.swap(i, random.below(i as u64 + 1) as usize);
            }
        });
    }

    fn check(&mut self) {
        for t in 0..self.running.len() {
            let (at, state) = (self.running[t].txn.at, self.running[t].sees());
            let snapshot = self.table.snapshot(at);
            check(&mut self.random, &self.table, &snapshot, &state);
            if let Some((at, _, state)) = &self.running[t].statement {
                let snapshot = self.table.snapshot(*at);
                check(&mut self.random, &self.table, &snapshot, state);
            }
        }
        for i in 0..self.held.len() {
            let (_, snapshot, state) = &self.held[i];
            check(&mut self.random, &self.table, snapshot, state);
        }
    }

    /// Ends everything and compares what is left.
    fn finish(mut self) {
        while let Some(t) = self.running.len().checked_sub(1) {
            if self.random.chance(50) {
                self.commit(t);
            } else {
                let running = self.running.swap_remove(t);
                self.manager.abort(running.txn);
            }
        }
        self.held.drain(..).for_each(|(at, ..)| self.manager.leave(at));
        self.collect();
        let all = self.table.snapshot(self.manager.now());
        check(&mut self.random, &self.table, &all, &self.committed);
        assert_eq!(self.table.live_rows() as usize, self.committed.len());
        for index in self.table.indexes().iter() {
            let entries = (index.len() as usize, index.spec().name.as_str());
            let has = |row: &&(Tid, Row)| index.derivation().is_none() || is_inside(&row.1);
            let wanted = self.committed.values().filter(has).count();
            assert_eq!(entries.0, wanted, "entries of {}", entries.1);
            index.check().expect("sound");
        }
        for block in self.table.blocks.lock().all.iter() {
            block.versions.assert_quiet(block.rows());
            let closed = block.hot.as_ref().is_none_or(|hot| hot.is_closed());
            assert!(!closed || block.dead() < block.rows(), "dead blocks are dropped");
        }
        self.check_images();
        self.check_replay();
    }

    /// Begins a copy, or goes on with one; false when all are whole.
    fn copy_part(&mut self) -> bool {
        if let Some(image) = self.images.pop() {
            let copy = image.copy(self.manager.now().base()).expect("fits");
            self.copies.insert(0, (image.id(), copy));
        }
        let open = self.copies.iter_mut().filter(|(_, copy)| !copy.is_whole());
        let mut open: Vec<&mut BlockCopy> = open.map(|(_, copy)| copy).collect();
        if open.is_empty() {
            return false;
        }
        let i = self.random.below(open.len() as u64) as usize;
        open[i].next(self.manager.now()).expect("fits");
        true
    }
}

/// An empty index of `table`, over the remainder where `spec` has an expression.
fn index_of(table: &Table, spec: IndexSpec) -> TableIndex {
    let is_derived = spec.columns.iter().any(|column| column.expression().is_some());
    let specs = vec![ColumnSpec::new("remainder", DataType::BigInt)];
    let remainder: Arc<dyn Derivation> = Arc::new(Remainder { specs });
    let derivation = is_derived.then_some(remainder);
    TableIndex::derived(spec, table.schema(), table.pool(), derivation).expect("fits")
}

fn spec(i: usize, ty: DataType) -> ColumnSpec {
    ColumnSpec::new(format!("c{i}"), ty)
}

/// Column 2 modulo 7, of rows whose column 5 is true.
struct Remainder {
    specs: Vec<ColumnSpec>,
}

fn is_inside(row: &Row) -> bool {
    row[5] == Value::Bool(true)
}

impl Derivation for Remainder {
    fn reads(&self) -> &[usize] {
        &[5, 2]
    }

    fn expressions(&self) -> &[ColumnSpec] {
        &self.specs
    }

    fn definition(&self) -> Option<String> {
        Some("column 2 modulo 7, where column 5".to_owned())
    }

    fn derive(&self, row: &[Datum<'_>], out: &mut RowBuffer) -> Result<Membership> {
        out.clear();
        out.push(match row[1] {
            Datum::I64(value) => Datum::I64(value % 7),
            _ => Datum::Null,
        });
        let inside = row[0] == Datum::Bool(true);
        Ok(if inside { Membership::Inside } else { Membership::Outside })
    }
}

const LAYOUTS: [Layout; 4] = [Layout::Row, Layout::Column, Layout::Auto, Layout::Frozen];

/// Returns how many blocks were frozen in place, and how often rows moved.
fn run(seed: u64, layout: Layout, steps: usize, check_every: usize) -> (usize, usize) {
    let mut model = Model::new(seed, layout);
    for i in 0..steps {
        model.step();
        if i % check_every == 0 {
            model.check();
        }
    }
    let done = (model.frozen, model.moves);
    model.finish();
    done
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        // A seed has no smaller one.
        max_shrink_iters: 0,
        ..ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 })
    })]

    #[test]
    fn interleaved_transactions_equal_the_model(seed: u64, layout in 0usize..4) {
        run(seed, LAYOUTS[layout], if cfg!(miri) { 40 } else { 200 }, 1);
    }
}

/// A target of moved rows that would be frozen while an older snapshot sees them where they were:
/// who has that snapshot writes them.
#[test]
#[cfg_attr(miri, ignore)]
fn moved_rows_are_not_frozen_before_their_origin_is_forgotten() {
    run(17_723_874_937_911_877_253, Layout::Row, 200, 1);
}

#[test]
#[cfg_attr(miri, ignore)]
fn longer_histories_equal_the_model() {
    // Few of the blocks of hot tables are ever without versions.
    let histories = |layout: Layout| match layout {
        Layout::Row | Layout::Column => 3,
        Layout::Auto | Layout::Frozen => 1,
    };
    for (i, layout) in LAYOUTS.into_iter().enumerate() {
        let (mut frozen, mut moves) = (0, 0);
        for history in 0..histories(layout) {
            let seed = (i + LAYOUTS.len() * history) as u64;
            let done = run(seed, layout, 3000 / histories(layout), 50);
            (frozen, moves) = (frozen + done.0, moves + done.1);
        }
        assert!(frozen > 0 || layout == Layout::Frozen, "{layout:?}: no block was ever quiet");
        assert!(moves > 0, "{layout:?}: no rows ever moved");
    }
}
