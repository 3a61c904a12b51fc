//! Functions of the session, as queries call them: settings, notifications, advisory locks, other
//! sessions.
//!
//! A query runs anywhere, so what it asks of its session is noted and done when it has ended; the
//! session's settings are there as they were when it began.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use host::Clock;
use parking_lot::Mutex;
use sql::algebra::{Advisory, AdvisorySpan, ObjectKey, SessionFunction};
use sql::statement::{RelationName, SetScope};
use types::waiting::waiting;
use types::{ElementType, Error, RegKind, Result, SqlState, Value, array};

use crate::advisory::Key;
use crate::catalog::State;
use crate::channels::Pending;
use crate::database::WeakDatabase;
use crate::pg_catalog::objects::Seen;
use crate::rights::{Who, denied};
use crate::session::SessionInfo;
use crate::settings::Settings;
use crate::{CancelHandle, Database, Session};

/// What queries asked of their session.
#[derive(Default)]
pub(crate) struct Asked {
    settings: Vec<(String, String, SetScope)>,
    pending: Vec<Pending>,
    warnings: Vec<String>,
}

/// What functions need of a session, shared with the queries that call them.
pub(crate) struct SessionCalls {
    info: Arc<SessionInfo>,
    database: WeakDatabase,
    clock: Arc<dyn Clock>,
    cancel: CancelHandle,
    asked: Mutex<Asked>,
    is_asked: AtomicBool,
    /// The session's, as they were when the last query began.
    settings: Mutex<Settings>,
    /// When its statement began, microseconds since 1970.
    began: AtomicI64,
    /// It may hold advisory locks until its transaction ends.
    pub(crate) locks_transaction: AtomicBool,
    /// Or until it ends.
    pub(crate) locks_session: AtomicBool,
}

impl SessionCalls {
    pub(crate) fn new(info: Arc<SessionInfo>, database: &Database) -> Self {
        Self {
            cancel: info.cancel.clone(),
            info,
            database: database.downgrade(),
            clock: Arc::clone(&database.inner().clock),
            asked: Mutex::default(),
            is_asked: AtomicBool::new(false),
            settings: Mutex::default(),
            began: AtomicI64::new(0),
            locks_transaction: AtomicBool::new(false),
            locks_session: AtomicBool::new(false),
        }
    }

    /// A statement begins.
    pub(crate) fn begin_statement(&self) {
        self.began.store(self.clock.micros(), Ordering::Relaxed);
    }

    /// When the statement began, microseconds since 1970.
    pub(crate) fn statement_micros(&self) -> i64 {
        self.began.load(Ordering::Relaxed)
    }

    /// A query begins with these settings.
    pub(crate) fn begin(&self, settings: &Settings) {
        let mut known = self.settings.lock();
        if known.version() != settings.version() {
            known.clone_from(settings);
        }
    }

    /// The relation that the search path finds by this name.
    pub(crate) fn found(&self, state: &State, name: &str) -> Option<RelationName> {
        let settings = self.settings.lock();
        let mut all = std::iter::once("pg_temp")
            .chain(settings.schemas())
            .map(|schema| RelationName { schema: Some(schema.to_owned()), name: name.to_owned() });
        all.find(|name| state.contains(&name.key()))
    }

    fn ask(&self, ask: impl FnOnce(&mut Asked)) {
        ask(&mut self.asked.lock());
        self.is_asked.store(true, Ordering::Release);
    }

    /// Takes what was asked for, if anything was.
    fn take(&self) -> Option<Asked> {
        if !self.is_asked.load(Ordering::Acquire) {
            return None;
        }
        self.is_asked.store(false, Ordering::Release);
        Some(std::mem::take(&mut *self.asked.lock()))
    }

