//! Activity of sessions: pg_stat_activity, and Tessera's own tables of queries and work orders.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catalog::locks::LockMode;
use catalog::predefined::READ_ALL_STATS;
use exec::context::PipelineProgress;
use sched::{Admitted, Pending, Suspension};
use sql::algebra::AdvisoryMode;
use storage::TxnId;
use types::Value;

use super::{Row, Subject, numbers};
use crate::instance::advisory::{Key, SeenLock};
use crate::instance::info::{Seen, SessionInfo};

/// Text that a role without rights sees in the place of a statement.
const HIDDEN: &str = "<insufficient privilege>";

/// True when the one who asks may know what a session of `seen` runs: those of roles whose rights
/// it has, as in PostgreSQL.
fn is_shown(subject: &Subject<'_>, seen: &Seen) -> bool {
    let who = subject.settings.who();
    if subject.state.acts_as(who, READ_ALL_STATS) {
        return true;
    }
    match &seen.user {
        Some(user) => subject.state.has_rights_of(who, user),
        None => subject.state.is_superuser(who),
    }
}

fn user(seen: &Seen) -> Value {
    seen.user.as_deref().map_or(Value::Null, Value::text)
}

/// pg_locks: locks of tables, and advisory ones.
pub(super) fn locks(subject: &Subject<'_>) -> Vec<Row> {
    let manager = &subject.database.inner().stores.transactions;
    let sessions = subject.database.sessions();
    let of: HashMap<u64, u64> =
        sessions.iter().map(|(number, info)| (info.txn.load(Ordering::Relaxed), *number)).collect();
    let inner = subject.database.inner();
    let prepared: HashMap<TxnId, u64> =
        inner.prepared.of(inner).into_iter().map(|(_, facts)| (facts.txn, facts.number)).collect();
    let mut rows = Vec::new();
    for (name, entry) in &subject.state.tables {
        for user in entry.lock.users(manager) {
            let relation = subject.state.relation_number(name);
            let pid = of.get(&user.txn.0).and_then(|number| i32::try_from(*number).ok());
            let row = Row::default()
                .text("locktype", "relation")
                .number("database", subject.database_number())
                .set("relation", relation.map_or(Value::Null, Value::I64))
                .set("pid", pid.map_or(Value::Null, Value::I32))
                .text("mode", mode_name(user.mode))
                .flag("granted", user.is_granted);
            rows.push(with_prepared(row, prepared.get(&user.txn).copied()));
        }
    }
    let database = subject.database_number();
    let seen = subject.database.inner().advisory.seen();
    rows.extend(seen.into_iter().map(|lock| advisory(lock).number("database", database)));
    rows
}

/// The virtual transaction of a prepared one, which has no session.
fn with_prepared(row: Row, number: Option<u64>) -> Row {
    match number {
        Some(number) => row.text("virtualtransaction", &format!("-1/{number}")),
        None => row,
    }
}

/// An advisory lock: the halves of its key, and how many numbers it was given by.
fn advisory(lock: SeenLock) -> Row {
    let (high, low, count) = match lock.key {
        Key::One(key) => ((key >> 32) as u32, key as u32, 1),
        Key::Two(first, second) => (first as u32, second as u32, 2),
    };
    let mode = match lock.mode {
        AdvisoryMode::Exclusive => LockMode::Exclusive,
        AdvisoryMode::Shared => LockMode::Share,
    };
    with_prepared(Row::default(), lock.prepared())
        .text("locktype", "advisory")
        .number("classid", i64::from(high))
        .number("objid", i64::from(low))
        .number("objsubid", count)
        .set("pid", i32::try_from(lock.session).map_or(Value::Null, Value::I32))
        .text("mode", mode_name(mode))
        .flag("granted", lock.is_granted)
}

fn mode_name(mode: LockMode) -> &'static str {
    match mode {
        LockMode::AccessShare => "AccessShareLock",
        LockMode::RowShare => "RowShareLock",
        LockMode::RowExclusive => "RowExclusiveLock",
        LockMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
        LockMode::Share => "ShareLock",
        LockMode::ShareRowExclusive => "ShareRowExclusiveLock",
        LockMode::Exclusive => "ExclusiveLock",
        LockMode::AccessExclusive => "AccessExclusiveLock",
    }
}

