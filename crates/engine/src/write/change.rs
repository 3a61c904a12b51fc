//! UPDATE and DELETE.

mod parts;

use std::collections::HashSet;
use std::sync::Arc;

use catalog::TableEntry;
use catalog::generated::Assigned;
use catalog::rows::Rows;
pub(crate) use parts::apply_parts;
use parts::{Parts, PartsChange};

use exec::{Recheck, ResultSet};
use kernels::{Batch, Column};
use sql::algebra::Query;
use sql::catalog::{TableMeta, TableRef, TriggerEvent};
use sql::statement::{Delete, Matches, Returning, RowPlace, RowTest, Update};
use storage::{Datum, LockStrength, Snapshot, Tid};
use types::{Error, Result, SqlState};

pub(crate) use super::action::{Action, Assign};
use super::partitioned::{Routes, Settled};
use super::returning::{Written, returning, there_before};
use super::rows::{Found, RowError, RowReader, attempt, columns_at};
use super::tests_of_rows::{self, Tests};
use super::triggers::{Before, RowTriggers, SourceRow, StatementEvent, StatementTriggers};
use super::writer::{Changed, ReadBack, TableWriter};
use super::{attached, instead};
use crate::session::compiled::OwnQuery;
use crate::statement::attached::AttachedRows;
use crate::statement::running::{Run, Running};
use crate::transaction::work::{lost_update, newest, recheck_snapshot, stale};
use crate::{QueryResult, Session};

/// All columns of the tables that an UPDATE writes, if triggers may change its rows: such rows are
/// written whole.
fn settled_columns(
    session: &Session,
    entries: &[&Arc<TableEntry>],
    action: Action<'_>,
) -> Result<Option<Vec<usize>>> {
    if !matches!(action, Action::Update(_)) || session.state().triggers.is_empty() {
        return Ok(None);
    }
    for entry in entries {
        let own = RowTriggers::of(session, entry, TriggerEvent::Update, action.asked())?;
        if own.is_some_and(|own| own.has_before()) {
            return Ok(Some(RowTriggers::all_columns(entry)));
        }
    }
    Ok(None)
}

/// Query that finds the rows.
struct Source<'a> {
    query: &'a Query,
    matches: Matches,
}

/// Readers of the rows as they were written.
#[derive(Clone, Copy, Default)]
struct Read<'a> {
    returning: Option<&'a Returning>,
    tests: &'a [RowTest],
}

/// A statement while it writes.
struct Change<'a> {
    entry: &'a Arc<TableEntry>,
    action: Action<'a>,
    /// The columns of an update.
    assigned: Assigned<'a>,
    returning: Option<&'a Returning>,
    /// Use of the rows after the change.
    kept: Kept,
    /// Rows done, where the source may repeat them.
    seen: Option<HashSet<Tid>>,
    /// Writer with the checks and indexes of the rows.
    writer: TableWriter<'a>,
    written: Written,
    /// The rows so far.
    changed: Vec<Changed>,
    /// Triggers of the rows, if there are some.
    triggers: Option<RowTriggers>,
    /// State of the triggers before a row.
    fired: Fired,
    maker: Maker,
    /// Ordinals of the columns that the target of the statement has, where that is another table.
    shown: Option<Vec<usize>>,
}

/// Source of a change of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Statement,
    /// An action of a foreign key.
    ForeignKey,
}

/// Snapshot in which a statement found its rows: without what it did itself.
fn found_at(running: &Running<'_>, at: Snapshot) -> Option<Snapshot> {
    running.view.map(|view| at.before(view.until))
}

/// State of the triggers before a row, when it is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fired {
    /// Fired, or there are none.
    Yes,
    NotYet,
}

/// Use of the rows after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// RETURNING or a test reads them.
    Yes,
    No,
}

