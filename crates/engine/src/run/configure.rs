//! SET, SHOW and RESET of a session, and of the settings that are the server's.

use std::sync::atomic::Ordering;

use durable::CHECKPOINT_WAL_BYTES;
use sched::{Dispatch, POLICIES, Policy, Priority, policy_named};
use sql::statement::{AccessMode, Deferral, SetScope};
use types::{DataType, Error, Result, SqlState, Value};

use crate::QueryResult;
use crate::instance::freezing::Freezing;
use crate::session::Session;
use crate::transaction::work::Begun;
use crate::words::settings::{meaning, parse_bytes, shown_name};

impl Session {
    /// RESET of one setting, or of all.
    pub(super) fn reset(&mut self, name: Option<&str>) -> Result<QueryResult> {
        match name {
            Some(name) => self.set_within(name, None, SetScope::Session)?,
            None => {
                self.remember_settings();
                self.settings.reset();
            }
        }
        Ok(QueryResult::command("RESET"))
    }

    /// SET, SET LOCAL and, without a value, RESET.
    pub(crate) fn set_within(
        &mut self,
        name: &str,
        value: Option<&str>,
        scope: SetScope,
    ) -> Result<()> {
        let is_alone = self.call_depth == 0
            && self.work.as_ref().is_some_and(|w| w.begun == Begun::ForOneStatement);
        if scope == SetScope::Transaction && is_alone {
            self.warn(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET LOCAL can only be used in transaction blocks".to_owned(),
            );
            return Ok(());
        }
        let value = crate::define::role::checked_identity(self, name, value)?;
        self.remember_settings();
        self.set_checked(name, value.as_deref(), scope)?;
        if name == "session_authorization" {
            // Another session user is not in the role of the one before.
            self.set_checked("role", None, scope)?;
        }
        Ok(())
    }

    fn set_checked(&mut self, name: &str, value: Option<&str>, scope: SetScope) -> Result<()> {
        match scope {
            SetScope::Session => self.set(name, value),
            SetScope::Transaction => {
                self.check_setting(name, value)?;
                self.settings.set_local(name, value)
            }
        }
    }

    /// Refuses to raise the session's priority above the default of its role, which is a
    /// superuser's to decide.
    fn check_priority(&self, value: Option<&str>) -> Result<()> {
        let Some(asked) = value.and_then(|text| text.trim().parse().ok()).map(Priority) else {
            return Ok(());
        };
        if asked <= Priority::default() {
            return Ok(());
        }
        let state = self.state();
        let role = self.settings.user().and_then(|user| state.roles.get(user));
        let usual = role.and_then(|role| {
            let (_, text) = role.settings.iter().find(|(name, _)| name == "priority")?;
            text.parse().ok().map(Priority)
        });
        if usual.is_some_and(|usual| asked <= usual) {
            return Ok(());
        }
        self.check_server_setting("priority")
    }

