//! Calls on one key: whoever changes it exchanges its word.

use std::sync::atomic::Ordering;

use super::DeltaMain;
use super::page::Body;
use super::state::{Seen, Spot, State};
use super::versions::{Found, Outdated, Versions, tuple};
use crate::error::{Result, StoreError};
use crate::log::{Address, Draft, Kind};
use crate::schema::Key;
use crate::snapshot::{Snapshot, Version};
use crate::table::{Fetched, Head, Room, Step, Write, answer, thread_number};
use crate::tuple::Tuple;

impl<B: Body> DeltaMain<B> {
    pub(super) fn read(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched> {
        self.horizon.admit(snapshot)?;
        loop {
            let state = self.state.load();
            let Some((top, spot)) = self.look(&state, key)? else { continue };
            let pages = self.log.pages();
            let (mut newest, mut visible) = (None, None);
            let mut is_outdated = false;
            for found in Versions::new(&pages, top, state.floor, spot) {
                let Ok(found) = found else {
                    is_outdated = true;
                    break;
                };
                newest.get_or_insert(found.version);
                if snapshot.sees(found.version) {
                    visible = Some((found.version, tuple(found, spot, &self.schema)));
                    break;
                }
            }
            if !is_outdated {
                return answer(newest, visible);
            }
        }
    }

    pub(super) fn newest(&self, key: Key) -> Version {
        loop {
            let state = self.state.load();
            let Ok(Some((top, spot))) = self.look(&state, key) else { continue };
            let pages = self.log.pages();
            match Versions::new(&pages, top, state.floor, spot).next() {
                None => return Version(0),
                Some(Ok(found)) => return found.version,
                Some(Err(Outdated)) => (),
            }
        }
    }

    /// The newest entry and the record of a key; `None` when there is a newer state.
    #[inline]
    pub(super) fn look<'a>(
        &self,
        state: &'a State<B>,
        key: Key,
    ) -> Result<Option<(Address, Option<Spot<'a, B>>)>> {
        let spot = state.spot(key);
        let word = match spot {
            Some(spot) => Some(spot.page.records.word(spot.record)),
            None => state.delta.find(key),
        };
        let seen = match word {
            Some(word) => state.seen(key, word, &self.memory)?,
            None => state.seen_before(key),
        };
        Ok(match seen {
            Seen::Top(top) => Some((top, spot)),
            Seen::Outdated => None,
        })
    }

    pub(super) fn write(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        self.horizon.admit(snapshot)?;
        self.put(snapshot, key, write)
    }

    /// As [`Self::write`], whatever the snapshot's base is.
    pub(super) fn put(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        let version = snapshot.writes()?.0;
        let kind = if write.tuple().is_some() { Kind::Data } else { Kind::Delete };
        let row = write.tuple().map_or(&[][..], Tuple::words);
        self.change(key, |top| {
            Ok(Some(match write.step(snapshot, top.first, top.second)? {
                // An entry hides what the same transaction wrote before.
                Step::Above | Step::Replace => Draft { key, version, kind, row },
                Step::Undo => Draft { key, version, kind: Kind::Revert, row: &[] },
            }))
        })
    }

    pub(super) fn take_back(&self, version: Version, key: Key) -> Result<()> {
        self.change(key, |top| {
            let is_newest = top.first.version() == Some(version);
            let draft = Draft { key, version: version.0, kind: Kind::Revert, row: &[] };
            Ok(is_newest.then_some(draft))
        })?;
        // A version that was taken back is hidden.
        if self.has(version, key)? { Err(StoreError::NotInSnapshot) } else { Ok(()) }
    }

    fn has(&self, version: Version, key: Key) -> Result<bool> {
        loop {
            let state = self.state.load();
            let Some((top, spot)) = self.look(&state, key)? else { continue };
            let pages = self.log.pages();
            let mut versions = Versions::new(&pages, top, state.floor, spot);
            let mut is_outdated = false;
            let is_there = versions.any(|found| match found {
                Ok(found) => found.version == version,
                Err(Outdated) => {
                    is_outdated = true;
                    true
                }
            });
            if !is_outdated {
                return Ok(is_there);
            }
        }
    }

    /// Puts the entry that `draft` makes of the newest versions on top of a key, if it makes one.
    fn change<'d>(
        &self,
        key: Key,
        draft: impl Fn(&Top) -> Result<Option<Draft<'d>>>,
    ) -> Result<()> {
        let _passage = self.gate.enter(thread_number());
        let mut made = None;
        loop {
            let state = self.state.load();
            let (word, seen) = state.to_write(key, &self.memory)?;
            let Seen::Top(top) = seen else { continue };
            let (pages, spot) = (self.log.pages(), state.spot(key));
            let Ok(newest) = Top::of(Versions::new(&pages, top, state.floor, spot)) else {
                continue;
            };
            let Some(draft) = draft(&newest)? else { return Ok(()) };
            let address = match made {
                Some((address, kind)) if kind == draft.kind => address,
                _ => {
                    let is_revert = draft.kind == Kind::Revert;
                    let room = if is_revert { Room::Beyond } else { Room::Limited };
                    made.insert((self.log.append(draft, room)?, draft.kind)).0
                }
            };
            let pages = self.log.pages();
            let entry = pages.entry(address).expect("pages stay while their writers are in flight");
            entry.previous().store(top, Ordering::Relaxed);
            if let (0, Some(spot)) = (top, spot) {
                spot.page.records.touch();
            }
            if word.compare_exchange(top, address, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
    }
}

/// The two newest versions of a key.
struct Top {
    first: Head,
    second: Head,
}

impl Top {
    fn of<B: Body>(mut versions: Versions<'_, B>) -> Result<Self, Outdated> {
        let first = versions.next().transpose()?;
        let second = versions.next().transpose()?;
        Ok(Self { first: Found::head(first), second: Found::head(second) })
    }
}