pub(crate) fn update(running: &mut Running<'_>, update: &Update) -> Result<QueryResult> {
    if update.table.is_view() {
        return instead::update(running, update);
    }
    if let Some(rows) = AttachedRows::of(&update.table) {
        return attached::update(running, &rows, update);
    }
    running.session.work().check_writes(update.table.name(), "UPDATE")?;
    let mut target = Target::of(running, &update.table)?;
    let action = Action::update(&update.columns);
    let source = Source { query: &update.source, matches: update.matches };
    let returns = update.returning.as_ref();
    let tests = &update.tests;
    let read = Read { returning: returns, tests };
    let entry = Arc::clone(&target.entry);
    let events: [StatementEvent<'_>; 1] = [(TriggerEvent::Update, &update.columns)];
    target.triggers = StatementTriggers::begin(running, entry.name(), &events)?;
    let written = run(running, target, action, source, read)?;
    tests_of_rows::verify(running, &entry.def, Tests::all(tests), &written.batches)?;
    let tag = format!("UPDATE {}", written.count);
    returning(running, returns, written, tag)
}

pub(crate) fn delete(running: &mut Running<'_>, delete: &Delete) -> Result<QueryResult> {
    if delete.table.is_view() {
        return instead::delete(running, delete);
    }
    if let Some(rows) = AttachedRows::of(&delete.table) {
        return attached::delete(running, &rows, delete);
    }
    running.session.work().check_writes(delete.table.name(), "DELETE")?;
    let mut target = Target::of(running, &delete.table)?;
    let returns = delete.returning.as_ref();
    let source = Source { query: &delete.source, matches: delete.matches };
    let read = Read { returning: returns, tests: &[] };
    let name = target.entry.name().to_owned();
    target.triggers = StatementTriggers::begin(running, &name, &[(TriggerEvent::Delete, &[])])?;
    let written = run(running, target, Action::Delete, source, read)?;
    let tag = format!("DELETE {}", written.count);
    returning(running, returns, written, tag)
}

/// The table that a statement changes.
struct Target {
    entry: Arc<TableEntry>,
    /// Ways into partitions, if it has some or is one.
    routes: Option<Routes>,
    /// Its partitions, locked; itself without.
    entries: Vec<Arc<TableEntry>>,
    /// Triggers of the statement, which have begun.
    triggers: Option<StatementTriggers>,
}

impl Target {
    fn of(running: &mut Running<'_>, table: &TableRef) -> Result<Self> {
        let entry = running.session.write_table(table)?;
        let routes = Routes::of_table(running.session, table, &entry)?;
        let entries = match &routes {
            Some(routes) => routes.entries(running)?,
            None => Vec::new(),
        };
        Ok(Self { entry, routes, entries, triggers: None })
    }
}

fn run(
    running: &mut Running<'_>,
    target: Target,
    action: Action<'_>,
    source: Source<'_>,
    read: Read<'_>,
) -> Result<Written> {
    let Source { query: source, matches } = source;
    let Target { entry, routes, entries, triggers } = target;
    let written: Vec<&Arc<TableEntry>> = std::iter::once(&entry).chain(&entries).collect();
    let all = settled_columns(running.session, &written, action)?;
    let settled = if all.is_some() { Settled::ByTriggers } else { Settled::BySource };
    let owned = match &routes {
        Some(routes) => routes.own_actions(&entries, action, settled),
        None => Vec::new(),
    };
    let action = all.as_deref().map_or(action, |all| action.with_all(all));
    let mut change = match routes {
        Some(routes) => {
            let parts = Parts { entries: &entries, owned: &owned };
            AnyChange::Parts(PartsChange::new(routes, parts, action, matches, read))
        }
        None => AnyChange::One(Change::started(running, &entry, action, matches, read)?),
    };
    let mut at = running.session.work().txn.snapshot();
    let mut result = running.run_query(source, Run::of(OwnQuery::Source))?;
    loop {
        let conflicts = change.apply_all(running, at, &result)?;
        let mut tids = Vec::with_capacity(conflicts.len());
        for (entry, conflicts) in conflicts {
            let (again, locked) = settle(running, &entry, conflicts)?;
            at = again;
            tids.push((entry.storage().id(), locked));
        }
        if tids.iter().all(|(_, tids)| tids.is_empty()) {
            break;
        }
        let recheck = Some(Recheck { at, tids });
        result = running.run_query(source, Run { recheck, ..Run::of(OwnQuery::Source) })?;
    }
    // Before the actions of foreign keys, whose triggers fire behind.
    triggers.into_iter().for_each(|triggers| triggers.end(running));
    change.finish(running)
}

/// Change of one table, or of partitions.
enum AnyChange<'a> {
    One(Change<'a>),
    Parts(PartsChange<'a>),
}

/// Rows that others changed meanwhile, by table.
type Conflicts = Vec<(Arc<TableEntry>, Vec<Tid>)>;

impl AnyChange<'_> {
    /// Writes what the source found; the rows that others changed meanwhile.
    fn apply_all(
        &mut self,
        running: &mut Running<'_>,
        at: Snapshot,
        result: &ResultSet,
    ) -> Result<Conflicts> {
        let mut all = Conflicts::new();
        for batch in &result.batches {
            running.session.cancel_handle().check()?;
            match self {
                Self::One(change) => {
                    let mut conflicts = Vec::new();
                    change.apply(running, at, &Rows::new(batch), &mut conflicts)?;
                    note_conflicts(&mut all, change.entry, conflicts);
                }
                Self::Parts(change) => change.apply(running, at, batch, &mut all)?,
            }
        }
        Ok(all)
    }

    fn finish(self, running: &mut Running<'_>) -> Result<Written> {
        match self {
            Self::One(change) => change.finish(running),
            Self::Parts(change) => change.finish(running),
        }
    }
}

/// Adds rows of a table.
fn note_conflicts(all: &mut Conflicts, entry: &Arc<TableEntry>, conflicts: Vec<Tid>) {
    if conflicts.is_empty() {
        return;
    }
    match all.iter_mut().find(|(known, _)| Arc::ptr_eq(known, entry)) {
        Some((_, tids)) => tids.extend(conflicts),
        None => all.push((Arc::clone(entry), conflicts)),
    }
}

/// Locks rows that changed under the statement, as they are now; those that are gone are left
/// out. What is seen of them, and the rows, ascending.
fn settle(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    conflicts: Vec<Tid>,
) -> Result<(Snapshot, Vec<Tid>)> {
    let cancel = running.session.cancel_handle();
    let mut tids = Vec::with_capacity(conflicts.len());
    for mut tid in conflicts {
        loop {
            let work = running.session.work_mut();
            let at = recheck_snapshot(work).ok_or_else(lost_update)?;
            match attempt(work, &cancel, |undo| {
                entry.storage().lock(undo, at, tid, LockStrength::NoKeyUpdate)
            }) {
                Ok(()) => {
                    tids.push(tid);
                    break;
                }
                Err(RowError::Conflict(Some(next))) => tid = next,
                Err(RowError::Conflict(None)) => {
                    // Changed again since `at`, or gone.
                    let now = newest(work);
                    let mut row = storage::RowBuffer::new();
                    if !entry.storage().read(now, tid, &[], &mut row)? {
                        break;
                    }
                    cancel.check()?;
                }
                Err(error) => return Err(error.into_error(work, entry)),
            }
        }
    }
    tids.sort_unstable_by_key(|tid| tid.0);
    tids.dedup();
    let at = recheck_snapshot(running.session.work()).ok_or_else(lost_update)?;
    Ok((at, tids))
}

impl<'a> Change<'a> {
    fn new(
        session: &Session,
        entry: &'a Arc<TableEntry>,
        action: Action<'a>,
        matches: Matches,
        read: Read<'a>,
    ) -> Result<Self> {
        let Read { returning, tests } = read;
        let is_read = returning.is_some() || !tests.is_empty();
        let kept = if is_read { Kept::Yes } else { Kept::No };
        let columns = if let Action::Update(assign) = action { assign.columns } else { &[] };
        let assigned = Assigned::new(entry, columns)?;
        let writer = match action {
            Action::Update(_) => TableWriter::updating(session, entry, assigned.all()),
            Action::Delete => TableWriter::deleting(session, entry),
        };
        let mut triggers = RowTriggers::of(session, entry, action.event(), action.asked())?;
        let is_wide = action.width() != action.asked_width();
        if is_wide && triggers.is_none() {
            triggers = Some(RowTriggers::new(session, entry, action.event(), action.asked())?);
        }
        let has_before = is_wide || triggers.as_ref().is_some_and(RowTriggers::has_before);
        let fired = if has_before { Fired::NotYet } else { Fired::Yes };
        Ok(Self {
            entry,
            action,
            assigned,
            returning,
            kept,
            seen: (matches == Matches::Repeated).then(HashSet::new),
            writer,
            written: Written::default(),
            changed: Vec::new(),
            triggers,
            fired,
            maker: Maker::Statement,
            shown: None,
        })
    }

    /// As [`Self::new`], of a statement, whose other parts may have changed rows.
    fn started(
        running: &Running<'_>,
        entry: &'a Arc<TableEntry>,
        action: Action<'a>,
        matches: Matches,
        read: Read<'a>,
    ) -> Result<Self> {
        let mut change = Self::new(running.session, entry, action, matches, read)?;
        if let Some(parts) = &running.parts {
            change.seen = Some(parts.changed(entry.storage().id()));
        }
        Ok(change)
    }

    /// Writes rows of the source, and says which; adds those that others changed meanwhile.
    fn apply(
        &mut self,
        running: &mut Running<'_>,
        at: Snapshot,
        rows: &Rows,
        conflicts: &mut Vec<Tid>,
    ) -> Result<Vec<u32>> {
        if self.fired == Fired::Yes {
            return self.write(running, at, rows, conflicts);
        }
        let mut written = Vec::new();
        for row in 0..rows.count {
            let place = |tid| self.entry.storage().place_now(tid);
            let is_done = |tid| {
                let seen = self.seen.as_ref();
                seen.is_some_and(|seen| seen.contains(&tid) || seen.contains(&place(tid)))
            };
            if rows.tid(row).is_none_or(is_done) {
                continue;
            }
            let Some(triggers) = &self.triggers else { break };
            let found = found_at(running, at).filter(|_| self.maker == Maker::Statement);
            let source = SourceRow { rows, row, at, found };
            match triggers.before_change(running, self.action, source)? {
                Before::Skip => {}
                Before::Conflict(tid) => conflicts.push(tid),
                Before::Write(batch) => {
                    let at = recheck_snapshot(running.session.work()).unwrap_or(at);
                    let done = self.write(running, at, &Rows::new(&batch), conflicts)?;
                    written.extend(done.iter().map(|_| row as u32));
                }
            }
        }
        Ok(written)
    }

    /// As [`Self::apply`], of rows whose triggers have fired.
    fn write(
        &mut self,
        running: &mut Running<'_>,
        at: Snapshot,
        rows: &Rows,
        conflicts: &mut Vec<Tid>,
    ) -> Result<Vec<u32>> {
        let storage = Arc::clone(self.entry.storage());
        let cancel = running.session.cancel_handle();
        let mut done = Done::default();
        let deletes = matches!(self.action, Action::Delete);
        let needs_rows = self.triggers.as_ref().is_some_and(RowTriggers::needs_rows);
        let returns = deletes && self.returning.is_some();
        let mut before =
            (self.writer.needs_before() || needs_rows || returns).then(|| RowReader::new(&storage));
        self.assigned.compute(self.entry, rows, |others| columns_at(&storage, at, rows, others))?;
        let mut values: Vec<(usize, Datum<'_>)> = Vec::new();
        let work = running.session.work_mut();
        for row in 0..rows.count {
            let Some(tid) = rows.tid(row) else { continue };
            if let Some(seen) = &mut self.seen {
                // Another part met the row where it is, this one found it where it was.
                let place = storage.place_now(tid);
                if !seen.insert(tid) || place != tid && seen.contains(&place) {
                    continue;
                }
            }
            let there = match &mut before {
                // If it is newer than `at`, the write below finds the conflict.
                Some(reader) => reader.read(newest(work), tid)?,
                None => Found::Row,
            };
            let outcome = match self.action {
                Action::Update(_) => {
                    self.assigned.values(rows, row, &mut values);
                    attempt(work, &cancel, |undo| storage.update(undo, at, tid, &values))
                }
                Action::Delete => {
                    attempt(work, &cancel, |undo| storage.delete(undo, at, tid)).map(|()| tid)
                }
            };
            match outcome {
                Ok(now) => {
                    if let (Some(reader), Found::Row) = (&mut before, there) {
                        reader.keep();
                    }
                    done.rows.push(row as u32);
                    done.tids.push(now);
                }
                Err(RowError::Conflict(moved_to)) if recheck_snapshot(work).is_some() => {
                    if let Some(seen) = &mut self.seen {
                        seen.remove(&tid);
                    }
                    conflicts.push(moved_to.unwrap_or(tid));
                }
                Err(error) => return Err(error.into_error(work, self.entry)),
            }
        }
        let before = before.map(RowReader::finish);
        let written = done.rows.clone();
        self.note(running, rows, done, before)?;
        Ok(written)
    }

    /// Keeps what RETURNING and foreign keys need, and tests CHECK constraints.
    fn note(
        &mut self,
        running: &mut Running<'_>,
        rows: &Rows,
        done: Done,
        before: Option<Vec<Column>>,
    ) -> Result<()> {
        self.written.count += done.rows.len() as u64;
        let count = done.rows.len();
        let needs_rows = self.triggers.as_ref().is_some_and(RowTriggers::needs_rows);
        let mut after = None;
        match self.action {
            Action::Delete if self.returning.is_some() => {
                let columns = before.clone().unwrap_or_default();
                self.keep(columns, rows, &done);
            }
            Action::Delete => {}
            Action::Update(_) => {
                let is_read = self.kept == Kept::Yes || needs_rows;
                let read = if is_read { ReadBack::Yes } else { ReadBack::No };
                let batch = self.writer.updated(running.session, &done.tids, read)?;
                if needs_rows {
                    after.clone_from(&batch);
                }
                if let (Some(batch), Kept::Yes) = (batch, self.kept) {
                    self.keep(batch.columns, rows, &done);
                }
            }
        }
        let before = before.map(|columns| Batch::new(columns, count));
        if let Some(triggers) = &self.triggers {
            triggers.note(running, before.clone(), after);
        }
        self.changed.push(Changed { before, tids: done.tids, elsewhere: None });
        Ok(())
    }

    fn keep(&mut self, mut columns: Vec<Column>, rows: &Rows, done: &Done) {
        if let Some(shown) = &self.shown {
            columns = shown.iter().map(|ordinal| columns[*ordinal].clone()).collect();
        }
        columns.extend(rows.pick(self.action.width()..rows.width(), &done.rows));
        self.written.batches.push(Batch::new(columns, done.rows.len()));
        if self.returning.is_some_and(|returning| returning.place == RowPlace::Last) {
            let tids = done.tids.clone();
            let is_delete = matches!(self.action, Action::Delete);
            self.written.tids.push(if is_delete { there_before(tids) } else { tids });
        }
    }

    /// Finishes the rows when all are written: checks, foreign keys, wide tables.
    fn finish(mut self, running: &mut Running<'_>) -> Result<Written> {
        if let (Some(parts), Some(seen)) = (&mut running.parts, self.seen.take()) {
            let now = self.changed.iter().flat_map(|change| &change.tids).copied();
            parts.note(self.entry.storage().id(), seen.into_iter().chain(now));
        }
        self.writer.changed(running, self.changed)?;
        Ok(self.written)
    }
}

/// Rows of a batch that were written, and their TIDs now.
#[derive(Default)]
struct Done {
    rows: Vec<u32>,
    tids: Vec<Tid>,
}

/// An action, and the tests of the rows behind it.
#[derive(Clone, Copy)]
pub(crate) struct Tested<'a> {
    pub(crate) action: Action<'a>,
    pub(crate) tests: Tests<'a>,
}

impl<'a> From<Action<'a>> for Tested<'a> {
    fn from(action: Action<'a>) -> Self {
        Self { action, tests: Tests::all(&[]) }
    }
}

