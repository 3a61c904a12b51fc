//! The twelve rules of the storage study as inequalities over the points that were measured.
//!
//! ```text
//! rule -> claims -> checks (one for each pair of points) -> holds | mixed | does not hold | -
//! ```
//! A claim holds where nine of ten checks do, does not where at most one of ten does, and is mixed
//! between; a rule is as its claims, mixed when they differ. A claim without points is not checked.
//! Times compared are the least of the runs of a point.
//! Source: Patel 2013, observations 1 to 12; Chasseur 2015, section 3.4. Departures: the sources
//! read them off figures of means; the margins of "equal" and "no slower" are ours.

use super::grid::{
    COLUMN, FILE_KINDS, Measured, PARTITIONED, ROW, SIZES, SORTED, size_name, sizes_of,
};
use super::measure::{Point, Way};
use super::organisations::Build;
use super::queries::{PERCENTS, Role};
use super::tables::{NARROW_E, NARROW_U, TableSpec, WIDE_E};

/// How two figures should be related.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Relation {
    /// Left < right.
    Less,
    /// Left <= 1.05 right.
    NoMore,
    /// 0.8 <= left : right <= 1.25.
    Equal,
    /// Left <= this times right.
    AtMost(f64),
}

impl Relation {
    /// As it is written.
    pub(super) fn text(self) -> String {
        match self {
            Self::Less => "<".to_owned(),
            Self::NoMore => "<= 1.05 x".to_owned(),
            Self::Equal => "= (0.8 to 1.25) x".to_owned(),
            Self::AtMost(factor) => format!("<= {factor} x"),
        }
    }

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::NoMore => left <= right * 1.05,
            Self::Equal => (0.8 * right..=1.25 * right).contains(&left),
            Self::AtMost(factor) => left <= factor * right,
        }
    }
}

/// Outcome of a claim or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Mixed,
    Fails,
    Unchecked,
}

impl Verdict {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Mixed => "mixed",
            Self::Fails => "does not hold",
            Self::Unchecked => "cannot be checked here",
        }
    }

    fn of(holding: usize, checks: usize) -> Self {
        match (holding, checks) {
            (_, 0) => Self::Unchecked,
            _ if holding * 10 >= checks * 9 => Self::Holds,
            _ if holding * 10 <= checks => Self::Fails,
            _ => Self::Mixed,
        }
    }
}

/// One inequality and the pairs of figures it was checked on.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) left: String,
    pub(super) relation: Relation,
    pub(super) right: String,
    /// Which points.
    pub(super) points: String,
    /// Left : right of each pair, ascending, and whether it holds.
    pub(super) checks: Vec<(f64, bool)>,
}

impl Claim {
    fn new(left: &str, relation: Relation, right: &str, points: &str) -> Self {
        let checks = Vec::new();
        Self { left: left.into(), relation, right: right.into(), points: points.into(), checks }
    }

    fn add(&mut self, left: f64, right: f64) {
        self.checks.push((left / right, self.relation.holds(left, right)));
    }

    /// The claim with the pairs of which both figures are known.
    fn over(mut self, pairs: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> Self {
        for (left, right) in pairs.filter_map(|(left, right)| left.zip(right)) {
            self.add(left, right);
        }
        self.checks.sort_by(|a, b| a.0.total_cmp(&b.0));
        self
    }

    /// Checks that hold.
    pub(super) fn holding(&self) -> usize {
        self.checks.iter().filter(|(_, holds)| *holds).count()
    }

    pub(super) fn verdict(&self) -> Verdict {
        Verdict::of(self.holding(), self.checks.len())
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) number: usize,
    pub(super) title: &'static str,
    pub(super) claims: Vec<Claim>,
    /// Parts of it that cannot be checked here and why; empty when all can.
    pub(super) limits: String,
}

impl Rule {
    pub(super) fn verdict(&self) -> Verdict {
        let verdicts = self.claims.iter().map(Claim::verdict).filter(|v| *v != Verdict::Unchecked);
        let mut verdicts: Vec<Verdict> = verdicts.collect();
        verdicts.dedup();
        match verdicts[..] {
            [] => Verdict::Unchecked,
            [one] => one,
            _ => Verdict::Mixed,
        }
    }
}

/// Shares for which an index may be asked.
const INDEXED: &[f64] = &[0.1, 1.0, 10.0];

/// Measurements, to be asked.
struct Known<'m> {
    measured: &'m Measured,
    threads: usize,
}