/// pg_stat_activity.
pub(super) fn sessions(subject: &Subject<'_>) -> Vec<Row> {
    let row = |(number, info): (u64, Arc<SessionInfo>)| {
        let seen = info.seen.lock().clone();
        let is_active = info.active.load(Ordering::Relaxed);
        let in_transaction = info.txn.load(Ordering::Relaxed) != 0;
        let state = match (is_active, in_transaction) {
            (true, _) => "active",
            (false, true) => "idle in transaction",
            (false, false) => "idle",
        };
        let role = seen.user.as_ref().map_or(Value::Null, |u| Value::I64(numbers::role(u)));
        let row = Row::default()
            .number("datid", subject.database_number())
            .text("datname", &subject.state.database.0)
            .set("pid", Value::I32(i32::try_from(number).unwrap_or(i32::MAX)))
            .set("usesysid", role)
            .set("usename", user(&seen))
            .text("application_name", &seen.application);
        if !is_shown(subject, &seen) {
            return row.text("query", HIDDEN);
        }
        let (query, start) = match &seen.query {
            Some((text, start)) => (Value::text(text), Value::I64(*start)),
            None => (Value::text(""), Value::Null),
        };
        let xid = info.txn.load(Ordering::Relaxed);
        let row = if in_transaction {
            row.number("backend_xid", i64::from(xid as u32)).set("xact_start", start.clone())
        } else {
            row
        };
        let row = if is_active {
            row
        } else {
            row.text("wait_event_type", "Client").text("wait_event", "ClientRead")
        };
        row.text("state", state)
            .set("backend_start", Value::I64(info.began_micros))
            .set("state_change", start.clone())
            .set("query", query)
            .set("query_start", start)
            .text("backend_type", "client backend")
    };
    subject.database.sessions().into_iter().map(row).collect()
}

/// Memory that a session's queries ask for, and whether one of them waits for it.
#[derive(Default)]
struct Asked {
    bytes: u64,
    granted: u64,
    /// When the one that waits asked.
    since_micros: Option<i64>,
}

/// Requests of queries with or without a grant, by session.
fn asked(subject: &Subject<'_>) -> HashMap<u64, Asked> {
    let mut all: HashMap<u64, Asked> = HashMap::new();
    for Admitted { ask, granted } in subject.database.inner().admission.list() {
        let asked = all.entry(ask.owner).or_default();
        asked.bytes += ask.bytes;
        asked.granted += granted.unwrap_or(0);
        if granted.is_none() {
            asked.since_micros = Some(ask.since_micros);
        }
    }
    all
}

/// `tessera_queries`: the statements that run, with the work orders done and known of each, and the
/// memory that it asked for and got.
pub(super) fn queries(subject: &Subject<'_>) -> Vec<Row> {
    let now = subject.database.inner().clock.micros();
    let asked = asked(subject);
    let row = |(number, info): (u64, Arc<SessionInfo>)| {
        let seen = info.seen.lock().clone();
        let row = Row::default()
            .number("session_id", i64::try_from(number).unwrap_or(i64::MAX))
            .set("usename", user(&seen))
            .text("application_name", &seen.application);
        if !is_shown(subject, &seen) {
            return row.text("query", HIDDEN).set("elapsed_ms", Value::Null);
        }
        let (done, known) = info.progress.get().unwrap_or_default();
        let row = row
            .number("orders_done", i64::try_from(done).unwrap_or(i64::MAX))
            .number("orders_known", i64::try_from(known).unwrap_or(i64::MAX));
        let row = with_state(row, asked.get(&number), &info.suspension);
        match &seen.query {
            Some((text, start)) => row
                .text("query", text)
                .set("query_start", Value::I64(*start))
                .number("elapsed_ms", (now - start).max(0) / 1000),
            None => row.set("elapsed_ms", Value::Null),
        }
    };
    let sessions = subject.database.sessions().into_iter();
    sessions.filter(|(_, info)| info.active.load(Ordering::Relaxed)).map(row).collect()
}

