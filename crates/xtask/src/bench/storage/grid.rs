//! The grid: which organisations of which tables answer which queries, part by part.
//!
//! ```text
//! part -> data -> organisation -> build -> queries x ways -> points
//! ```
//! Source: Patel 2013, sections 3 and 4; Chasseur 2015, sections 3.3 and 3.4.

use storage::{BLOCK_ROWS_MAX, Layout};

use super::measure::{Outputs, Point, Way, measure};
use super::organisations::{Build, Index, Order, Organisation, Stored};
use super::queries::{CONJUNCTION_PERCENTS, Columns, PERCENTS, Query, Role, minima};
use super::tables::{Data, NARROW_E, NARROW_U, ONE_PERCENT, STRINGS, TableSpec, WIDE_E};
use super::{Outcome, Settings};
use crate::bench_args::StoragePart;

/// All that was measured.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) points: Vec<Point>,
    pub(super) builds: Vec<Build>,
}

/// Bytes of rows of a block in the sweep.
pub(super) const SIZES: [usize; 12] = [
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
    8 << 20,
    16 << 20,
    32 << 20,
    64 << 20,
    128 << 20,
    256 << 20,
];

/// Blocks that hold what a file holds, in the part about files.
pub(super) const BLOCKS_OF_A_FILE: usize = 16;

/// `1.5 MiB`.
pub(super) fn size_name(bytes: usize) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", (bytes as f64 / f64::from(1 << 20) * 10.0).round() / 10.0),
    }
}

/// The sizes of blocks that `spec` can have: those of [`SIZES`] and the largest.
pub(super) fn sizes_of(spec: &TableSpec) -> Vec<usize> {
    let largest = BLOCK_ROWS_MAX * spec.row_bytes();
    SIZES.into_iter().filter(|&size| size < largest).chain([largest]).collect()
}

/// The organisations of the parts about tables, by name.
pub(super) const ROW: &str = "row";
pub(super) const COLUMN: &str = "column";
pub(super) const FROZEN: &str = "frozen";
pub(super) const SORTED: &str = "frozen sorted";
pub(super) const PARTITIONED: &str = "frozen partitioned";

/// Kinds of organisations in the part about files.
pub(super) const FILE_KINDS: [&str; 3] = ["row", "column", "frozen sorted"];

/// Runs the parts of the grid that are wanted.
pub(super) struct Grid<'s> {
    settings: &'s Settings,
    /// Part that is measured now.
    part: StoragePart,
    outputs: Outputs,
    measured: Measured,
}

impl<'s> Grid<'s> {
    /// Measures all parts of `settings`.
    ///
    /// # Errors
    /// An answer that is not the model's; what storage says.
    pub(super) fn run(settings: &'s Settings) -> Result<Measured, String> {
        let outputs = Outputs::new(settings.threads);
        let (part, measured) = (StoragePart::NarrowU, Measured::default());
        let mut grid = Self { settings, part, outputs, measured };
        for &part in &settings.parts {
            grid.part = part;
            eprintln!("part {part:?} of {:?}", settings.parts);
            match part {
                StoragePart::NarrowU => grid.table(&NARROW_U)?,
                StoragePart::NarrowE => grid.table(&NARROW_E)?,
                StoragePart::WideE => grid.table(&WIDE_E)?,
                StoragePart::Strings => grid.table(&STRINGS)?,
                StoragePart::Aggregate => grid.aggregate()?,
                StoragePart::Sizes => {
                    grid.sizes(&NARROW_U)?;
                    grid.sizes(&WIDE_E)?;
                }
                StoragePart::Files => {
                    grid.files(&NARROW_U)?;
                    grid.files(&WIDE_E)?;
                }
            }
        }
        Ok(grid.measured)
    }

    fn generate(&self, spec: &TableSpec) -> Data {
        spec.generate(self.settings.rows, self.settings.seed, self.settings.threads)
    }

