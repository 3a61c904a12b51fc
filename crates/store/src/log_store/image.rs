//! Images: the index, key by key, while writers and collections go on.

use std::sync::atomic::{AtomicU64, Ordering};

use types::Result;

use super::LogStore;
use super::read::{Chain, Moved};
use crate::error::StoreError;
use crate::image::{ImageWriter, Imaged, Older};
use crate::log::Kind;
use crate::schema::Key;
use crate::snapshot::{Snapshot, Version};
use crate::table::{Horizon, Write};

impl Imaged for LogStore {
    fn image(&self, writer: &mut ImageWriter<'_>) -> Result<Version> {
        let needed = self.horizon.needed(self.schema.kind());
        let mut outcome = Ok(());
        self.index.each(|key, word| {
            if outcome.is_ok() {
                outcome = self.key(key, word, needed, writer);
            }
        });
        outcome?;
        writer.finish()?;
        Ok(self.horizon.needed(self.schema.kind()))
    }

    fn image_of(&self, key: Key, writer: &mut ImageWriter<'_>) -> Result<()> {
        let needed = self.horizon.needed(self.schema.kind());
        match self.index.find(key) {
            Some(word) => self.key(key, word, needed, writer),
            None => {
                writer.begin(key);
                writer.end()
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

impl LogStore {
    fn key(
        &self,
        key: Key,
        word: &AtomicU64,
        needed: Version,
        writer: &mut ImageWriter<'_>,
    ) -> Result<()> {
        loop {
            writer.begin(key);
            if self.versions(word, needed, writer).is_ok() {
                return writer.end();
            }
        }
    }

    fn versions(
        &self,
        word: &AtomicU64,
        needed: Version,
        writer: &mut ImageWriter<'_>,
    ) -> Result<(), Moved> {
        let head = word.load(Ordering::Acquire);
        let pages = self.log.pages();
        for entry in Chain::new(&pages, head) {
            let entry = entry?;
            let words = entry.row().iter().map(|word| word.load(Ordering::Relaxed));
            let row = (entry.kind() == Kind::Data).then_some(words);
            if writer.version(entry.version(), row, needed) == Older::Garbage {
                break;
            }
        }
        Ok(())
    }
}
