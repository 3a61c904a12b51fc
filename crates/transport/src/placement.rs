//! Keys that a store answers for while others take some of them over, or give it some.
//!
//! ```text
//! source   owned --track--> owned, changed keys are noted --freeze--> refuses the range
//!            --own (without it)--> --clear--> the range is gone
//! target   refuses the range --import, replace--> has a copy --own (with it)--> owned
//! ```
//! A call on a key of another store is refused with `Moved`, and so are scans of such keys. Each
//! order of a move has an attempt; once a store heard of one, earlier ones are `Overtaken`: so a
//! node that was too slow does nothing any more.
//! Invariants: of source and target one answers for a key at most, since the source refuses before
//! the target is told to own; keys are taken out when no scan runs that was let in before; a store
//! that never took part in a move answers for what it has.
//! Elsewhere: who decides what moves (`ring`, the commit manager), who carries it out (`moving`).

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use store::server::TableId;
use store::{HashRange, Key, Ranges, Result, StoreError, hash_of};
use types::codec::{Input, Malformed, put_u64};

/// Number of an order to move keys; later ones have larger numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(pub u64);

/// Notes of changed keys that a source keeps; with more it gives up, and the move begins anew.
const CHANGES_MAX: usize = 1 << 24;

/// Keys of a range: those that it had, then those that were changed since, again and again.
#[derive(Debug)]
struct Track {
    range: HashRange,
    keys: Mutex<Vec<(TableId, Key)>>,
}

/// Keys that a store answers for; the part that outlives the process is [`Kept`].
#[derive(Debug, Default)]
struct State {
    kept: Kept,
    track: Option<Arc<Track>>,
    /// True when all keys that the source had are noted.
    is_listed: bool,
    /// Keys that are not owned are about to come.
    expects_others: bool,
    /// Scans below this number may read keys that are not owned any more, or whatever there is.
    scans_before: u64,
}

impl State {
    fn has_others(&self) -> bool {
        self.kept.has_others || self.expects_others
    }
}

/// Life of the process in which a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// This one.
    Now,
    /// An earlier one, which made it: it is made again.
    Earlier,
}

/// The part of a placement that is on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Last attempt that it heard of.
    pub(crate) attempt: Attempt,
    /// Keys that it answers for; `None` for all that it has.
    pub(crate) owned: Option<Ranges>,
    /// Owned keys that it refuses.
    pub(crate) frozen: Option<HashRange>,
    /// Keys that come.
    pub(crate) incoming: Option<HashRange>,
    /// May it have keys that are not owned?
    pub(crate) has_others: bool,
}

/// A change of a placement, by an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Owns these, and nothing is on the way.
    Own(Ranges),
    /// Owns these, and gets `range`.
    Import { owned: Ranges, range: HashRange },
    /// Others are about to have the range, which it tracks.
    Freeze(HashRange),
    /// Takes out what it does not own.
    Clear,
}

/// Scans that run.
#[derive(Debug, Default)]
struct Scans {
    next: u64,
    running: BTreeSet<u64>,
}

/// A scan that was let in; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    number: u64,
    placement: Arc<Placement>,
    /// Keys that count; `None` when the table has no others.
    pub(crate) within: Option<Ranges>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.placement.scans.lock().running.remove(&self.number);
    }
}

/// The keys that a store answers for.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    state: RwLock<State>,
    scans: Mutex<Scans>,
}

/// A moment in which nothing changes.
pub(crate) struct Still<'a>(RwLockReadGuard<'a, State>);

impl Still<'_> {
    /// Looks whether the store answers for a key.
    ///
    /// # Errors
    /// [`StoreError::Moved`].
    pub(crate) fn admit(&self, key: Key) -> Result<()> {
        let Kept { owned, frozen, .. } = &self.0.kept;
        let is_elsewhere = owned.as_ref().is_some_and(|owned| !owned.holds(key));
        let is_frozen = frozen.is_some_and(|range| range.holds(hash_of(key)));
        if is_elsewhere || is_frozen { Err(StoreError::Moved) } else { Ok(()) }
    }

    /// Notes that a key was changed.
    pub(crate) fn changed(&self, table: TableId, key: Key) {
        if let Some(track) = &self.0.track
            && track.range.holds(hash_of(key))
        {
            track.keys.lock().push((table, key));
        }
    }
}

