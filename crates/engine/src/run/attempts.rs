//! Attempts at a statement: again when tables changed under it, when 38 digits did not do, or when
//! it needs more stack.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sql::catalog::Digits;
use sql::statement::SetScope;
use types::waiting::waiting;
use types::{Error, Result, SqlState, stack};

use crate::Session;
use crate::transaction::work::Begun;
use crate::words::result::QueryResult;

/// Times a statement is bound again because a table changed while it waited.
const STALE_MAX: usize = 1000;

/// Times a statement alone in its transaction runs when others changed rows of attached tables
/// first.
const CONFLICTS_MAX: usize = 10;

/// True for an error of a commit when another transaction was first, maybe with a key.
fn is_conflict(error: &Error) -> bool {
    matches!(error.state(), SqlState::SERIALIZATION_FAILURE | SqlState::UNIQUE_VIOLATION)
}

/// Gives those that were first a moment.
fn pause(tries: usize) {
    waiting(|| std::thread::sleep(Duration::from_millis(tries as u64)));
}

impl Session {
    /// Runs one statement, again as long as tables change under it.
    pub(super) fn try_statement(
        &mut self,
        run: &mut dyn FnMut(&mut Self) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        let outcome = self.attempts(run);
        self.digits = Digits::Likely;
        outcome
    }

    fn attempts(
        &mut self,
        run: &mut dyn FnMut(&mut Self) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        let mut tries = 0;
        loop {
            let begun = self.begin_statement()?;
            let limit = self.settings.lock_limit();
            self.work_mut().txn.limit_waits(limit);
            self.info.txn.store(self.work().txn.id().0, Ordering::Relaxed);
            let is_inside = begun == Begun::Explicitly;
            let place = is_inside.then(|| self.work_mut().place());
            let outcome = self.cancel.check().and_then(|()| stack::attempt(|| run(self)));
            // A value that there was no room for may have gone unnoticed.
            let outcome = outcome.and_then(|result| self.account.settle().map(|()| result));
            let outcome = match outcome {
                Ok(result) if self.work.is_some() => self.do_asked().map(|()| result),
                other => other,
            };
            tries += 1;
            match outcome {
                Ok(result) => {
                    let zone = self.settings.time_zone().clone();
                    let style = self.settings.text_style();
                    let charset = self.settings.charset();
                    let may_again = self.may_again(tries);
                    match self.end_statement() {
                        Err(error) if may_again && is_conflict(&error) => pause(tries),
                        ended => return ended.map(|()| result.shown_in(zone, style, charset)),
                    }
                }
                Err(error) => {
                    self.forget_asked();
                    let is_narrow = error.is_narrow() && self.digits == Digits::Likely;
                    if is_narrow {
                        self.digits = Digits::All;
                    }
                    let is_stale =
                        error.state() == SqlState::STALE_CATALOG || stack::is_again(&error);
                    let is_lost =
                        error.state() == SqlState::SERIALIZATION_FAILURE && self.may_again(tries);
                    let again = is_narrow || is_lost || is_stale && tries < STALE_MAX;
                    match (&mut self.work, &place) {
                        // All of it goes: taken back in parts, it would take its time now.
                        (Some(work), Some(_)) if !again && work.ends_when_it_fails() => {
                            self.fail()?;
                        }
                        (Some(work), Some(place)) => {
                            let before = work.go_back(place);
                            self.go_back(before);
                            if !again {
                                self.fail()?;
                            }
                        }
                        // What it waited for is its own: it begins again with its locks.
                        (Some(work), None)
                            if again && (work.has_only_read() || work.wants_hold()) => {}
                        _ => self.rollback_work(),
                    }
                    if !again {
                        return Err(error);
                    }
                    if is_lost {
                        self.wait_for_others(tries)?;
                    }
                }
            }
        }
    }

    /// Gives those that were first a moment, and a definition of attached tables its time, if one
    /// was in the way.
    fn wait_for_others(&mut self, tries: usize) -> Result<()> {
        pause(tries);
        if let Some(work) = &mut self.work {
            work.renew_attached();
        }
        match self.database.registry().attachment() {
            Some(attachment) => attachment.wait_for_hold(&|| self.cancel.check()),
            None => Ok(()),
        }
    }

    /// True for a statement alone in its transaction that names attached tables, and is not to fail
    /// yet when others were first.
    fn may_again(&self, tries: usize) -> bool {
        self.work.as_ref().is_some_and(|work| {
            work.begun == Begun::ForOneStatement
                && tries < CONFLICTS_MAX
                && !work.runs_once
                && work.has_attached()
        })
    }

    /// Does what the queries of a statement asked for.
    ///
    /// # Errors
    /// Errors of SET.
    pub(crate) fn do_asked(&mut self) -> Result<()> {
        let Some(asked) = self.calls.take() else { return Ok(()) };
        for message in asked.warnings {
            self.warn(SqlState::WARNING, message);
        }
        for (name, value, scope) in asked.settings {
            // Outside a transaction it would be gone at once; no warning, as in PostgreSQL.
            let is_alone = self.work().begun == Begun::ForOneStatement;
            if scope == SetScope::Transaction && is_alone {
                continue;
            }
            self.set_within(&name, Some(&value), scope)?;
        }
        self.work_mut().pending.extend(asked.pending);
        Ok(())
    }
}
