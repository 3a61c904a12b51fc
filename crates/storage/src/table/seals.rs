//! Seals of blocks whose rows are copied, to be read elsewhere from then on.

use std::sync::Arc;

use types::Result;

use super::Table;
use crate::block::Block;
use crate::versions::{Marks, ZONE_ROWS};

/// Seals of all zones of some blocks; what is left of them goes when this does.
pub(super) struct Seals {
    zones: Vec<SealedZone>,
    /// Zones from the first on that are retired.
    retired: usize,
}

/// A zone by its first row.
struct SealedZone {
    block: Arc<Block>,
    first: u32,
}

impl SealedZone {
    fn marks(&self) -> &Marks {
        self.block.versions.zone(self.first).expect("made before it was sealed").marks()
    }
}

impl Table {
    /// Seals all zones of blocks that take no new rows; None when some row is touched.
    pub(super) fn seal(&self, blocks: &[Arc<Block>]) -> Result<Option<Seals>> {
        let mut seals = Seals { zones: Vec::new(), retired: 0 };
        for block in blocks {
            for first in (0..block.rows() as u32).step_by(ZONE_ROWS) {
                let zone = block.versions.make_zone(first, || block.rows(), &self.pool)?;
                if !zone.marks().seal() {
                    return Ok(None);
                }
                seals.zones.push(SealedZone { block: Arc::clone(block), first });
            }
        }
        Ok(Some(seals))
    }
}

impl Seals {
    /// True when nobody has broken one of them so far.
    pub(super) fn are_whole(&self) -> bool {
        self.zones.iter().all(|zone| zone.marks().is_sealed())
    }

    /// Retires all zones; when a seal was broken, gives all back and says false.
    pub(super) fn retire(&mut self) -> bool {
        while let Some(zone) = self.zones.get(self.retired) {
            if !zone.marks().retire() {
                self.give_back();
                return false;
            }
            self.retired += 1;
        }
        true
    }

    /// The rows stay where they are.
    pub(super) fn give_back(&mut self) {
        let (retired, sealed) = self.zones.split_at(self.retired);
        retired.iter().for_each(|zone| zone.marks().revive());
        sealed.iter().for_each(|zone| zone.marks().take_seal());
        self.keep();
    }

    /// The rows are elsewhere now: the zones stay retired.
    pub(super) fn keep(&mut self) {
        self.zones.clear();
        self.retired = 0;
    }
}

impl Drop for Seals {
    fn drop(&mut self) {
        self.give_back();
    }
}