/// Widths of the output that are called narrow, wide, and both.
fn narrow(spec: &TableSpec) -> &'static [usize] {
    &spec.widths[1..3]
}

fn wide(spec: &TableSpec) -> &'static [usize] {
    &spec.widths[3..]
}

fn some(spec: &TableSpec) -> &'static [usize] {
    &spec.widths[1..]
}

/// The product of two lists.
fn cells<'c>(
    percents: &'c [f64],
    widths: &'c [usize],
) -> impl Iterator<Item = (f64, usize)> + Clone + 'c {
    percents.iter().flat_map(move |&percent| widths.iter().map(move |&width| (percent, width)))
}

type Of<'o> = (&'o str, Role, Way);

impl Known<'_> {
    fn point(
        &self,
        spec: &TableSpec,
        of: Of<'_>,
        cell: (f64, usize),
        threads: usize,
    ) -> Option<&Point> {
        let (organisation, role, way) = of;
        self.measured.points.iter().find(|p| {
            p.table == spec.name
                && p.organisation == organisation
                && (p.role, p.way, p.percent, p.width, p.threads)
                    == (role, way, cell.0, cell.1, threads)
        })
    }

    /// Milliseconds with all threads.
    fn ms(&self, spec: &TableSpec, of: Of<'_>, cell: (f64, usize)) -> Option<f64> {
        self.point(spec, of, cell, self.threads).map(|point| point.ms.least)
    }

    /// `left` and `right` in all cells of all tables.
    fn pairs<'k>(
        &'k self,
        specs: &'k [TableSpec],
        percents: &'k [f64],
        widths: fn(&TableSpec) -> &'static [usize],
        (left, right): (Of<'k>, Of<'k>),
    ) -> impl Iterator<Item = (Option<f64>, Option<f64>)> + 'k {
        specs.iter().flat_map(move |spec| {
            cells(percents, widths(spec))
                .map(move |cell| (self.ms(spec, left, cell), self.ms(spec, right, cell)))
        })
    }

    fn build(&self, spec: &TableSpec, organisation: &str) -> Option<&Build> {
        let is_it = |b: &&Build| b.table == spec.name && b.organisation == organisation;
        self.measured.builds.iter().find(is_it)
    }

    fn load_ms(&self, spec: &TableSpec, organisation: &str) -> Option<f64> {
        self.build(spec, organisation).map(|build| build.load.least)
    }

    fn index_ms(&self, spec: &TableSpec, organisation: &str) -> Option<f64> {
        self.build(spec, organisation)?.index.map(|sample| sample.least)
    }
}

/// All twelve rules, checked on what was measured with `threads` threads.
pub(super) fn check(measured: &Measured, threads: usize) -> Vec<Rule> {
    let known = Known { measured, threads };
    vec![
        known.large_blocks_for_random_access(),
        known.scans_do_not_care(),
        known.sort_column_in_files(),
        known.other_columns_in_files(),
        known.building_sorted_blocks(),
        known.sort_column_by_layout(),
        known.other_columns_by_layout(),
        known.layouts_in_files(),
        known.indexes_pay(),
        known.building_indexes(),
        known.compression_pays(),
        known.conjunctions_combine(),
    ]
}

const SWEPT: [TableSpec; 2] = [NARROW_U, WIDE_E];

/// Plans with random access, and their cell in the sweep.
const RANDOM: [(Role, Way, f64); 2] =
    [(Role::Sort, Way::Search, 0.1), (Role::Other, Way::Index, 10.0)];

