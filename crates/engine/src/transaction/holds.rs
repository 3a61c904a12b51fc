//! Holds of a session's transaction on attached tables: wanted, taken, or failed to be taken.
//!
//! Called by `attached`, where a statement says what it needs of the tables that it defines.

use std::sync::Weak;
use std::time::{Duration, Instant};

use types::{Error, Result, SqlState};

use crate::CancelHandle;
use crate::instance::attached::{
    AttachedHold, AttachedTableId, AttachedTransaction, Attachment, HeldTables, NewHold,
};

/// A hold of a transaction on attached tables.
#[derive(Default)]
pub(crate) enum OwnHold {
    /// None.
    #[default]
    No,
    /// Wanted: it is taken when the transaction begins its attached part anew.
    Wanted(WantedHold),
    /// An error of taking it, which nobody was told yet.
    Failed(Error),
    /// Until the transaction ends, whose snapshot has all that was committed before.
    Taken(Box<dyn AttachedHold>),
    /// Until the transaction ends, whose snapshot is older.
    Beside(Box<dyn AttachedHold>),
}

/// A hold to be taken when the attached part has ended.
pub(crate) struct WantedHold {
    pub(crate) tables: HeldTables,
    pub(crate) wait: Wait,
    /// The part as it was: nobody has it any more when its snapshot is over.
    pub(crate) before: Weak<dyn AttachedTransaction>,
}

/// How long a definition waits.
#[derive(Clone)]
pub(crate) struct Wait {
    pub(crate) cancel: CancelHandle,
    pub(crate) limit: Option<Duration>,
}

/// Needs of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The rows of its tables, whoever committed them.
    Rows,
    /// Tables that nobody writes.
    Silence,
    /// Nothing; but others in the same transaction may.
    Nothing,
}

/// Tables of a definition, and what it needs of them.
pub(crate) struct Definition<'a> {
    pub(crate) tables: &'a [AttachedTableId],
    pub(crate) needs: Needs,
    pub(crate) wait: Wait,
}

impl Wait {
    /// Takes a hold, beside a transaction that goes on perhaps.
    ///
    /// # Errors
    /// 57014, 55P03; as [`Attachment::hold`].
    pub(crate) fn hold(
        &self,
        attachment: &dyn Attachment,
        tables: HeldTables,
        beside: Option<&dyn AttachedTransaction>,
    ) -> Result<Box<dyn AttachedHold>> {
        let until = self.limit.map(|limit| Instant::now() + limit);
        let check = || {
            if until.is_some_and(|until| Instant::now() >= until) {
                let message = "canceling statement due to lock timeout";
                return Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message));
            }
            self.cancel.check()
        };
        attachment.hold(&NewHold { tables, beside, check: &check })
    }
}

impl WantedHold {
    /// Takes it.
    ///
    /// # Errors
    /// 0A000 while a cursor reads; as [`Wait::hold`].
    pub(crate) fn take(&self, attachment: &dyn Attachment) -> Result<Box<dyn AttachedHold>> {
        if self.before.strong_count() > 0 {
            let what = "a definition of shared tables while a cursor reads them";
            return Err(Error::unsupported(what));
        }
        self.wait.hold(attachment, self.tables.clone(), None)
    }
}