/// The state of a running statement, and the memory that it asked for.
fn with_state(row: Row, asked: Option<&Asked>, suspension: &Suspension) -> Row {
    let since = asked.and_then(|asked| asked.since_micros);
    let state = match since {
        Some(_) => "waiting",
        None if suspension.is_on() => "suspended",
        None => "running",
    };
    let row = row.text("state", state).set("waiting_since", since.map_or(Value::Null, Value::I64));
    match asked {
        Some(asked) => row
            .number("bytes_asked", count(asked.bytes))
            .number("bytes_granted", count(asked.granted)),
        None => row,
    }
}

/// `tessera_work_orders`: the runs of work orders that workers share, one for each pipeline.
pub(super) fn work_orders(subject: &Subject<'_>) -> Vec<Row> {
    let users: HashMap<u64, Value> = {
        let sessions = subject.database.sessions().into_iter();
        sessions.map(|(number, info)| (number, user(&info.seen.lock()))).collect()
    };
    let row = |pending: Pending| {
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        // 0 stands for what no session asked for: loads, checkpoints.
        let session = match pending.owner {
            0 => Value::Null,
            number => Value::I64(i64::try_from(number).unwrap_or(i64::MAX)),
        };
        let predicted = pending.predicted_nanos.map(|nanos| Value::I64((nanos / 1e3) as i64));
        Row::default()
            .set("session_id", session)
            .set("usename", users.get(&pending.owner).cloned().unwrap_or(Value::Null))
            .number("priority", i64::from(pending.priority.0))
            .number("orders", count(pending.orders))
            .number("begun", count(pending.begun))
            .number("running", count(pending.running))
            .set("predicted_us", predicted.unwrap_or(Value::Null))
    };
    subject.database.pending_orders().into_iter().map(row).collect()
}

/// `tessera_operators`: the operators of the queries that run, each with the work orders of the
/// pipeline that its rows pass. Source: Patel 2018, section 4.3 (predicted and measured times).
pub(super) fn operators(subject: &Subject<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, info) in subject.database.sessions() {
        let Some(running) = info.progress.running() else { continue };
        let seen = info.seen.lock().clone();
        if !is_shown(subject, &seen) {
            continue;
        }
        let pipelines = running.progress.pipelines();
        let predicted = running.ticket.predicted_nanos();
        for (id, head) in running.plan.iter().flat_map(|plan| plan::operators(plan)) {
            // An operator that ends a pipeline is the source of another, which says more of it.
            let source = pipelines.iter().find(|pipeline| pipeline.source == Some(id));
            let passed = pipelines.iter().find(|pipeline| pipeline.operators.contains(&id));
            let row = Row::default()
                .number("session_id", count(number))
                .set("usename", user(&seen))
                .number("operator_id", count(id.0 as u64))
                .text("operator", &head);
            rows.push(match source.or(passed) {
                Some(pipeline) => in_pipeline(row, pipeline, predicted),
                None => row.text("state", "waiting"),
            });
        }
    }
    rows
}

/// The state of an operator whose rows pass `pipeline`.
fn in_pipeline(row: Row, pipeline: &PipelineProgress, predicted_nanos: Option<f64>) -> Row {
    let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let (orders, done) = (read(&pipeline.orders), read(&pipeline.done));
    let micros = |nanos: f64| Value::I64((nanos / 1e3) as i64);
    let measured = (done > 0).then(|| micros(read(&pipeline.nanos) as f64 / done as f64));
    let source = pipeline.source.map(|id| Value::I64(count(id.0 as u64)));
    row.set("pipeline", source.unwrap_or(Value::Null))
        .text("state", if done < orders { "running" } else { "done" })
        .number("orders", count(orders))
        .number("orders_done", count(done))
        .set("measured_us", measured.unwrap_or(Value::Null))
        .set("predicted_us", predicted_nanos.map_or(Value::Null, micros))
}

fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