    fn build(
        &mut self,
        organisation: Organisation,
        data: &Data,
        builds: usize,
    ) -> Result<Stored, String> {
        let stored = organisation.build(data, self.settings, builds)?;
        self.measured.builds.push(stored.build.clone());
        Ok(stored)
    }

    /// Measures `queries` in each way.
    fn points(&mut self, stored: &Stored, queries: &[Query], ways: &[Way]) -> Outcome {
        for query in queries {
            for &way in ways {
                // Every row: no index is asked then.
                if query.percent == 100.0 && uses_index(way) {
                    continue;
                }
                let (settings, part) = (self.settings, self.part);
                let point = measure((stored, query, way), settings, part, &mut self.outputs)?;
                self.measured.points.push(point);
            }
        }
        Ok(())
    }

    /// A table in all organisations, with predicates on one column and on three.
    fn table(&mut self, spec: &TableSpec) -> Outcome {
        let data = self.generate(spec);
        let columns = Columns::new(&data, self.settings.threads, self.settings.seed);
        let sort = columns.queries(Role::Sort, &PERCENTS, spec.widths);
        let other = columns.queries(Role::Other, &PERCENTS, spec.widths);
        let has_numbers = spec.upper(0).is_some();
        let three = if spec.name == NARROW_U.name {
            columns.queries(Role::Three, &CONJUNCTION_PERCENTS, spec.widths)
        } else {
            Vec::new()
        };
        drop(columns);

        let row = Organisation::new(ROW, Layout::Row).with(Order::Made, Index::Table);
        let stored = self.build(row, &data, 1)?;
        self.points(&stored, &sort, &[Way::Scan, Way::KeyOrder])?;
        self.points(&stored, &other, &[Way::Scan, Way::KeyOrder, Way::PlaceOrder])?;
        self.points(&stored, &three, &[Way::Scan])?;
        drop(stored);

        let stored = self.build(Organisation::new(COLUMN, Layout::Column), &data, 1)?;
        self.points(&stored, &sort, &[Way::Scan])?;
        self.points(&stored, &other, &[Way::Scan])?;
        self.points(&stored, &three, &[Way::Scan])?;
        drop(stored);

        if !has_numbers {
            let stored = self.build(Organisation::new(FROZEN, Layout::Frozen), &data, 1)?;
            self.points(&stored, &sort, &[Way::Scan])?;
            return self.points(&stored, &other, &[Way::Scan]);
        }
        let sorted = Organisation::new(SORTED, Layout::Frozen).with(Order::Sorted, Index::Csb);
        let stored = self.build(sorted, &data, 1)?;
        self.points(&stored, &sort, &[Way::Search])?;
        self.points(&stored, &other, &[Way::Scan, Way::Index, Way::Chosen])?;
        let ways = [Way::Scan, Way::Search, Way::Index, Way::Combined, Way::Chosen];
        self.points(&stored, &three, &ways)?;
        drop(stored);

        let partitioned = Organisation::new(PARTITIONED, Layout::Frozen);
        let stored = self.build(partitioned.with(Order::Partitioned, Index::None), &data, 1)?;
        self.points(&stored, &sort, &[Way::Search])?;
        self.points(&stored, &other, &[Way::Search])
    }

    /// The least values of groups.
    fn aggregate(&mut self) -> Outcome {
        let data = self.generate(&ONE_PERCENT);
        let query = [minima(&data, 5, 0)];
        for (name, layout) in
            [(ROW, Layout::Row), (COLUMN, Layout::Column), (FROZEN, Layout::Frozen)]
        {
            let stored = self.build(Organisation::new(name, layout), &data, 1)?;
            self.points(&stored, &query, &[Way::Scan])?;
        }
        Ok(())
    }