impl Known<'_> {
    /// The largest size against each other of the sweep.
    fn by_size(&self, mut claim: Claim, organisation: &str, plans: &[(Role, Way, f64)]) -> Claim {
        for spec in &SWEPT {
            let sizes = sizes_of(spec);
            let width = spec.widths[2];
            for &(role, way, percent) in plans {
                let ms = |size: usize| {
                    let name = format!("{organisation}, {}", size_name(size));
                    self.ms(spec, (&name, role, way), (percent, width))
                };
                let largest = sizes.last().and_then(|&size| ms(size));
                let others = sizes[..sizes.len() - 1].iter().map(|&size| (largest, ms(size)));
                claim = claim.over(others);
            }
        }
        claim
    }

    fn large_blocks_for_random_access(&self) -> Rule {
        let sizes = Claim::new(
            "largest block",
            Relation::NoMore,
            "each smaller one",
            "sort column 0.1 % by search, other column 10 % by csb; Narrow-U, Wide-E",
        );
        let mut threads = Claim::new(
            &format!("{} threads", self.threads),
            Relation::Less,
            "one thread",
            "the same plans, each size",
        );
        for spec in SWEPT.iter().filter(|_| self.threads > 1) {
            for (role, way, percent) in RANDOM {
                threads = threads.over(sizes_of(spec).into_iter().map(|size| {
                    let name = format!("{SORTED}, {}", size_name(size));
                    let of = (&name[..], role, way);
                    let ms = |threads| {
                        Some(self.point(spec, of, (percent, spec.widths[2]), threads)?.ms.least)
                    };
                    (ms(self.threads), ms(1))
                }));
            }
        }
        Rule {
            number: 1,
            title: "16 to 32 MB blocks and all threads for plans with random access",
            claims: vec![self.by_size(sizes, SORTED, &RANDOM), threads],
            limits: "blocks of 16 MiB and more are not there: 65,536 rows are at most 2.5 MiB of \
                     Narrow-U and 12.5 MiB of Wide-E"
                .into(),
        }
    }

    fn scans_do_not_care(&self) -> Rule {
        let claim = |of| Claim::new("largest block", Relation::Equal, "each smaller one", of);
        let scan = [(Role::Other, Way::Scan, 10.0)];
        let rows = claim("rows, scan, other column 10 %; Narrow-U, Wide-E");
        let frozen = claim("frozen, scan, other column 10 %; Narrow-U, Wide-E");
        Rule {
            number: 2,
            title: "scans do not care about the size of blocks below 64 MB, nor hyper-threading",
            claims: vec![self.by_size(rows, ROW, &scan), self.by_size(frozen, SORTED, &scan)],
            limits: hyper_threads(),
        }
    }

    fn sort_column_in_files(&self) -> Rule {
        let of = |what| (what, Role::Sort, Way::Search);
        let pair = (of("frozen sorted blocks"), of("frozen sorted file"));
        let equal = Claim::new("blocks", Relation::Equal, "file", "narrow output; 0.1 to 100 %");
        let less = Claim::new("blocks", Relation::Less, "file", "wide output; 0.1 to 100 %");
        Rule {
            number: 3,
            title: "sort column: blocks equal files for narrow output, better for wide",
            claims: vec![
                equal.over(self.pairs(&SWEPT, &PERCENTS, narrow, pair)),
                less.over(self.pairs(&SWEPT, &PERCENTS, wide, pair)),
            ],
            limits: small_files(),
        }
    }

    fn other_columns_in_files(&self) -> Rule {
        let claim = |kind: &str, way: Way, percents: &[f64]| {
            let (blocks, file) = (format!("{kind} blocks"), format!("{kind} file"));
            let pair = ((&blocks[..], Role::Other, way), (&file[..], Role::Other, way));
            let points = format!("{kind}, by {}, one column and more", way.name());
            let claim = Claim::new("blocks", Relation::Less, "file", &points);
            claim.over(self.pairs(&SWEPT, percents, some, pair))
        };
        let scans = FILE_KINDS.iter().map(|kind| claim(kind, Way::Scan, &PERCENTS));
        Rule {
            number: 4,
            title: "other predicates: blocks beat files, in both layouts, with an index or not",
            claims: scans.chain([claim(SORTED, Way::Index, &PERCENTS[..4])]).collect(),
            limits: small_files(),
        }
    }

    fn building_sorted_blocks(&self) -> Rule {
        let build =
            Claim::new("building blocks", Relation::Less, "building files", "sorted by one column");
        let read = Claim::new("blocks", Relation::NoMore, "file", "sort column, all cells");
        let of = |what| (what, Role::Sort, Way::Search);
        let pair = (of("frozen sorted blocks"), of("frozen sorted file"));
        let load = |spec: &TableSpec, what: &str| self.load_ms(spec, what);
        Rule {
            number: 5,
            title: "sorted blocks are cheaper to build than sorted files and no slower to read",
            claims: vec![
                build.over(SWEPT.iter().map(|spec| {
                    (load(spec, "frozen sorted blocks"), load(spec, "frozen sorted file"))
                })),
                read.over(self.pairs(&SWEPT, &PERCENTS, |spec| spec.widths, pair)),
            ],
            limits: small_files(),
        }
    }

    fn sort_column_by_layout(&self) -> Rule {
        let search = (SORTED, Role::Sort, Way::Search);
        let (scan, index) = ((ROW, Role::Sort, Way::Scan), (ROW, Role::Sort, Way::KeyOrder));
        let claim = |relation, right: &str, points: &str| {
            Claim::new("frozen sorted, search", relation, right, points)
        };
        let tables = "Narrow-U, Narrow-E, Wide-E";
        let specs = &[NARROW_U, NARROW_E, WIDE_E];
        Rule {
            number: 6,
            title: "sort column: columns beat rows for narrow output, equal them for wide",
            claims: vec![
                claim(Relation::Less, "row, scan", &format!("narrow, 0.1 to 100 %; {tables}"))
                    .over(self.pairs(specs, &PERCENTS, narrow, (search, scan))),
                claim(Relation::Less, "row, table index", &format!("narrow, to 50 %; {tables}"))
                    .over(self.pairs(specs, &PERCENTS[..4], narrow, (search, index))),
                claim(Relation::Equal, "row, table index", &format!("wide, to 50 %; {tables}"))
                    .over(self.pairs(specs, &PERCENTS[..4], wide, (search, index))),
            ],
            limits: "the index on rows is a table index, not one of their blocks".into(),
        }
    }

    fn other_columns_by_layout(&self) -> Rule {
        let index = ((ROW, Role::Other, Way::KeyOrder), (SORTED, Role::Other, Way::Index));
        let plain = ((ROW, Role::Other, Way::Scan), (COLUMN, Role::Other, Way::Scan));
        let frozen = ((ROW, Role::Other, Way::Scan), (SORTED, Role::Other, Way::Scan));
        let specs = &[NARROW_U, NARROW_E, WIDE_E];
        let scanned = "50 and 100 %, one column and more; Narrow-U";
        Rule {
            number: 7,
            title: "other predicates in blocks: rows beat columns by index, equal them by scan",
            claims: vec![
                Claim::new(
                    "row, table index",
                    Relation::Less,
                    "frozen, csb",
                    "0.1 to 10 %, one column and more; Narrow-U, Narrow-E, Wide-E",
                )
                .over(self.pairs(specs, INDEXED, some, index)),
                Claim::new("row, scan", Relation::Equal, "column, scan", scanned).over(self.pairs(
                    &[NARROW_U],
                    &PERCENTS[3..],
                    some,
                    plain,
                )),
                Claim::new("row, scan", Relation::Equal, "frozen, scan", scanned).over(self.pairs(
                    &[NARROW_U],
                    &PERCENTS[3..],
                    some,
                    frozen,
                )),
            ],
            limits: "the index on rows is a table index, not one of their blocks".into(),
        }
    }

    fn layouts_in_files(&self) -> Rule {
        let row = ("row file", Role::Other, Way::Scan);
        let mut claims = Vec::new();
        for (name, way) in [("column file", Way::Scan), ("frozen sorted file", Way::Index)] {
            let pairs = self.pairs(&SWEPT, &PERCENTS, some, (row, (name, Role::Other, way)));
            let (mut rows_win, mut columns_win) = (0.0f64, 0.0f64);
            for (left, right) in pairs.filter_map(|(left, right)| left.zip(right)) {
                rows_win += f64::from(left < right);
                columns_win += f64::from(right < left);
            }
            let relation = Relation::AtMost(9.0);
            let left = format!("cells that the more frequent winner of row and {name} wins");
            let mut claim =
                Claim::new(&left, relation, "those of the other", "one column and more");
            if rows_win + columns_win > 0.0 {
                claim.add(rows_win.max(columns_win), rows_win.min(columns_win));
            }
            claims.push(claim);
        }
        Rule {
            number: 8,
            title: "in files it depends on selectivity, width and index which layout wins",
            claims,
            limits: small_files(),
        }
    }

    fn indexes_pay(&self) -> Rule {
        let specs = &[NARROW_U, NARROW_E, WIDE_E];
        let csb = (SORTED, Role::Other, Way::Index);
        let scan = (SORTED, Role::Other, Way::Scan);
        let tables = "one column and more; Narrow-U, Narrow-E, Wide-E";
        let table = ((ROW, Role::Other, Way::KeyOrder), (ROW, Role::Other, Way::Scan));
        let all = |spec: &TableSpec| spec.widths;
        let mut claims: Vec<Claim> = INDEXED
            .iter()
            .map(|percent| {
                Claim::new("csb", Relation::Less, "scan", &format!("frozen, {percent} %, {tables}"))
                    .over(self.pairs(specs, std::slice::from_ref(percent), some, (csb, scan)))
            })
            .collect();
        claims.push(
            Claim::new("scan", Relation::NoMore, "csb", &format!("frozen, 50 %, {tables}"))
                .over(self.pairs(specs, &PERCENTS[3..4], some, (scan, csb))),
        );
        claims.push(
            Claim::new(
                "table index",
                Relation::Less,
                "scan",
                &format!("row, 0.1 to 10 %, {tables}"),
            )
            .over(self.pairs(specs, INDEXED, some, table)),
        );
        let best = specs.iter().flat_map(|spec| {
            cells(&PERCENTS[..4], all(spec)).map(move |cell| {
                let best = self.ms(spec, csb, cell).zip(self.ms(spec, scan, cell));
                let chosen = self.ms(spec, (SORTED, Role::Other, Way::Chosen), cell);
                (chosen, best.map(|(a, b)| a.min(b)))
            })
        });
        claims.push(
            Claim::new(
                "what storage takes",
                Relation::AtMost(1.1),
                "the better of csb and scan",
                "frozen, to 50 %, all widths; not of the sources",
            )
            .over(best),
        );
        Rule {
            number: 9,
            title: "a CSB+-tree pays below 50 %, in any layout and organisation",
            claims,
            limits: "CSB+-trees are in frozen blocks only".into(),
        }
    }

    fn building_indexes(&self) -> Rule {
        let file =
            Claim::new("csb in blocks", Relation::AtMost(0.6), "csb in files", "Narrow-U, Wide-E");
        let whole = Claim::new(
            "csb in blocks",
            Relation::AtMost(0.6),
            "table index",
            "Narrow-U, Narrow-E, Wide-E; one tree over all rows stands for that of a file",
        );
        let ms = |spec: &TableSpec, what: &str| self.index_ms(spec, what);
        let specs = [NARROW_U, NARROW_E, WIDE_E];
        Rule {
            number: 10,
            title: "CSB+-trees are far cheaper to build in blocks",
            claims: vec![
                file.over(SWEPT.iter().map(|spec| {
                    (ms(spec, "frozen sorted blocks"), ms(spec, "frozen sorted file"))
                })),
                whole.over(specs.iter().map(|spec| (ms(spec, SORTED), ms(spec, ROW)))),
            ],
            limits: small_files(),
        }
    }

    fn compression_pays(&self) -> Rule {
        let frozen = (SORTED, Role::Other, Way::Scan);
        let plain = (COLUMN, Role::Other, Way::Scan);
        let claim = |percents: &[f64], left: &str, right: &str, points: &str, pair| {
            let claim = Claim::new(left, Relation::Less, right, points);
            claim.over(self.pairs(&[NARROW_E], percents, some, pair))
        };
        let bytes = |what| self.build(&NARROW_E, what).map(|build| build.bytes as f64);
        Rule {
            number: 11,
            title: "compression pays at 10 % and below, costs a little at 50 % and above",
            claims: vec![
                claim(INDEXED, "frozen", "column", "scan, other column, to 10 %", (frozen, plain)),
                claim(&PERCENTS[3..], "column", "frozen", "50 and 100 %", (plain, frozen)),
                Claim::new("bytes frozen", Relation::AtMost(0.75), "bytes of columns", "Narrow-E")
                    .over(std::iter::once((bytes(SORTED), bytes(COLUMN)))),
            ],
            limits: "plain columns are in blocks that change in place and are tested by value; \
                     frozen blocks test 64 codes at a time"
                .into(),
        }
    }

    fn conjunctions_combine(&self) -> Rule {
        let of = |way| (SORTED, Role::Three, way);
        let claims = [Way::Scan, Way::Search, Way::Index].map(|way| {
            let points = "0.1 and 1 % in all, one column and more; Narrow-U, frozen sorted";
            Claim::new("search + csb", Relation::Less, way.name(), points).over(self.pairs(
                &[NARROW_U],
                &[0.1, 1.0],
                some,
                (of(Way::Combined), of(way)),
            ))
        });
        Rule {
            number: 12,
            title: "selective conjunctions: search and index together beat either",
            claims: claims.into(),
            limits: String::new(),
        }
    }

    /// Milliseconds by partitions beside those without, of all cells of the other column.
    fn partitions(&self) -> Claim {
        let left = (PARTITIONED, Role::Other, Way::Search);
        let right = (SORTED, Role::Other, Way::Scan);
        Claim::new("16 partitions", Relation::Less, "scan", "frozen, other column, to 50 %").over(
            self.pairs(&[NARROW_U, NARROW_E, WIDE_E], &PERCENTS[..4], |s| s.widths, (left, right)),
        )
    }

    /// Milliseconds of rows read in the order of places beside those in the order of keys.
    fn sorted_matches(&self) -> Claim {
        let left = (ROW, Role::Other, Way::PlaceOrder);
        let right = (ROW, Role::Other, Way::KeyOrder);
        Claim::new("matches sorted", Relation::Less, "in key order", "rows, table index, to 50 %")
            .over(self.pairs(&[NARROW_U, NARROW_E, WIDE_E], &PERCENTS[..4], some, (left, right)))
    }
}

