//! Chooses whether a scan tests the filters of joins: tries both ways, then takes the faster one.
//!
//! ```text
//! windows: 4 to warm up | with, without, with, without ... 8 of each | the way of less median
//!                         '---------------- after 256 windows without filters ---------------'
//! ```
//! A window's time is that of the whole pipeline on it, for each row that the scan looked at. What
//! a filter drops may cost less later than the filter costs here: keys that a join finds in an
//! array in the cache, rows that only are counted. Rows may come in an order in which a filter
//! drops nothing at first, so that it is tried again; filters that drop nothing later give up
//! themselves.
//! Source: micro-adaptivity of early probing, Funke 2015, section 5.7. Departures: workers share
//! what they measured, so each tries less; the loser is tried again.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use parking_lot::Mutex;

/// Windows before the first that counts.
const WARM_UP: u32 = 4;
/// Windows that count, of each way.
const SAMPLES: usize = 8;
/// Windows without filters until both ways are tried again.
const STAY: u32 = 256;
/// Rows of a window that counts at least.
const ROWS_MIN: usize = 512;
/// Rows of a scan from which on trying pays: a hundred times those that are tried without filters.
pub(super) const SCAN_ROWS_MIN: u64 = 100 * (SAMPLES * kernels::BATCH_ROWS) as u64;

/// A way to run the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// Keys are tested by the scan.
    Filters,
    /// Only by the joins.
    Joins,
}

/// Picoseconds per row of the windows that count.
type Samples = [Vec<u64>; 2];

/// Measurements of both ways, by all workers of one scan.
#[derive(Debug, Default)]
pub(super) struct Flavours {
    winner: AtomicU8,
    /// Windows begun while nothing is decided, or since the winner does without filters.
    windows: AtomicU32,
    samples: Mutex<Samples>,
}

const UNDECIDED: u8 = 0;
const FILTERS: u8 = 1;
const JOINS: u8 = 2;

impl Flavours {
    /// The way of the next window, and whether it is to be reported.
    pub(super) fn next(&self) -> (Flavour, bool) {
        let winner = self.winner.load(Ordering::Relaxed);
        if winner == FILTERS {
            return (Flavour::Filters, false);
        }
        let window = self.windows.fetch_add(1, Ordering::Relaxed);
        if winner == JOINS {
            if window >= STAY {
                self.settle(UNDECIDED);
            }
            return (Flavour::Joins, false);
        }
        match window.checked_sub(WARM_UP) {
            None => (Flavour::Filters, false),
            Some(tried) if tried % 2 == 0 => (Flavour::Filters, true),
            Some(_) => (Flavour::Joins, true),
        }
    }

    fn settle(&self, winner: u8) {
        self.windows.store(0, Ordering::Relaxed);
        self.winner.store(winner, Ordering::Relaxed);
    }

    /// A window of `rows` rows took `nanos`.
    pub(super) fn report(&self, flavour: Flavour, rows: usize, nanos: u128) {
        if rows < ROWS_MIN || self.winner.load(Ordering::Relaxed) != UNDECIDED {
            return;
        }
        // Who finds another worker here does not wait: there are more windows.
        let Some(mut samples) = self.samples.try_lock() else { return };
        samples[flavour as usize].push((nanos * 1000 / rows as u128) as u64);
        if samples.iter().any(|way| way.len() < SAMPLES) {
            return;
        }
        let [filters, joins] = std::mem::take(&mut *samples).map(median);
        self.settle(if joins < filters { JOINS } else { FILTERS });
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way after windows of these nanoseconds per row, with filters and without.
    fn settled(filters: u128, joins: u128) -> Flavour {
        let flavours = Flavours::default();
        run(&flavours, filters, joins, 100);
        let (flavour, counts) = flavours.next();
        assert!(!counts, "it is decided");
        flavour
    }

    fn run(flavours: &Flavours, filters: u128, joins: u128, windows: usize) {
        for window in 0..windows {
            let (flavour, counts) = flavours.next();
            if counts {
                // Now and then something else runs on the machine.
                let disturbed = if window % 7 == 0 { 50 } else { 1 };
                let nanos = [filters, joins][flavour as usize] * disturbed;
                flavours.report(flavour, 2048, nanos * 2048);
            }
        }
    }

    #[test]
    fn filters_that_drop_nothing_at_first_are_tried_again() {
        let flavours = Flavours::default();
        run(&flavours, 4, 3, 100);
        assert_eq!(flavours.next(), (Flavour::Joins, false));
        run(&flavours, 1, 3, STAY as usize + 100);
        assert_eq!(flavours.next(), (Flavour::Filters, false));
    }

    #[test]
    fn the_faster_way_is_taken() {
        assert_eq!(settled(3, 4), Flavour::Filters);
        assert_eq!(settled(4, 3), Flavour::Joins);
        assert_eq!(settled(3, 3), Flavour::Filters, "nothing is gained");
    }

    #[test]
    fn small_windows_and_late_reports_say_nothing() {
        let flavours = Flavours::default();
        for _ in 0..50 {
            flavours.report(Flavour::Joins, 10, 1);
            flavours.report(Flavour::Filters, 2048, 1);
        }
        let tried: Vec<_> = (0..8).map(|_| flavours.next()).collect();
        assert_eq!(
            tried[4..],
            [
                (Flavour::Filters, true),
                (Flavour::Joins, true),
                (Flavour::Filters, true),
                (Flavour::Joins, true)
            ]
        );
    }
}