    /// Carries out a function; see [`sql::catalog::Sequences::call`].
    pub(crate) fn call(
        &self,
        function: SessionFunction,
        arguments: &[Value],
        state: &State,
        who: &Who,
    ) -> Result<Value> {
        let nothing = || Value::text("");
        match (function, arguments) {
            (SessionFunction::SetConfig, [name, value, local]) => {
                let (Some(name), true) = (text(name), *local != Value::Null) else {
                    let message = "SET requires parameter name";
                    return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
                };
                let scope = match local {
                    Value::Bool(true) => SetScope::Transaction,
                    _ => SetScope::Session,
                };
                self.set_config(&name, text(value).unwrap_or_default(), scope)
            }
            (SessionFunction::CurrentSetting, [name, rest @ ..]) => {
                self.current_setting(name, rest.first() == Some(&Value::Bool(true)), state)
            }
            (SessionFunction::Notify, [channel, payload]) => {
                let channel = text(channel).unwrap_or_default();
                let pending = Pending::notify(&channel, &text(payload).unwrap_or_default())?;
                self.ask(|asked| asked.pending.push(pending));
                Ok(nothing())
            }
            (_, arguments) if arguments.contains(&Value::Null) => Ok(Value::Null),
            (SessionFunction::Object(kind, key), [value]) => {
                let settings = self.settings.lock();
                object(Seen { state, settings: &settings }, (kind, key), value)
            }
            (SessionFunction::Sleep, [Value::F64(seconds)]) => {
                let limit = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
                let begin = Instant::now();
                while let Some(left) = limit.checked_sub(begin.elapsed()).filter(|l| !l.is_zero()) {
                    self.cancel.check()?;
                    waiting(|| std::thread::sleep(left.min(Duration::from_millis(5))));
                }
                Ok(nothing())
            }
            (SessionFunction::ClockTimestamp, []) => Ok(Value::I64(self.clock.micros())),
            (SessionFunction::StatementTimestamp, []) => Ok(Value::I64(self.statement_micros())),
            (SessionFunction::CancelBackend, [Value::I32(pid)]) => {
                self.end_other(*pid, state, who, Ending::Statement)
            }
            (SessionFunction::TerminateBackend, [Value::I32(pid)]) => {
                self.end_other(*pid, state, who, Ending::Session)
            }
            (SessionFunction::Advisory(advisory), keys) => self.advisory(advisory, keys),
            _ => Err(Error::internal("a function of the session with other arguments")),
        }
    }

    fn set_config(&self, name: &str, value: String, scope: SetScope) -> Result<Value> {
        let name = name.to_lowercase();
        Settings::check(&name, &value)?;
        // A later call in the same query sees it.
        match scope {
            SetScope::Session => self.settings.lock().set(&name, Some(&value))?,
            SetScope::Transaction => self.settings.lock().set_local(&name, Some(&value))?,
        }
        let result = Value::text(&self.settings.lock().get(&name)?);
        self.ask(|asked| asked.settings.push((name, value, scope)));
        Ok(result)
    }

    fn current_setting(&self, name: &Value, missing_ok: bool, state: &State) -> Result<Value> {
        let Some(name) = text(name).map(|name| name.to_lowercase()) else {
            return Ok(Value::Null);
        };
        let settings = self.settings.lock();
        if name == "is_superuser" {
            let is = state.is_superuser(settings.who());
            return Ok(Value::text(if is { "on" } else { "off" }));
        }
        match settings.get(&name) {
            Ok(value) => Ok(Value::text(&value)),
            Err(_) if missing_ok => Ok(Value::Null),
            Err(error) => Err(error),
        }
    }

    fn end_other(&self, pid: i32, state: &State, who: &Who, ending: Ending) -> Result<Value> {
        let database = self.database.upgrade()?;
        let found = database.sessions().into_iter().find(|(id, _)| i64::from(pid) == *id as i64);
        let Some((_, other)) = found else {
            let message = format!("PID {pid} is not a PostgreSQL server process");
            self.ask(|asked| asked.warnings.push(message));
            return Ok(Value::Bool(false));
        };
        let user = other.seen.lock().user.clone();
        let allowed = match &user {
            Some(user) => {
                let is_super = state.roles.get(user).is_none_or(|role| role.is_superuser);
                state.is_superuser(who) || (!is_super && state.has_rights_of(who, user))
            }
            None => state.is_superuser(who),
        };
        if !allowed {
            let (what, verb) = match ending {
                Ending::Statement => ("query", "canceled"),
                Ending::Session => ("process", "terminated"),
            };
            let role = format!("must be a member of the role whose {what} is being {verb}");
            return Err(denied(format!("{role} or member of pg_signal_backend")));
        }
        match ending {
            Ending::Statement => other.cancel.cancel(),
            Ending::Session => match database.registry().terminator() {
                Some(terminate) => return Ok(Value::Bool(terminate(pid))),
                None => other.cancel.cancel(),
            },
        }
        Ok(Value::Bool(true))
    }

