//! The session while a query of it runs that calls routines: they run on its thread, in its
//! transaction, and need all of it.
//!
//! ```text
//! lend:   session <-swap-> spare     Lent: the session, reached by what the query's context holds
//! call:   Lent --take--> session runs statements (and lends itself again) --put--> Lent
//! end:    session <-swap-> spare     as before
//! ```
//! A spare is a session without transaction, which nobody uses; the last one is kept.
//! Invariant: only the thread of the session takes it, so that nobody ever waits for the mutex.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use parking_lot::Mutex;
use plan::physical::PhysicalPlan;

use super::Session;

/// Where the session is while a query of it runs.
#[derive(Default)]
pub(crate) struct Lent(Mutex<Option<Box<Session>>>);

/// The session, taken to run a routine; it goes back when this is dropped.
pub(crate) struct Taken<'a> {
    lent: &'a Lent,
    session: Option<Box<Session>>,
}

impl Deref for Taken<'_> {
    type Target = Session;

    fn deref(&self) -> &Self::Target {
        self.session.as_ref().expect("it is taken until the end")
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.session.as_mut().expect("it is taken until the end")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.lent.0.lock() = self.session.take();
    }
}

impl Lent {
    /// The session; None where no query of it runs that was to call routines.
    pub(crate) fn take(&self) -> Option<Taken<'_>> {
        let session = self.0.lock().take()?;
        Some(Taken { lent: self, session: Some(session) })
    }
}

impl Session {
    /// A session that stands where this one was.
    fn new_spare(&self) -> Box<Self> {
        let mut spare = Self::new(self.database.clone(), Arc::clone(&self.info));
        spare.is_spare = true;
        Box::new(spare)
    }

    /// Runs `work`, the query of `plan`, whose routines find the session.
    pub(crate) fn lend<T>(&mut self, plan: &PhysicalPlan, work: impl FnOnce() -> T) -> T {
        if !plan.calls_routines {
            return work();
        }
        let lent = Arc::clone(&self.lent);
        let mut other = self.spare.take().unwrap_or_else(|| self.new_spare());
        std::mem::swap(self, &mut *other);
        *lent.0.lock() = Some(other);
        let result = work();
        if let Some(mut own) = lent.0.lock().take() {
            std::mem::swap(self, &mut *own);
            self.spare = Some(own);
        }
        result
    }
}