    /// Refuses what the session may not set.
    fn check_setting(&self, name: &str, value: Option<&str>) -> Result<()> {
        match name.strip_prefix("tessera.").unwrap_or(name) {
            "threads"
            | "checkpoint_wal_bytes"
            | "temp_directory"
            | "scheduler_policy"
            | "scheduler_dispatch"
            | "admission_queries"
            | "freezing"
            | "session_replication_role" => self.check_server_setting(name),
            "priority" => self.check_priority(value),
            _ => Ok(()),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        self.check_setting(name, value)?;
        match name {
            "threads" | "tessera.threads" => {
                let count = match value {
                    None => crate::Config::default().threads,
                    Some(text) => parse_threads(text)?,
                };
                self.inner().scheduler.set_workers(count);
                Ok(())
            }
            "scheduler_policy" | "tessera.scheduler_policy" => {
                let policy = value.map_or(Ok(POLICIES[0]), parse_policy)?;
                self.inner().scheduler.set_policy(policy);
                Ok(())
            }
            "scheduler_dispatch" | "tessera.scheduler_dispatch" => {
                let dispatch = value.map_or(Ok(Dispatch::default()), parse_dispatch)?;
                self.inner().scheduler.set_dispatch(dispatch);
                Ok(())
            }
            "admission_queries" | "tessera.admission_queries" => {
                let count = value.map_or(Ok(0), parse_queries)?;
                self.inner().heavy_max.store(count, Ordering::Relaxed);
                Ok(())
            }
            "checkpoint_wal_bytes" | "tessera.checkpoint_wal_bytes" => {
                let bytes = value.map_or(Ok(CHECKPOINT_WAL_BYTES), |v| parse_bytes(name, v))?;
                self.inner().stores.checkpoint_wal_bytes.store(bytes, Ordering::Relaxed);
                Ok(())
            }
            "freezing" | "tessera.freezing" => {
                let freezing = value.map_or(Ok(Freezing::default()), parse_freezing)?;
                self.inner().freezer.set(freezing);
                Ok(())
            }
            "memory_limit" | "tessera.memory_limit" => Err(Error::unsupported(
                "changing the memory limit of a running database (start with --memory)",
            )),
            _ => self.settings.set(name, value),
        }
    }

    fn checkpoint_wal_bytes(&self) -> String {
        self.inner().stores.checkpoint_wal_bytes.load(Ordering::Relaxed).to_string()
    }

    fn admission_queries(&self) -> String {
        self.inner().heavy_max.load(Ordering::Relaxed).to_string()
    }

    pub(super) fn show(&self, name: &str) -> Result<QueryResult> {
        let text = DataType::Text;
        if name == "all" {
            let mut all = self.settings.all();
            let mut push = |name: &str, value: String| {
                all.push((name.to_owned(), value.clone(), value));
            };
            push("threads", self.database.threads().to_string());
            push("memory_limit", self.database.pool().limit().to_string());
            push("checkpoint_wal_bytes", self.checkpoint_wal_bytes());
            push("freezing", self.inner().freezer.freezing().name().to_owned());
            push("admission_queries", self.admission_queries());
            push("scheduler_dispatch", self.inner().scheduler.dispatch().name().to_owned());
            push("scheduler_policy", self.inner().scheduler.policy().name().to_owned());
            all.sort();
            let row = |(name, value, _): &(String, String, String)| {
                let value = self.settings.get(name).unwrap_or_else(|_| value.clone());
                vec![Value::text(shown_name(name)), Value::text(&value), Value::text(meaning(name))]
            };
            let rows: Vec<Vec<Value>> = all.iter().map(row).collect();
            let columns = ["name", "setting", "description"].map(|n| (n.to_owned(), text)).to_vec();
            return Ok(QueryResult::from_values("SHOW", columns, &rows));
        }
        let value = match name {
            "threads" | "tessera.threads" => self.database.threads().to_string(),
            "memory_limit" | "tessera.memory_limit" => self.database.pool().limit().to_string(),
            "checkpoint_wal_bytes" | "tessera.checkpoint_wal_bytes" => self.checkpoint_wal_bytes(),
            "freezing" | "tessera.freezing" => self.inner().freezer.freezing().name().to_owned(),
            "admission_queries" | "tessera.admission_queries" => self.admission_queries(),
            "scheduler_policy" | "tessera.scheduler_policy" => {
                self.inner().scheduler.policy().name().to_owned()
            }
            "scheduler_dispatch" | "tessera.scheduler_dispatch" => {
                self.inner().scheduler.dispatch().name().to_owned()
            }
            "transaction_isolation" => self.work().level.to_owned(),
            "transaction_deferrable" => {
                if self.work().deferral == Deferral::Yes { "on" } else { "off" }.to_owned()
            }
            "transaction_read_only" => {
                let read_only = self.work().access == AccessMode::ReadOnly;
                if read_only { "on" } else { "off" }.to_owned()
            }
            _ => self.setting(name)?,
        };
        let columns = vec![(shown_name(name).to_owned(), text)];
        Ok(QueryResult::from_values("SHOW", columns, &[vec![Value::text(&value)]]))
    }
}

fn parse_freezing(text: &str) -> Result<Freezing> {
    let word = text.trim().to_ascii_lowercase();
    let found = Freezing::ALL.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, freezing)| freezing).ok_or_else(|| {
        let message = format!("invalid value for parameter \"freezing\": \"{text}\"");
        let error = Error::new(SqlState::INVALID_PARAMETER, message);
        error.with_hint(format!("Available values: {}.", Freezing::ALL.map(|f| f.0).join(", ")))
    })
}

fn parse_policy(text: &str) -> Result<&'static dyn Policy> {
    policy_named(&text.trim().to_ascii_lowercase()).ok_or_else(|| {
        let message = format!("invalid value for parameter \"scheduler_policy\": \"{text}\"");
        let known: Vec<&str> = POLICIES.into_iter().map(Policy::name).collect();
        let error = Error::new(SqlState::INVALID_PARAMETER, message);
        error.with_hint(format!("Available values: {}.", known.join(", ")))
    })
}

fn parse_dispatch(text: &str) -> Result<Dispatch> {
    Dispatch::named(&text.trim().to_ascii_lowercase()).ok_or_else(|| {
        let message = format!("invalid value for parameter \"scheduler_dispatch\": \"{text}\"");
        let error = Error::new(SqlState::INVALID_PARAMETER, message);
        error.with_hint(format!(
            "Available values: {}.",
            Dispatch::ALL.map(Dispatch::name).join(", ")
        ))
    })
}

fn parse_queries(text: &str) -> Result<usize> {
    match text.trim().parse::<usize>() {
        Ok(count @ 0..=1000) => Ok(count),
        _ => {
            let message = format!("invalid value for parameter \"admission_queries\": \"{text}\"");
            let error = Error::new(SqlState::INVALID_PARAMETER, message);
            Err(error.with_hint("Give a number from 1 to 1000, or 0 for one by the workers."))
        }
    }
}

fn parse_threads(text: &str) -> Result<usize> {
    match text.trim().parse::<usize>() {
        Ok(count @ 1..=1024) => Ok(count),
        _ => {
            let message = format!("invalid value for parameter \"threads\": \"{text}\"");
            let error = Error::new(SqlState::INVALID_PARAMETER, message);
            Err(error.with_hint("Give a number from 1 to 1024."))
        }
    }
}