    /// Sizes of blocks, with all threads and with one.
    fn sizes(&mut self, spec: &TableSpec) -> Outcome {
        let data = self.generate(spec);
        let columns = Columns::new(&data, self.settings.threads, self.settings.seed);
        let width = &spec.widths[2..3];
        let search = columns.queries(Role::Sort, &[0.1], width);
        let other = columns.queries(Role::Other, &[10.0], width);
        for size in sizes_of(spec) {
            let rows = size / spec.row_bytes();
            let name = size_name(size);
            let sorted = Organisation::new(format!("{SORTED}, {name}"), Layout::Frozen);
            let sorted = sorted.with(Order::Sorted, Index::Csb).of_blocks(rows);
            let stored = self.build(sorted, &data, 1)?;
            self.by_threads(&stored, &search, &[Way::Search])?;
            self.by_threads(&stored, &other, &[Way::Index, Way::Scan])?;
            let row = Organisation::new(format!("{ROW}, {name}"), Layout::Row).of_blocks(rows);
            let stored = self.build(row, &data, 1)?;
            self.by_threads(&stored, &other, &[Way::Scan])?;
        }
        Ok(())
    }

    /// Runs with all threads, and with one.
    fn by_threads(&mut self, stored: &Stored, queries: &[Query], ways: &[Way]) -> Outcome {
        self.points(stored, queries, ways)?;
        if self.settings.threads == 1 {
            return Ok(());
        }
        let all = std::mem::replace(&mut self.outputs, Outputs::new(1));
        let end = self.points(stored, queries, ways);
        self.outputs = all;
        end
    }

    /// As many rows as one block a worker holds: in such blocks, and in a sixteenth of them.
    fn files(&mut self, spec: &TableSpec) -> Outcome {
        let threads = self.settings.threads;
        let share = BLOCK_ROWS_MAX.min(self.settings.rows / spec.share / threads).max(1);
        let data = self.generate(spec).head(share * threads);
        let columns = Columns::new(&data, threads, self.settings.seed);
        let sort = columns.queries(Role::Sort, &PERCENTS, spec.widths);
        let other = columns.queries(Role::Other, &PERCENTS, spec.widths);
        let layouts = [Layout::Row, Layout::Column, Layout::Frozen];
        for (kind, layout) in FILE_KINDS.into_iter().zip(layouts) {
            for (what, rows) in [("file", share), ("blocks", share / BLOCKS_OF_A_FILE)] {
                let name = format!("{kind} {what}");
                let organisation = Organisation::new(name, layout).of_blocks(rows);
                let builds = self.settings.runs;
                if layout == Layout::Frozen {
                    let organisation = organisation.with(Order::Sorted, Index::Csb);
                    let stored = self.build(organisation, &data, builds)?;
                    self.points(&stored, &sort, &[Way::Search])?;
                    self.points(&stored, &other, &[Way::Scan, Way::Index])?;
                } else {
                    let stored = self.build(organisation, &data, builds)?;
                    self.points(&stored, &other, &[Way::Scan])?;
                }
            }
        }
        Ok(())
    }
}

fn uses_index(way: Way) -> bool {
    matches!(way, Way::Index | Way::Combined | Way::KeyOrder | Way::PlaceOrder)
}

/// Parts of the sources' grid that are missing, and why.
pub(super) const ABSENT: [(&str, &str); 7] = [
    (
        "files of more than 65,536 rows, blocks of more",
        "a row id has 16 bits (decision 002): 2.5 MiB of Narrow-U and 12.5 MiB of Wide-E are the \
         largest blocks, so a file is one such block a worker, on a table that is no larger",
    ),
    (
        "CSB+-trees in blocks of rows and of plain columns",
        "frozen blocks alone have index sub-blocks (decision 014); a table index takes their place \
         on rows, one tree over all of them",
    ),
    (
        "plain columns that are sorted",
        "blocks that change in place have no order; frozen blocks are sorted, and of Narrow-U \
         their codes are as wide as the values",
    ),
    ("compressed rows", "there is no such layout: frozen blocks are columns"),
    (
        "indexes, binary search and partitions of Strings",
        "codes are numbers, and strings that do not repeat have none; a table index is there",
    ),
    (
        "matches of a CSB+-tree in the order of keys",
        "they become a bitmap, whose order is that of places; table indexes have both orders",
    ),
    ("files and blocks on several sockets", "workers are not placed: the study is of one socket"),
];
