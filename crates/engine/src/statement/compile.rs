//! Prepared statements made ready, and whether they still are.

use std::sync::Arc;

use catalog::policies::Enforcement;
use parking_lot::Mutex;
use sql::statement::Statement;
use types::stack::Deep;

use crate::Session;
use crate::session::compiled::Compiled;
use crate::session::point::Point;

impl Compiled {
    /// `statement` as it was bound in the session's transaction.
    /// The catalog was of `version` or newer. `asks_time`: there is a parameter for the time.
    pub(crate) fn new(
        session: &Session,
        statement: Statement,
        version: u64,
        asks_time: bool,
    ) -> Self {
        let point = Point::new(session, &statement, version);
        let state = session.state();
        let unindexed = state.tables.values().filter(|table| !table.is_indexed());
        Self {
            statement: Deep::of_statement(statement),
            owner: Arc::downgrade(session.info()),
            version,
            options: session.settings.plan_options(),
            zone: session.settings.time_zone().clone(),
            style: session.settings.text_style(),
            path: session.settings.path().cloned(),
            reads_wide: session.wide_reader().at.is_some(),
            enforcement: Enforcement::of(session.settings.changed("row_security")),
            who: session.who(),
            plans: Deep::of_statement(Mutex::default()),
            point,
            asks_time,
            unindexed: unindexed.cloned().collect(),
        }
    }

    /// True when session, catalog, settings and indexes are those it was bound with.
    pub(crate) fn is_current(&self, session: &Session) -> bool {
        std::ptr::eq(self.owner.as_ptr(), Arc::as_ptr(session.info()))
            && session.inner().stores.relations.version() == self.version
            && session.settings.plan_options() == self.options
            && *session.settings.time_zone() == self.zone
            && session.settings.text_style() == self.style
            && session.settings.path() == self.path.as_ref()
            && session.wide_reader().at.is_some() == self.reads_wide
            && Enforcement::of(session.settings.changed("row_security")) == self.enforcement
            && *session.settings.who() == self.who
            && session.sees_committed_catalog()
            && !self.unindexed.iter().any(|table| table.is_indexed())
    }
}