/// Claims of the sources besides the rules: partitions help, sorting matches does not.
pub(super) fn remarks(measured: &Measured, threads: usize) -> Vec<Claim> {
    let known = Known { measured, threads };
    vec![known.partitions(), known.sorted_matches()]
}

fn small_files() -> String {
    "files are of 65,536 rows a worker, 2.5 MiB of Narrow-U and 12.5 MiB of Wide-E, beside blocks \
     of a sixteenth; those of the sources have 1.4 GiB"
        .into()
}

/// Note on hyper-threads of this machine.
fn hyper_threads() -> String {
    let list = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    let siblings = std::fs::read_to_string(list).unwrap_or_default();
    let largest = size_name(SIZES[SIZES.len() - 1]);
    if siblings.trim().contains([',', '-']) {
        format!("hyper-threads are not taken apart; no blocks up to {largest}")
    } else {
        format!("cores here have one thread; no blocks up to {largest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_as_their_claims() {
        let claim = |lefts: &[f64]| {
            let pairs = lefts.iter().map(|&left| (Some(left), Some(1.0)));
            Claim::new("a", Relation::Less, "b", "").over(pairs)
        };
        let rule =
            |claims: Vec<Claim>| Rule { number: 1, title: "", claims, limits: String::new() };
        let (low, high, both) = (claim(&[0.5; 10]), claim(&[2.0; 10]), claim(&[0.5, 2.0]));
        assert_eq!(low.verdict(), Verdict::Holds);
        assert_eq!(high.verdict(), Verdict::Fails);
        assert_eq!(both.verdict(), Verdict::Mixed);
        assert_eq!(both.checks, [(0.5, true), (2.0, false)]);
        let none = claim(&[]);
        assert_eq!(rule(vec![none.clone()]).verdict(), Verdict::Unchecked);
        assert_eq!(rule(vec![none, low.clone()]).verdict(), Verdict::Holds);
        assert_eq!(rule(vec![low, high]).verdict(), Verdict::Mixed);
    }

    #[test]
    fn relations_have_their_margins() {
        assert!(Relation::NoMore.holds(1.04, 1.0) && !Relation::NoMore.holds(1.06, 1.0));
        assert!(Relation::Equal.holds(0.81, 1.0) && Relation::Equal.holds(1.24, 1.0));
        assert!(!Relation::Equal.holds(0.7, 1.0) && !Relation::Equal.holds(1.3, 1.0));
        assert!(Relation::AtMost(0.6).holds(0.6, 1.0) && !Relation::Less.holds(1.0, 1.0));
    }
}
