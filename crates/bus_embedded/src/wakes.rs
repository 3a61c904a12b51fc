//! Wake-ups: a session that listens, and rings in the thread of whoever commits.

use std::fmt;
use std::sync::Arc;

use bus::tables::Wakes;
use bus::{Bell, Ring as _};
use engine::Session;

/// A session that listens; it ends with this value.
pub struct Heard(Session);

impl Heard {
    /// Rings at what `session` listens to from now on.
    pub(crate) fn new(session: Session, bell: &Arc<Bell>) -> Self {
        let bell = Arc::clone(bell);
        session.on_notification(Arc::new(move || bell.ring()));
        Self(session)
    }
}

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Heard").field(&self.0.id()).finish()
    }
}

impl Wakes for Heard {
    /// Always true. Takes what came, which says nothing besides that it came.
    fn are_heard(&mut self) -> bool {
        drop(self.0.take_notifications());
        true
    }
}
