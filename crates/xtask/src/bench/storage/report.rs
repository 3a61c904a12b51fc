//! The report: rules and their verdicts, what was built, tables of all points, charts.

use std::fmt::Write;
use std::path::Path;

use super::counters;
use super::grid::{ABSENT, COLUMN, Measured, PARTITIONED, ROW, SORTED, size_name, sizes_of};
use super::measure::{Point, Way};
use super::queries::{CONJUNCTION_PERCENTS, PERCENTS, Role};
use super::rules::{Claim, Rule};
use super::tables::{NARROW_E, NARROW_U, TableSpec, WIDE_E};
use super::{Outcome, Settings};
use crate::bench_args::StoragePart;
use crate::chart::Chart;
use crate::text;

/// All there is to tell.
pub(super) struct Report<'r> {
    pub(super) settings: &'r Settings,
    pub(super) measured: &'r Measured,
    pub(super) rules: &'r [Rule],
    /// Claims that are checked besides the rules.
    pub(super) remarks: Vec<Claim>,
}

/// Subject of one table of the report.
type Group = (StoragePart, &'static str, Role);

/// Organisation and way of one series.
type Series<'s> = (&'s str, Way);

fn percent(value: f64) -> String {
    format!("{value} %")
}

impl Report<'_> {
    /// As a page of Markdown.
    pub(super) fn page(&self, circumstances: &str) -> String {
        let Settings { rows, runs, threads, seed, .. } = self.settings;
        let mut out = format!(
            "# The storage explorer\n\n```text\n{circumstances}\nrun      {rows} rows of Narrow-U, \
             seed {seed}, {threads} threads, {runs} runs a point\nmisses   {}\n```\n",
            counters::describe()
        );
        let _ = writeln!(
            out,
            "\nEvery answer has the rows and the checksum of a scalar model: {} points.",
            self.measured.points.len()
        );
        self.rules(&mut out);
        self.absent(&mut out);
        self.builds(&mut out);
        self.groups().into_iter().for_each(|group| self.points(&mut out, group));
        out
    }

    fn rules(&self, out: &mut String) {
        out.push_str("\n## The twelve rules\n\n| rule | | verdict |\n| --- | --- | --- |\n");
        for rule in self.rules {
            let _ =
                writeln!(out, "| {} | {} | {} |", rule.number, rule.title, rule.verdict().text());
        }
        out.push_str(
            "\nEach inequality over its points, of the least milliseconds unless it says \
             otherwise; a claim holds where nine of ten points do:\n\n\
             | rule | inequality | points | hold | left : right, least, median, most | |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        for rule in self.rules {
            for claim in &rule.claims {
                claim_line(out, &rule.number.to_string(), claim);
            }
        }
        self.remarks.iter().for_each(|claim| claim_line(out, "-", claim));
        out.push_str("\nLimits of what is checked:\n\n");
        for rule in self.rules.iter().filter(|rule| !rule.limits.is_empty()) {
            let _ = writeln!(out, "- {}: {}.", rule.number, rule.limits);
        }
    }

    fn absent(&self, out: &mut String) {
        out.push_str("\n## What is not there, and why\n\n");
        for (what, why) in ABSENT {
            let _ = writeln!(out, "- {what}: {why}.");
        }
    }

    fn builds(&self, out: &mut String) {
        out.push_str(
            "\n## Building\n\nMilliseconds, mean ± standard deviation; the index is that on the \
             other column.\n\n\
             | table | organisation | rows | blocks | MiB | load | index MiB | index |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
        for build in &self.measured.builds {
            let index =
                build.index.map_or("".into(), |s| format!("{:.1} ± {:.1}", s.mean, s.deviation));
            let index_mib =
                if build.index.is_some() { mib(build.index_bytes) } else { String::new() };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {:.1} ± {:.1} | {index_mib} | {index} |",
                build.table,
                build.organisation,
                build.rows,
                build.blocks,
                mib(build.bytes),
                build.load.mean,
                build.load.deviation,
            );
        }
    }

    /// Parts, tables and roles, as they were measured.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for point in &self.measured.points {
            let group = (point.part, point.table, point.role);
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// A table of the points of a group, the longer of cells and series downwards.
    fn points(&self, out: &mut String, group: Group) {
        let is_in = |p: &&Point| (p.part, p.table, p.role) == group;
        let points: Vec<&Point> = self.measured.points.iter().filter(is_in).collect();
        let (part, table, role) = group;
        let what = match part {
            StoragePart::Sizes => "sizes of blocks, ",
            StoragePart::Files => "files and blocks, ",
            _ => "",
        };
        let _ = writeln!(
            out,
            "\n## {table}, {what}{}\n\nMilliseconds, mean ± standard deviation.",
            role.name()
        );
        if points.iter().any(|point| point.misses.is_some()) {
            out.push_str(" Below them misses of L2 / L3, thousands.\n");
        }
        let mut cells: Vec<(f64, usize)> = points.iter().map(|p| (p.percent, p.width)).collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        cells.dedup();
        let mut series: Vec<(&str, Way, usize)> = Vec::new();
        for point in &points {
            let key = (&point.organisation[..], point.way, point.threads);
            if !series.contains(&key) {
                series.push(key);
            }
        }
        let cell_names = cells.iter().map(|(p, w)| format!("{}, {w} columns", percent(*p)));
        let series_names = series.iter().map(|(organisation, way, threads)| {
            let other = *threads != self.settings.threads;
            let threads = if other { format!(", {threads} thread") } else { String::new() };
            format!("{organisation}, {}{threads}", way.name())
        });
        let text = |cell: (f64, usize), one: (&str, Way, usize)| {
            let point = points.iter().find(|p| {
                (p.percent, p.width) == cell && (&p.organisation[..], p.way, p.threads) == one
            });
            point.map_or(String::new(), |point| figures(point))
        };
        let cell_names: Vec<String> = cell_names.collect();
        let series_names: Vec<String> = series_names.collect();
        if cells.len() >= series.len() {
            grid_lines(out, &cell_names, &series_names, |i, j| text(cells[i], series[j]));
        } else {
            grid_lines(out, &series_names, &cell_names, |i, j| text(cells[j], series[i]));
        }
    }

    /// The least milliseconds with all threads.
    fn ms(&self, spec: &TableSpec, series: Series<'_>, cell: (Role, f64, usize)) -> Option<f64> {
        let found = self.measured.points.iter().find(|p| {
            p.table == spec.name
                && (&p.organisation[..], p.way) == series
                && (p.role, p.percent, p.width) == cell
                && p.threads == self.settings.threads
        });
        found.map(|point| point.ms.least)
    }

    /// Draws the charts of the parts that were measured.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub(super) fn draw(&self, folder: &Path) -> Outcome {
        for spec in [NARROW_U, NARROW_E, WIDE_E] {
            let name = spec.name.to_lowercase();
            for (role, series) in [(Role::Sort, SORT_SERIES), (Role::Other, OTHER_SERIES)] {
                let what = if role == Role::Sort { "sort" } else { "other" };
                let width = spec.widths[2];
                let cells = PERCENTS.iter().map(|&p| (percent(p), (role, p, width))).collect();
                let title = format!("{}, {}, {width} columns", spec.name, role.name());
                let names = Names { file: &format!("{what}-{name}"), title: &title, spec: &spec };
                self.chart(folder, names, series, cells)?;
            }
        }
        let widths = |share: f64, role: Role| {
            let cell = |&width: &usize| (format!("{width} columns"), (role, share, width));
            NARROW_U.widths.iter().map(cell).collect::<Vec<_>>()
        };
        let names =
            Names { file: "widths", title: "Narrow-U, other column, 10 %", spec: &NARROW_U };
        self.chart(folder, names, OTHER_SERIES, widths(10.0, Role::Other))?;
        let conjunctions = CONJUNCTION_PERCENTS.map(|p| (percent(p), (Role::Three, p, 3)));
        let names = Names {
            file: "conjunctions",
            title: "Narrow-U, three conjuncts, 3 columns",
            spec: &NARROW_U,
        };
        let cells = conjunctions.into_iter().collect();
        self.chart(folder, names, THREE_SERIES, cells)?;
        self.sizes(folder)
    }

    /// A chart of how much faster than the first series each one is.
    fn chart(
        &self,
        folder: &Path,
        names: Names<'_>,
        series: &[Series<'_>],
        cells: Vec<(String, (Role, f64, usize))>,
    ) -> Outcome {
        let faster = |cell, one| {
            let base = self.ms(names.spec, series[0], cell);
            base.zip(self.ms(names.spec, one, cell)).map_or(0.0, |(base, ms)| base / ms)
        };
        let groups: Vec<(String, Vec<f64>)> = cells
            .into_iter()
            .map(|(label, cell)| (label, series.iter().map(|&one| faster(cell, one)).collect()))
            .collect();
        let shown: Vec<String> =
            series.iter().map(|(name, way)| format!("{name}, {}", way.name())).collect();
        let title = format!("{}: times as fast as {}", names.title, shown[0]);
        let series = shown.iter().map(String::as_str).collect();
        write(folder, names.file, &Chart { title: &title, unit: "times", series, groups })
    }

    /// The sweep, each plan as a share of its largest time.
    fn sizes(&self, folder: &Path) -> Outcome {
        let plans = [
            (SORTED, Role::Sort, Way::Search, 0.1),
            (SORTED, Role::Other, Way::Index, 10.0),
            (SORTED, Role::Other, Way::Scan, 10.0),
            (ROW, Role::Other, Way::Scan, 10.0),
        ];
        for spec in [NARROW_U, WIDE_E] {
            let ms = |size: usize, (organisation, role, way, share): (&str, Role, Way, f64)| {
                let name = format!("{organisation}, {}", size_name(size));
                self.ms(&spec, (&name, way), (role, share, spec.widths[2])).unwrap_or(0.0)
            };
            let sizes = sizes_of(&spec);
            let most = plans.map(|plan| sizes.iter().map(|&s| ms(s, plan)).fold(1e-9, f64::max));
            let group = |&size: &usize| {
                let shares = plans.iter().zip(most).map(|(&plan, most)| ms(size, plan) / most);
                (size_name(size), shares.collect())
            };
            let groups = sizes.iter().map(group).collect();
            let names = plans.map(|(organisation, _, way, share)| {
                format!("{organisation}, {} {}", way.name(), percent(share))
            });
            let title = format!("{}, size of blocks: share of the longest time", spec.name);
            let name = format!("sizes-{}", spec.name.to_lowercase());
            let series = names.iter().map(String::as_str).collect();
            write(folder, &name, &Chart { title: &title, unit: "share", series, groups })?;
        }
        Ok(())
    }
}

