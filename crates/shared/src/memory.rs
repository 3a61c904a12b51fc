//! Records in memory, for tests: every access is a step at which others may come between, and each
//! conditional write is a place to die.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use store::Version;

use crate::error::{Result, SharedError};
use crate::records::{Record, Records, Swap};

/// Version and content; `None` for a removed record.
type Kept = (u64, Option<Vec<u8>>);

/// Where a caller dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Before the conditional write of this number, from 0.
    Before(u64),
    /// Behind it.
    Behind(u64),
}

/// Records of all callers; each caller has a clone by [`Self::caller`].
#[derive(Debug, Default)]
pub struct MemoryRecords {
    kept: Rc<RefCell<BTreeMap<u64, Kept>>>,
    death: Option<Death>,
    writes: Cell<u64>,
    reads: Cell<u64>,
}

impl MemoryRecords {
    /// The same records for another caller, who dies at `death`.
    #[must_use]
    pub fn caller(&self, death: Option<Death>) -> Self {
        Self { kept: Rc::clone(&self.kept), death, ..Self::default() }
    }

    /// Conditional writes of this caller.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Reads of this caller.
    pub fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// Records that there are.
    pub fn count(&self) -> usize {
        self.kept.borrow().values().filter(|kept| kept.1.is_some()).count()
    }

    fn swap(&self, key: u64, seen: u64, next: Option<&[u8]>) -> Result<Swap> {
        let number = self.writes.get();
        let is_dead = match self.death {
            Some(Death::Before(at)) => number >= at,
            Some(Death::Behind(at)) => number > at,
            None => false,
        };
        if is_dead {
            return Err(SharedError::Stopped);
        }
        self.writes.set(number + 1);
        let mut kept = self.kept.borrow_mut();
        let now = kept.entry(key).or_default();
        if now.0 != seen {
            return Ok(Swap::Lost);
        }
        *now = (seen + 1, next.map(<[u8]>::to_vec));
        if self.death == Some(Death::Behind(number)) {
            return Err(SharedError::Stopped);
        }
        Ok(Swap::Done)
    }
}

/// Lets others come between, once.
async fn step() {
    let mut is_first = true;
    poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

impl Records for MemoryRecords {
    async fn read(&self, key: u64) -> Result<Option<Record>> {
        step().await;
        self.reads.set(self.reads.get() + 1);
        let kept = self.kept.borrow();
        Ok(kept.get(&key).and_then(|(version, bytes)| {
            Some(Record { version: Version(*version), bytes: bytes.clone()? })
        }))
    }

    async fn write(&self, key: u64, seen: Option<Version>, bytes: &[u8]) -> Result<Swap> {
        step().await;
        self.swap(key, seen.unwrap_or_default().0, Some(bytes))
    }

    async fn remove(&self, key: u64, seen: Version) -> Result<Swap> {
        step().await;
        self.swap(key, seen.0, None)
    }
}
