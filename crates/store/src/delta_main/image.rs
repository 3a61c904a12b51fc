//! Images: pages and the delta, key by key, while writers go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use types::Result;

use super::DeltaMain;
use super::page::Body;
use super::state::{Seen, Spot, State};
use super::versions::{Found, Outdated, Source, Versions};
use crate::error::StoreError;
use crate::image::{ImageWriter, Imaged, Older};
use crate::log::{Address, Pages};
use crate::schema::Key;
use crate::snapshot::{Snapshot, Version};
use crate::table::{Horizon, Write};
use crate::tuple::TupleWriter;

/// Parts of a table while its image is made.
struct Camera<'a, B: Body> {
    table: &'a DeltaMain<B>,
    state: &'a State<B>,
    /// Pages of the log, read again when an entry is met that was written since.
    log: Arc<Pages>,
    needed: Version,
    row: TupleWriter,
}

impl<B: Body> Imaged for DeltaMain<B> {
    /// Keeps merges from moving keys while it writes; those that come due meanwhile are left out.
    fn image(&self, writer: &mut ImageWriter<'_>) -> Result<Version> {
        let _still = self.merging.lock();
        let needed = self.horizon.needed(self.schema.kind());
        let state = self.state.load_full();
        let (log, row) = (self.log.pages_held(), TupleWriter::default());
        let mut camera = Camera { table: self, state: &state, log, needed, row };
        for page in state.pages.iter().flatten() {
            for record in 0..page.records.len() {
                let (key, word) = (page.records.key(record), page.records.word(record));
                let seen = state.seen(key, word, &self.memory)?;
                camera.key(key, seen, Some(Spot { page, record }), writer)?;
            }
        }
        let mut outcome = Ok(());
        state.delta.each(|key, word| {
            if outcome.is_ok() {
                let seen = state.seen(key, word, &self.memory);
                outcome = seen
                    .map_err(types::Error::from)
                    .and_then(|seen| camera.key(key, seen, None, writer));
            }
        });
        outcome?;
        writer.finish()?;
        Ok(self.horizon.needed(self.schema.kind()))
    }

    fn image_of(&self, key: Key, writer: &mut ImageWriter<'_>) -> Result<()> {
        let needed = self.horizon.needed(self.schema.kind());
        loop {
            let state = self.state.load_full();
            let Some((top, spot)) = self.look(&state, key)? else { continue };
            let (log, row) = (self.log.pages_held(), TupleWriter::default());
            let mut camera = Camera { table: self, state: &state, log, needed, row };
            writer.begin(key);
            if camera.versions(top, spot, writer).is_ok() {
                return writer.end();
            }
        }
    }

    fn redo(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<(), StoreError> {
        self.put(snapshot, key, write)
    }

    fn horizon(&self) -> &Horizon {
        &self.horizon
    }
}

impl<B: Body> Camera<'_, B> {
    fn key(
        &mut self,
        key: Key,
        seen: Seen,
        spot: Option<Spot<'_, B>>,
        writer: &mut ImageWriter<'_>,
    ) -> Result<()> {
        // Words move in merges alone.
        let Seen::Top(top) = seen else { return Ok(()) };
        self.refresh(top);
        writer.begin(key);
        // No merge takes entries away while the image is made.
        drop(self.versions(top, spot, writer));
        writer.end()
    }

    fn versions(
        &mut self,
        top: Address,
        spot: Option<Spot<'_, B>>,
        writer: &mut ImageWriter<'_>,
    ) -> Result<(), Outdated> {
        let log = Arc::clone(&self.log);
        for found in Versions::new(&log, top, self.state.floor, spot) {
            if self.version(found?, spot, writer) == Older::Garbage {
                break;
            }
        }
        Ok(())
    }

    fn version(
        &mut self,
        found: Found<'_>,
        spot: Option<Spot<'_, B>>,
        writer: &mut ImageWriter<'_>,
    ) -> Older {
        let (version, needed) = (found.version, self.needed);
        match (found.source, spot) {
            (Source::Entry(entry), _) => {
                let words = entry.row().iter().map(|word| word.load(Ordering::Relaxed));
                writer.version(version, Some(words), needed)
            }
            (Source::Row(row), Some(spot)) => {
                spot.page.body.row(&self.table.schema, row, &mut self.row);
                writer.version(version, Some(self.row.words.iter().copied()), needed)
            }
            _ => writer.version(version, None::<std::iter::Empty<u64>>, needed),
        }
    }

    fn refresh(&mut self, top: Address) {
        if top != 0 && self.log.entry(top).is_none() {
            self.log = self.table.log.pages_held();
        }
    }
}
