//! Things that clients come back to by a handle, until they are not used for long.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use types::{Error, Result, SqlState};

/// Random bytes of a handle: nobody guesses those of others.
const HANDLE_BYTES: usize = 16;

/// A new handle.
///
/// # Errors
/// XX000 when the system has no random numbers.
pub(crate) fn new_handle() -> Result<[u8; HANDLE_BYTES]> {
    let mut bytes = [0; HANDLE_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::internal("the system has no random numbers"))?;
    Ok(bytes)
}

struct Kept<T> {
    owner: String,
    item: Arc<T>,
    until: Instant,
}

/// Things of one kind, by handle.
pub(crate) struct Shelf<T> {
    /// The kind, for messages.
    what: &'static str,
    patience: Duration,
    kept: Mutex<HashMap<Vec<u8>, Kept<T>>>,
}

impl<T> Shelf<T> {
    /// An empty shelf, whose things go when they are not used for `patience`.
    pub(crate) fn new(what: &'static str, patience: Duration) -> Self {
        Self { what, patience, kept: Mutex::default() }
    }

    fn unknown(&self) -> Error {
        let message = format!("there is no such {}, or no longer", self.what);
        let seconds = self.patience.as_secs_f64();
        let hint = format!("It ends when it is not used for {seconds} s, and is its user's alone.");
        Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message).with_hint(hint)
    }

    /// Keeps `item` for `owner`; its handle.
    ///
    /// # Errors
    /// XX000 when the system has no random numbers.
    pub(crate) fn put(&self, owner: &str, item: T) -> Result<Bytes> {
        let handle = new_handle()?;
        let until = Instant::now() + self.patience;
        let kept = Kept { owner: owner.to_owned(), item: Arc::new(item), until };
        self.kept.lock().insert(handle.to_vec(), kept);
        Ok(Bytes::copy_from_slice(&handle))
    }

    /// Keeps `item` for `owner` under a handle that another server gave; what is there, if it came
    /// first.
    ///
    /// # Errors
    /// As [`Self::get`], for a handle of another owner.
    pub(crate) fn put_under(&self, handle: &[u8], owner: &str, item: T) -> Result<Arc<T>> {
        let until = Instant::now() + self.patience;
        let item = Arc::new(item);
        let kept = Kept { owner: owner.to_owned(), item: Arc::clone(&item), until };
        // What is not kept ends behind the lock.
        self.kept.lock().entry(handle.to_vec()).or_insert(kept);
        self.get(owner, handle)
    }

    /// The thing of this handle, which is used now.
    ///
    /// # Errors
    /// 26000 when there is none of this owner.
    pub(crate) fn get(&self, owner: &str, handle: &[u8]) -> Result<Arc<T>> {
        let mut kept = self.kept.lock();
        let found = kept.get_mut(handle).filter(|kept| kept.owner == owner);
        let found = found.ok_or_else(|| self.unknown())?;
        found.until = Instant::now() + self.patience;
        Ok(Arc::clone(&found.item))
    }

    /// Takes the thing of this handle away.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn take(&self, owner: &str, handle: &[u8]) -> Result<Arc<T>> {
        let item = self.get(owner, handle)?;
        self.kept.lock().remove(handle);
        Ok(item)
    }

    /// Takes away what was not used for long or `is_over`, and is not used now.
    pub(crate) fn sweep(&self, is_over: impl Fn(&T) -> bool) {
        let now = Instant::now();
        let mut over = Vec::new();
        self.kept.lock().retain(|_, kept| {
            let is_used = Arc::strong_count(&kept.item) > 1;
            if is_used {
                kept.until = now + self.patience;
            }
            let stays = is_used || now < kept.until && !is_over(&kept.item);
            if !stays {
                over.push(Arc::clone(&kept.item));
            }
            stays
        });
        // Sessions end, and transactions are taken back, while nobody waits for the shelf.
        drop(over);
    }

    /// Takes everything away.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.kept.lock());
        drop(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_their_owners_alone_and_end() {
        let shelf = Shelf::new("ticket", Duration::ZERO);
        let handle = shelf.put("ann", 7).expect("random numbers");
        assert_eq!(*shelf.get("ann", &handle).expect("hers"), 7);
        let error = shelf.get("bob", &handle).expect_err("not his");
        assert_eq!(error.state(), SqlState::INVALID_SQL_STATEMENT_NAME);
        let used = shelf.get("ann", &handle).expect("hers");
        drop(used);
        shelf.sweep(|_| false);
        assert!(shelf.get("ann", &handle).is_err());
    }

    #[test]
    fn handles_of_others_are_kept_once() {
        let shelf = Shelf::new("ticket", Duration::from_secs(3600));
        assert_eq!(*shelf.put_under(b"handle", "ann", 7).expect("hers"), 7);
        assert_eq!(*shelf.put_under(b"handle", "ann", 8).expect("hers"), 7);
        assert!(shelf.put_under(b"handle", "bob", 9).is_err());
    }

    #[test]
    fn what_is_in_use_stays() {
        let shelf = Shelf::new("ticket", Duration::from_secs(3600));
        let handle = shelf.put("ann", 7).expect("random numbers");
        let used = shelf.get("ann", &handle).expect("hers");
        shelf.kept.lock().values_mut().for_each(|kept| kept.until = Instant::now());
        shelf.sweep(|_| true);
        drop(used);
        shelf.kept.lock().values_mut().for_each(|kept| kept.until += Duration::from_secs(3600));
        shelf.sweep(|_| false);
        assert_eq!(*shelf.take("ann", &handle).expect("used"), 7);
        assert!(shelf.take("ann", &handle).is_err());
    }
}