impl Placement {
    /// The placement of this moment, which stays while the result lives.
    pub(crate) fn still(&self) -> Still<'_> {
        Still(self.state.read())
    }

    /// As [`Self::still`], also for a thread that has it already: whoever waits for a change waits
    /// on.
    pub(crate) fn still_again(&self) -> Still<'_> {
        Still(self.state.read_recursive())
    }

    /// The part that is kept.
    pub(crate) fn kept(&self) -> Kept {
        self.state.read().kept.clone()
    }

    /// Goes on where an earlier life was.
    pub(crate) fn restore(&self, kept: Kept) {
        *self.state.write() = State { kept, ..State::default() };
    }

    /// Hashes of keys that the store may have and does not own, if there are any.
    pub(crate) fn others(&self) -> Option<Ranges> {
        let state = self.state.read();
        let owned = state.kept.owned.clone().filter(|_| state.kept.has_others)?;
        let all = Ranges::of(vec![HashRange::ALL]);
        Some(owned.list().iter().fold(all, |rest, range| rest.without(range)))
    }

    /// Looks whether an order still counts, and makes it the last one that does.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    fn hear(state: &mut State, attempt: Attempt) -> Result<()> {
        if attempt < state.kept.attempt {
            return Err(StoreError::Overtaken);
        }
        state.kept.attempt = attempt;
        Ok(())
    }

    /// Hears of an order of an earlier life.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub(crate) fn heard(&self, attempt: Attempt) -> Result<()> {
        Self::hear(&mut self.state.write(), attempt)
    }

    /// Makes a step whose keys, if it takes some out, are still to be taken out: see
    /// [`Self::cleared`].
    ///
    /// # Errors
    /// [`StoreError::Overtaken`]; [`StoreError::Overloaded`] while scans run that may need what
    /// would be taken out.
    pub(crate) fn step(&self, attempt: Attempt, step: &Step, life: Life) -> Result<()> {
        let mut state = self.state.write();
        Self::hear(&mut state, attempt)?;
        match step {
            Step::Own(owned) => {
                self.own(&mut state, owned);
                state.expects_others = false;
            }
            Step::Import { owned, range } => {
                self.own(&mut state, owned);
                self.expect_others(&mut state);
                self.wait_for_scans(&state)?;
                (state.kept.incoming, state.kept.has_others) = (Some(*range), true);
                state.expects_others = false;
            }
            Step::Freeze(range) => {
                let is_tracked = state.track.as_ref().is_some_and(|track| track.range == *range);
                if life == Life::Now && !(is_tracked && state.is_listed) {
                    return Err(StoreError::Overtaken);
                }
                state.kept.frozen = Some(*range);
            }
            Step::Clear => self.wait_for_scans(&state)?,
        }
        Ok(())
    }

    fn own(&self, state: &mut State, owned: &Ranges) {
        let before = state.kept.owned.replace(owned.clone());
        let incoming = state.kept.incoming.take();
        (state.kept.frozen, state.track, state.is_listed) = (None, None, false);
        let is_same = before.as_ref() == Some(owned);
        let has_come = incoming.is_some_and(|range| {
            before.as_ref().is_some_and(|before| before.with(range) == *owned)
        });
        if has_come {
            state.kept.has_others = false;
        } else if incoming.is_some() || !(is_same || before.is_none()) {
            state.kept.has_others = true;
            state.scans_before = self.scans.lock().next;
        }
    }

    /// From now on, scans are told which keys count.
    fn expect_others(&self, state: &mut State) {
        if !state.has_others() {
            state.expects_others = true;
            state.scans_before = self.scans.lock().next;
        }
    }

    fn wait_for_scans(&self, state: &State) -> Result<()> {
        let scans = self.scans.lock();
        let is_needed = scans.running.first().is_some_and(|first| *first < state.scans_before);
        if is_needed { Err(StoreError::Overloaded) } else { Ok(()) }
    }

    /// Tells that what is not owned was taken out.
    pub(crate) fn cleared(&self) {
        let mut state = self.state.write();
        state.kept.has_others = state.kept.incoming.is_some();
    }

    /// Begins to note keys of `range` that are changed; the notes do not outlive the process.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub(crate) fn track(&self, attempt: Attempt, range: HashRange) -> Result<()> {
        let mut state = self.state.write();
        Self::hear(&mut state, attempt)?;
        state.track = Some(Arc::new(Track { range, keys: Mutex::default() }));
        state.is_listed = false;
        Ok(())
    }

    fn tracked(&self, attempt: Attempt) -> Result<Arc<Track>> {
        let state = self.state.read();
        let track = state.track.clone().filter(|_| state.kept.attempt == attempt);
        track.ok_or(StoreError::Overtaken)
    }

    /// Notes keys that were there.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub(crate) fn list(&self, attempt: Attempt, table: TableId, keys: &[Key]) -> Result<()> {
        let track = self.tracked(attempt)?;
        track.keys.lock().extend(keys.iter().map(|key| (table, *key)));
        Ok(())
    }

    /// Tells that all keys that were there are noted.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub(crate) fn listed(&self, attempt: Attempt) -> Result<()> {
        self.tracked(attempt)?;
        self.state.write().is_listed = true;
        Ok(())
    }

    /// Noted keys from a place on, `count` at most, and how many there are in all.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub(crate) fn noted(
        &self,
        attempt: Attempt,
        from: usize,
        count: usize,
    ) -> Result<(Vec<(TableId, Key)>, usize)> {
        let track = self.tracked(attempt)?;
        let keys = track.keys.lock();
        if keys.len() > CHANGES_MAX {
            return Err(StoreError::Overtaken);
        }
        let some = keys.iter().skip(from).take(count).copied().collect();
        Ok((some, keys.len()))
    }

    /// The range whose keys come, for an order that counts.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub(crate) fn incoming(&self, attempt: Attempt) -> Result<HashRange> {
        let state = self.state.read();
        let range = state.kept.incoming.filter(|_| state.kept.attempt == attempt);
        range.ok_or(StoreError::Overtaken)
    }

    /// Lets a scan of `wanted` in, which are all keys of the table as its caller knows them, or
    /// some.
    ///
    /// # Errors
    /// [`StoreError::Moved`].
    pub(crate) fn admit_scan(
        self: &Arc<Self>,
        wanted: Option<Ranges>,
        whole: Whole,
    ) -> Result<Admitted> {
        let state = self.state.read();
        let Kept { owned, frozen, .. } = &state.kept;
        let within = match (&wanted, owned) {
            (Some(wanted), Some(owned)) if !owned.covers(wanted) => return Err(StoreError::Moved),
            (Some(wanted), _) if frozen.is_some_and(|range| wanted.meets(&range)) => {
                return Err(StoreError::Moved);
            }
            (Some(wanted), Some(owned)) if owned == wanted && !state.has_others() => None,
            (Some(_), None) if whole == Whole::Yes => None,
            _ => wanted,
        };
        let number = {
            let mut scans = self.scans.lock();
            let number = scans.next;
            scans.next += 1;
            scans.running.insert(number);
            number
        };
        Ok(Admitted { number, placement: Arc::clone(self), within })
    }
}

/// Does a scan want all that its caller takes for the store's?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    Yes,
    No,
}

impl Kept {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.attempt.0);
        out.push(u8::from(self.owned.is_some()));
        self.owned.iter().for_each(|owned| owned.put(out));
        for range in [&self.frozen, &self.incoming] {
            out.push(u8::from(range.is_some()));
            range.iter().for_each(|range| range.put(out));
        }
        out.push(u8::from(self.has_others));
    }

    pub(crate) fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let attempt = Attempt(input.u64()?);
        let owned = if input.u8()? == 1 { Some(Ranges::read(input)?) } else { None };
        let mut range = || -> Result<Option<HashRange>, Malformed> {
            if input.u8()? == 1 { HashRange::read(input).map(Some) } else { Ok(None) }
        };
        let (frozen, incoming) = (range()?, range()?);
        Ok(Self { attempt, owned, frozen, incoming, has_others: input.u8()? == 1 })
    }
}
