//! Keys on their way from one store to another: what source and target do.
//!
//! The source notes the keys that it has and those that are changed, and gives images of them as
//! often as it is asked; the target puts images in the place of what it has, so that all that
//! counts is that the last one is the newest.

use store::server::{KeyImages, TableId, dropped_name};
use store::{HashRange, Key, Ranges, Result, StoreError, Version};
use types::codec::{Input, Malformed};
use types::{Error, SqlState};

use super::StoreService;
use crate::message::{Call, Copied, Piece, TableList};
use crate::placement::{Attempt, Life, Step};

/// Keys whose images are given at once.
const KEYS_AT_ONCE: usize = 1024;

/// Bytes of images behind which no more are given at once.
const BYTES_AT_ONCE: usize = 512 << 10;

/// Why a store does not take part.
pub(crate) const OWN_ROWS: &str = "the store has rows of its own";

/// An error of a store's tables as that of a call.
fn refusal(error: &Error) -> StoreError {
    if error.state() == SqlState::OUT_OF_MEMORY {
        StoreError::OutOfMemory
    } else {
        StoreError::InvalidTable(error.to_string())
    }
}

impl StoreService {
    /// Makes a step of a move.
    pub(super) fn place(&self, attempt: Attempt, step: &Step) -> Result<()> {
        let _order = self.order();
        if let Step::Import { owned, .. } = step
            && owned.is_empty()
            && self.tables()?.has_own_rows
        {
            // They are of another database.
            return Err(StoreError::InvalidTable(OWN_ROWS.into()));
        }
        self.step(attempt, step, Life::Now)
    }

    fn step(&self, attempt: Attempt, step: &Step, life: Life) -> Result<()> {
        let others = self.placement.others();
        self.placement.step(attempt, step, life)?;
        match step {
            Step::Import { .. } | Step::Clear if others.is_some() => self.clear(),
            _ => Ok(()),
        }
    }

    /// Does again what an earlier life did; tables that are missing were dropped since.
    pub(crate) fn move_again(&self, call: &Call<'_>, missing: Missing) -> Result<()> {
        match call {
            Call::Place { attempt, step } => self.step(*attempt, step, Life::Earlier),
            // Its notes are lost.
            Call::Track { attempt, .. } => self.placement.heard(*attempt),
            Call::Replace { attempt, pieces } => {
                let range = self.placement.incoming(*attempt)?;
                self.put_pieces(pieces, range, missing)
            }
            _ => Err(StoreError::InvalidWrite),
        }
    }

    /// Its tables.
    pub(super) fn tables(&self) -> Result<TableList> {
        let (tables, mut has_own_rows) = (self.store.definitions(), false);
        if self.placement.kept().owned.is_none() {
            for table in &tables {
                has_own_rows |= self.store.table(table.id)?.stats().versions > 0;
            }
        }
        Ok(TableList { has_own_rows, tables })
    }

    /// Takes out the keys that the store does not own.
    fn clear(&self) -> Result<()> {
        let Some(others) = self.placement.others() else { return Ok(()) };
        for table in self.store.definitions() {
            for key in self.keys(table.id, &others)? {
                self.store.forget(table.id, key).map_err(|error| refusal(&error))?;
            }
        }
        self.placement.cleared();
        Ok(())
    }

    fn keys(&self, table: TableId, wanted: &Ranges) -> Result<Vec<Key>> {
        self.store.keys(table, wanted).map_err(|error| refusal(&error))
    }

    /// Begins to note the keys of a range; those that there are, are noted when it returns.
    pub(super) fn track(&self, attempt: Attempt, range: HashRange) -> Result<()> {
        let _order = self.order();
        // First changes are noted, then what there is: no key is missed.
        self.placement.track(attempt, range)?;
        let wanted = Ranges::of(vec![range]);
        for table in self.store.definitions() {
            let keys = self.keys(table.id, &wanted)?;
            self.placement.list(attempt, table.id, &keys)?;
        }
        self.placement.listed(attempt)
    }

    /// Images of noted keys, as they are now.
    pub(super) fn copy(&self, attempt: Attempt, from: u64) -> Result<Copied> {
        let (keys, noted) = self.placement.noted(attempt, from as usize, KEYS_AT_ONCE)?;
        let mut copied = Copied { next: from, noted: noted as u64, pieces: Vec::new() };
        let tables = self.store.definitions();
        for same in keys.chunk_by(|one, other| one.0 == other.0) {
            let table = tables.iter().find(|table| table.id == same[0].0);
            let (mut images, mut horizon) = (Vec::new(), Version(0));
            for (id, key) in same {
                let image = self.store.image_of(*id, *key, &mut images);
                horizon = horizon.max(image.map_err(|error| refusal(&error))?);
                copied.next += 1;
                if copied.pieces.len() + images.len() >= BYTES_AT_ONCE {
                    break;
                }
            }
            if let Some(table) = table {
                Piece { table: &table.name, horizon, images: &images }.put(&mut copied.pieces);
            }
            if copied.pieces.len() >= BYTES_AT_ONCE {
                break;
            }
        }
        Ok(copied)
    }

    /// Puts images in the place of what there is of their keys.
    pub(super) fn replace(&self, attempt: Attempt, pieces: &[u8]) -> Result<()> {
        let _order = self.order();
        let range = self.placement.incoming(attempt)?;
        self.put_pieces(pieces, range, Missing::Refused)
    }

    /// Puts images in the place of what there is of their keys, which are of `range`.
    fn put_pieces(&self, pieces: &[u8], range: HashRange, missing: Missing) -> Result<()> {
        let damaged = |malformed: Malformed| {
            StoreError::InvalidTuple(malformed.in_bytes_of("rows that move").to_string())
        };
        let mut input = Input::new(pieces);
        while !input.is_empty() {
            let Piece { table, horizon, images } = Piece::read(&mut input).map_err(damaged)?;
            let id = match self.store.find(table) {
                Ok((id, _)) => id,
                Err(_) if missing == Missing::Dropped => continue,
                // It was dropped here, and is about to be there.
                Err(_) if self.store.find(&dropped_name(table)).is_ok() => continue,
                Err(error) => return Err(error),
            };
            let images = KeyImages { range, horizon, bytes: images };
            self.store.replace(id, &images).map_err(|error| refusal(&error))?;
        }
        Ok(())
    }
}

/// Fate of images whose table is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Left out: the table was dropped since.
    Dropped,
    /// Refused: the table has to be made first.
    Refused,
}
