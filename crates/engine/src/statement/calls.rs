//! Functions of the session, carried out for the queries that call them: settings, notifications,
//! advisory locks, other sessions.
//!
//! Elsewhere: what is noted of them until the statement ends (`session::calls`).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use catalog::State;
use catalog::predefined::SIGNAL_BACKEND;
use catalog::who::{Who, denied};
use sql::algebra::{Advisory, AdvisorySpan, ObjectKey, SessionFunction};
use sql::statement::SetScope;
use types::waiting::waiting;
use types::{ElementType, Error, RegKind, Result, SqlState, Value, array};

use crate::instance::advisory::{Key, Wish};
use crate::instance::channels::Pending;
use crate::session::calls::SessionCalls;
use crate::show::pg_catalog::objects::Seen;
use crate::words::settings::Settings;

impl SessionCalls {
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
                object(Seen { state, settings: &settings }, kind, key, value)
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
            (SessionFunction::TriggerDepth, []) => {
                Ok(Value::I32(self.triggers.load(Ordering::Relaxed)))
            }
            (SessionFunction::StatementTimestamp, []) => Ok(Value::I64(self.statement_micros())),
            (SessionFunction::CancelBackend, [Value::I32(pid)]) => {
                self.signal(*pid, state, who, Signal::Cancel)
            }
            (SessionFunction::TerminateBackend, [Value::I32(pid)]) => {
                self.signal(*pid, state, who, Signal::Terminate)
            }
            (SessionFunction::SuspendBackend, [Value::I32(pid)]) => {
                self.signal(*pid, state, who, Signal::Suspend)
            }
            (SessionFunction::ResumeBackend, [Value::I32(pid)]) => {
                self.signal(*pid, state, who, Signal::Resume)
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

    fn signal(&self, pid: i32, state: &State, who: &Who, signal: Signal) -> Result<Value> {
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
                let may = state.has_rights_of(who, user) || state.acts_as(who, SIGNAL_BACKEND);
                state.is_superuser(who) || (!is_super && may)
            }
            None => state.is_superuser(who),
        };
        if !allowed {
            let (what, verb) = match signal {
                Signal::Cancel => ("query", "canceled"),
                Signal::Terminate => ("process", "terminated"),
                Signal::Suspend => ("query", "suspended"),
                Signal::Resume => ("query", "resumed"),
            };
            let role = format!("must be a member of the role whose {what} is being {verb}");
            return Err(denied(format!("{role} or member of pg_signal_backend")));
        }
        let scheduler = &database.inner().scheduler;
        match signal {
            Signal::Cancel => other.cancel.cancel(),
            // Its own functions would wait for themselves.
            Signal::Suspend if other.id == self.info.id => return Ok(Value::Bool(false)),
            Signal::Suspend if !other.active.load(Ordering::Relaxed) => {
                return Ok(Value::Bool(false));
            }
            Signal::Suspend => scheduler.suspend(&other.suspension),
            Signal::Resume => {
                let was_on = other.suspension.is_on();
                scheduler.resume(&other.suspension);
                return Ok(Value::Bool(was_on));
            }
            Signal::Terminate => match database.registry().terminator() {
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
                locks.lock(session, Wish { key, mode, span }, || match deadline {
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

/// Order to another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    /// Its statement ends.
    Cancel,
    /// The session ends.
    Terminate,
    /// Its statement stands still.
    Suspend,
    /// Its statement goes on.
    Resume,
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Str(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

/// The object that `value` is the name or the number of, or all those of an array.
fn object(seen: Seen<'_>, kind: RegKind, key: ObjectKey, value: &Value) -> Result<Value> {
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

/// True when an error says that there is no such object.
fn is_missing(state: SqlState) -> bool {
    let schema = SqlState::UNDEFINED_SCHEMA;
    [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_OBJECT, SqlState::UNDEFINED_FUNCTION, schema]
        .contains(&state)
}