/// The series of charts; the first is what others are compared with.
const SORT_SERIES: &[Series<'_>] = &[
    (ROW, Way::Scan),
    (ROW, Way::KeyOrder),
    (COLUMN, Way::Scan),
    (SORTED, Way::Search),
    (PARTITIONED, Way::Search),
];

const OTHER_SERIES: &[Series<'_>] = &[
    (ROW, Way::Scan),
    (ROW, Way::KeyOrder),
    (COLUMN, Way::Scan),
    (SORTED, Way::Scan),
    (SORTED, Way::Index),
    (PARTITIONED, Way::Search),
];

const THREE_SERIES: &[Series<'_>] = &[
    (SORTED, Way::Scan),
    (SORTED, Way::Index),
    (SORTED, Way::Search),
    (SORTED, Way::Combined),
    (COLUMN, Way::Scan),
    (ROW, Way::Scan),
];

fn claim_line(out: &mut String, number: &str, claim: &Claim) {
    let Claim { left, relation, right, points, checks } = claim;
    let ratios = match &checks[..] {
        [] => String::new(),
        all => {
            let (least, most) = (all[0].0, all[all.len() - 1].0);
            format!("{least:.2}, {:.2}, {most:.2}", all[all.len() / 2].0)
        }
    };
    let _ = writeln!(
        out,
        "| {number} | {left} {} {right} | {points} | {} of {} | {ratios} | {} |",
        relation.text(),
        claim.holding(),
        checks.len(),
        claim.verdict().text()
    );
}