/// Changes or deletes the rows of `batch` (TID, values) as part of a MERGE; how many.
///
/// # Errors
/// 40001 when another transaction changed one of them after the snapshot.
pub(crate) fn apply_rows(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    Tested { action, tests }: Tested<'_>,
    batch: &Batch,
) -> Result<u64> {
    let read = Read { returning: None, tests: tests.tests };
    let at = running.session.work().txn.snapshot();
    let all = settled_columns(running.session, &[entry], action)?;
    let action = all.as_deref().map_or(action, |all| action.with_all(all));
    let mut change = Change::started(running, entry, action, Matches::Once, read)?;
    let mut conflicts = Vec::new();
    change.apply(running, at, &Rows::new(batch), &mut conflicts)?;
    if !conflicts.is_empty() {
        // Only READ COMMITTED collects conflicts: the whole statement looks again.
        return Err(stale());
    }
    let written = change.finish(running)?;
    tests_of_rows::verify(running, &entry.def, tests, &written.batches)?;
    Ok(written.count)
}

/// Changes or deletes the rows `tids` for a foreign key's action, with all that follows.
pub(crate) fn cascade(
    running: &mut Running<'_>,
    entry: &Arc<TableEntry>,
    action: Action<'_>,
    batch: &Batch,
) -> Result<()> {
    if let Action::Update(Assign { columns, .. }) = action
        && Routes::of(running.session, entry)?.is_some_and(|routes| routes.depends_on(columns))
    {
        let message = "actions of foreign keys cannot write the partition key of their table";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let triggers =
        StatementTriggers::begin(running, entry.name(), &[(action.event(), action.asked())])?;
    let work = running.session.work();
    let at = recheck_snapshot(work).unwrap_or_else(|| work.txn.snapshot());
    let all = settled_columns(running.session, &[entry], action)?;
    let action = all.as_deref().map_or(action, |all| action.with_all(all));
    let mut change = Change::new(running.session, entry, action, Matches::Once, Read::default())?;
    change.maker = Maker::ForeignKey;
    let mut conflicts = Vec::new();
    change.apply(running, at, &Rows::new(batch), &mut conflicts)?;
    if !conflicts.is_empty() {
        return Err(lost_update());
    }
    triggers.into_iter().for_each(|triggers| triggers.end(running));
    change.finish(running)?;
    Ok(())
}
