//! Statistics kept with a table, and when they are made again.

use std::collections::HashMap;
use std::sync::Arc;

use types::{PhysicalType, Result};

use super::{ColumnSummary, Sample};
use crate::block::Block;
use crate::positions::Positions;
use crate::snapshot::TableSnapshot;
use crate::statistics::TableStatistics;

/// Summaries of what loads brought, and of other blocks as they were when last looked at.
#[derive(Debug)]
pub(crate) struct Known {
    types: Vec<PhysicalType>,
    loaded: Vec<ColumnSummary>,
    loaded_sample: Sample,
    /// Statistics by block id.
    blocks: HashMap<u64, Looked>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Looked {
    rows: u64,
    changes: u64,
    /// None for blocks that are part of what was loaded.
    found: Option<(Vec<ColumnSummary>, Sample)>,
}

#[derive(Debug)]
struct Current {
    changes: u64,
    statistics: Arc<TableStatistics>,
}

fn nothing(types: &[PhysicalType]) -> Vec<ColumnSummary> {
    types.iter().map(|_| ColumnSummary::nulls(0)).collect()
}

impl Known {
    pub(crate) fn new(types: Vec<PhysicalType>) -> Self {
        Self {
            loaded: nothing(&types),
            loaded_sample: Sample::new(&types, 1.0),
            blocks: HashMap::new(),
            current: None,
            types,
        }
    }

    /// Share of rows sampled, for the next load.
    pub(crate) fn threshold(&self) -> f64 {
        self.loaded_sample.threshold()
    }

    /// Takes what a load found in `blocks`.
    pub(crate) fn add_loaded(
        &mut self,
        blocks: &[Arc<Block>],
        summaries: &[ColumnSummary],
        sample: &Sample,
    ) {
        for (summary, more) in self.loaded.iter_mut().zip(summaries) {
            summary.merge(more);
        }
        self.loaded_sample.merge(sample);
        for block in blocks {
            let looked = Looked { rows: block.rows() as u64, changes: 0, found: None };
            self.blocks.insert(block.id(), looked);
        }
    }

    /// The statistics made last, when less than a tenth of the rows changed since.
    pub(crate) fn current(&self, changes: u64, epoch: u64) -> Option<Arc<TableStatistics>> {
        let current = self.current.as_ref()?;
        let changed = changes - current.changes;
        let is_good = current.statistics.range_epoch == epoch
            && (changed == 0 || changed * 10 < current.statistics.rows);
        is_good.then(|| Arc::clone(&current.statistics))
    }

    pub(crate) fn set_current(&mut self, changes: u64, statistics: Arc<TableStatistics>) {
        self.current = Some(Current { changes, statistics });
    }

    /// Summaries and a sample of all rows of `snapshot`, looking at blocks of which a tenth
    /// changed.
    ///
    /// # Errors
    /// As [`TableSnapshot::unpack`].
    pub(crate) fn look(
        &mut self,
        snapshot: &Arc<TableSnapshot>,
    ) -> Result<(Vec<ColumnSummary>, Sample)> {
        let mut summaries = self.loaded.clone();
        let mut sample = self.loaded_sample.clone();
        let mut kept = HashMap::with_capacity(snapshot.block_count());
        for number in 0..snapshot.block_count() {
            let block = snapshot.block(number);
            let (rows, changes) = (block.rows() as u64, block.changes());
            let old = self.blocks.remove(&block.id());
            let looked = match old {
                Some(old) if old.found.is_none() || is_fresh(&old, rows, changes) => old,
                _ => {
                    let threshold = self.loaded_sample.threshold();
                    let found = summarise(snapshot, number, &self.types, threshold)?;
                    Looked { rows, changes, found: Some(found) }
                }
            };
            if let Some((found, sampled)) = &looked.found {
                for (summary, more) in summaries.iter_mut().zip(found) {
                    summary.merge(more);
                }
                sample.merge(sampled);
            }
            kept.insert(block.id(), looked);
        }
        self.blocks = kept;
        Ok((summaries, sample))
    }
}

fn is_fresh(old: &Looked, rows: u64, changes: u64) -> bool {
    let changed = changes - old.changes + (rows - old.rows);
    changed == 0 || changed * 10 < old.rows
}

fn summarise(
    snapshot: &Arc<TableSnapshot>,
    number: usize,
    types: &[PhysicalType],
    threshold: f64,
) -> Result<(Vec<ColumnSummary>, Sample)> {
    let positions = Positions::List(snapshot.visible(number));
    let columns = (0..types.len()).map(|column| {
        let column = snapshot.unpack(number, column, &positions)?;
        Ok(column.to_vector().into_owned())
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let columns: Vec<_> = columns.iter().collect();
    let mut sample = Sample::new(types, threshold);
    sample.add(&columns, positions.len(), snapshot.block(number).id());
    Ok((columns.into_iter().map(ColumnSummary::of).collect(), sample))
}