    fn advisory(&self, function: Advisory, keys: &[Value]) -> Result<Value> {
        let key = match keys {
            [Value::I64(key)] => Key::One(*key),
            [Value::I32(a), Value::I32(b)] => Key::Two(*a, *b),
            [] => Key::One(0),
            _ => return Err(Error::internal("a key of another type")),
        };
        let database = self.database.upgrade()?;
        let (locks, session) = (&database.inner().advisory, self.info.id);
        let note = |span| match span {
            AdvisorySpan::Transaction => self.locks_transaction.store(true, Ordering::Release),
            AdvisorySpan::Session => self.locks_session.store(true, Ordering::Release),
        };
        Ok(match function {
            Advisory::Lock(mode, span) => {
                note(span);
                let limit = self.settings.lock().lock_limit();
                let deadline = limit.map(|limit| Instant::now() + limit);
                locks.lock(session, key, mode, span, || match deadline {
                    Some(deadline) if Instant::now() >= deadline => {
                        Err(txn::manager::lock_timeout())
                    }
                    _ => self.cancel.check(),
                })?;
                Value::text("")
            }
            Advisory::Try(mode, span) => {
                note(span);
                Value::Bool(locks.try_lock(session, key, mode, span))
            }
            Advisory::Unlock(mode) => {
                let done = locks.unlock(session, key, mode);
                if !done {
                    let mode = match mode {
                        sql::algebra::AdvisoryMode::Exclusive => "ExclusiveLock",
                        sql::algebra::AdvisoryMode::Shared => "ShareLock",
                    };
                    let message = format!("you don't own a lock of type {mode}");
                    self.ask(|asked| asked.warnings.push(message));
                }
                Value::Bool(done)
            }
            Advisory::UnlockAll => {
                locks.release(session, AdvisorySpan::Session);
                Value::text("")
            }
        })
    }
}

/// What is to end of another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Statement,
    Session,
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Str(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

impl Session {
    /// Does what the queries of a statement asked for.
    ///
    /// # Errors
    /// What SET says.
    pub(crate) fn do_asked(&mut self) -> Result<()> {
        let Some(asked) = self.calls.take() else { return Ok(()) };
        for message in asked.warnings {
            self.warn(SqlState::WARNING, message);
        }
        for (name, value, scope) in asked.settings {
            // Outside a transaction it would be gone at once; no warning, as in PostgreSQL.
            let is_alone = self.work().begun == crate::work::Begun::ForOneStatement;
            if scope == SetScope::Transaction && is_alone {
                continue;
            }
            self.set_within(&name, Some(&value), scope)?;
        }
        self.work_mut().pending.extend(asked.pending);
        Ok(())
    }

    /// Forgets what queries asked for that failed.
    pub(crate) fn forget_asked(&self) {
        drop(self.calls.take());
    }

    /// Gives up advisory locks of the transaction, which has ended.
    pub(crate) fn end_transaction_locks(&self) {
        if self.calls.locks_transaction.load(Ordering::Acquire) {
            self.calls.locks_transaction.store(false, Ordering::Release);
            self.inner().advisory.release(self.info().id, AdvisorySpan::Transaction);
        }
    }

    /// Gives up all advisory locks, at its end.
    pub(crate) fn end_locks(&self) {
        self.end_transaction_locks();
        if self.calls.locks_session.swap(false, Ordering::AcqRel) {
            self.inner().advisory.release(self.info().id, AdvisorySpan::Session);
        }
    }
}

/// The object that `value` is the name or the number of, or all those of an array.
fn object(seen: Seen<'_>, (kind, key): (RegKind, ObjectKey), value: &Value) -> Result<Value> {
    let named = |value: &Value| seen.named(kind, &text(value).unwrap_or_default());
    let numbered = |number: i64| seen.numbered(kind, number as u32);
    let (from, to) = match key {
        ObjectKey::Names => (ElementType::Text, ElementType::Reg(kind)),
        _ => (ElementType::Oid, ElementType::Reg(kind)),
    };
    match (key, value) {
        (ObjectKey::Name, value) => named(value),
        (ObjectKey::NameIfAny, value) => match named(value) {
            Err(error) if is_missing(error.state()) => Ok(Value::Null),
            found => found,
        },
        // A number of 32 bits.
        (ObjectKey::Number, Value::I64(number)) => Ok(numbered(*number)),
        (ObjectKey::Names | ObjectKey::Numbers, Value::Str(bytes)) => {
            let found = array::map(bytes, from, to, |value| match value {
                Value::Null => Ok(Value::Null),
                Value::I64(number) => Ok(numbered(number)),
                value => named(&value),
            })?;
            Ok(Value::Str(found.into()))
        }
        _ => Err(Error::internal("an object of the catalog by another key")),
    }
}

/// Whether an error says that there is no such object.
fn is_missing(state: SqlState) -> bool {
    let schema = SqlState::UNDEFINED_SCHEMA;
    [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_OBJECT, SqlState::UNDEFINED_FUNCTION, schema]
        .contains(&state)
}