/// A table of Markdown: `text(i, j)` of row `i` and column `j`.
fn grid_lines(
    out: &mut String,
    rows: &[String],
    columns: &[String],
    text: impl Fn(usize, usize) -> String,
) {
    let _ = writeln!(out, "\n| | {} |", columns.join(" | "));
    let _ = writeln!(out, "| --- |{}", " --- |".repeat(columns.len()));
    for (i, row) in rows.iter().enumerate() {
        let cells: Vec<String> = (0..columns.len()).map(|j| text(i, j)).collect();
        let _ = writeln!(out, "| {row} | {} |", cells.join(" | "));
    }
}

fn figures(point: &Point) -> String {
    let digits = if point.ms.mean < 1.0 { 3 } else { 2 };
    let time = format!("{:.digits$} ± {:.digits$}", point.ms.mean, point.ms.deviation);
    match point.misses {
        Some(misses) => format!("{time}<br>{:.0} / {:.0}", misses.l2 / 1e3, misses.l3 / 1e3),
        None => time,
    }
}

/// Names of a chart, and the table that it is about.
#[derive(Clone, Copy)]
struct Names<'a> {
    file: &'a str,
    title: &'a str,
    spec: &'a TableSpec,
}

/// Draws what was measured; nothing when nothing was.
fn write(folder: &Path, name: &str, chart: &Chart<'_>) -> Outcome {
    if chart.groups.iter().all(|(_, values)| values.iter().all(|value| *value == 0.0)) {
        return Ok(());
    }
    let path = folder.join(format!("storage-{name}.svg"));
    std::fs::write(&path, chart.svg()).map_err(text)
}
