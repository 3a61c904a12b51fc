//! `cargo xtask bench waterfall`: what layouts, late columns, exact filters and LIP are worth, each
//! alone and together.
//!
//! ```text
//! layout -> data -> query -> every way of running it on this layout, in turn -> medians
//! ```
//! Source: Patel 2018, figures 2 (one after another), 8 (layouts), 9 (accessors) and 10 (filters).
//! Departure: layouts other than the frozen one are run with everything else.

use std::path::Path;
use std::time::Instant;

use engine::{Config, Session};
use plan::Technique as T;
use storage::Layout;

use super::{circumstances, median};
use crate::bench_args::{WaterfallArgs, threads_or_cores};
use crate::chart::Chart;
use crate::suite::Suite;
use crate::variants::Variant;
use crate::{Outcome, tessera, text};

/// A layout and what is switched off on it.
struct Way {
    name: &'static str,
    layout: &'static str,
    off: &'static [T],
}

/// Filters of joins and their order.
const FILTERS: [T; 3] = [T::ExactFilters, T::Lip, T::LipAdaptive];

/// All that is measured.
const WAYS: [Way; 9] = [
    Way { name: "row, nothing", layout: "row", off: &BARE },
    Way { name: "frozen, nothing", layout: "frozen", off: &BARE },
    Way { name: "late columns", layout: "frozen", off: &FILTERS },
    Way { name: "exact filters", layout: "frozen", off: &[T::Lip, T::LipAdaptive] },
    Way { name: "LIP", layout: "frozen", off: &[T::ExactFilters] },
    Way { name: "all", layout: "frozen", off: &[] },
    Way { name: "all but late columns", layout: "frozen", off: &[T::LateColumns] },
    Way { name: "all, column", layout: "column", off: &[] },
    Way { name: "all, row", layout: "row", off: &[] },
];

/// Neither late columns nor filters.
const BARE: [T; 4] = [T::LateColumns, T::ExactFilters, T::Lip, T::LipAdaptive];

/// A figure: its name, its title, and positions in [`WAYS`].
struct Figure {
    name: &'static str,
    title: &'static str,
    ways: &'static [usize],
}

/// The figures.
const FIGURES: [Figure; 4] = [
    Figure { name: "steps", title: "one after the other", ways: &[0, 1, 2, 3, 5] },
    Figure { name: "layouts", title: "layouts", ways: &[8, 7, 5] },
    Figure { name: "columns", title: "columns copied, or late", ways: &[6, 5] },
    Figure { name: "filters", title: "filters of joins", ways: &[2, 3, 4, 5] },
];

/// Milliseconds of a query, by way.
struct Measured {
    query: String,
    ms: Vec<f64>,
}

/// Measures, prints tables and draws charts.
///
/// # Errors
/// Errors of the database; ways that differ in their rows; charts that cannot be written.
pub fn run(args: &WaterfallArgs) -> Outcome {
    let threads = threads_or_cores(args.threads);
    println!("{}", circumstances());
    println!("run      sf {}, {threads} threads, medians of {} runs", args.sf, args.runs);
    for name in &args.suites {
        let suite = Suite::named(name)?;
        let measured = measure(&suite, args, threads)?;
        report(&suite, &measured);
        if let Some(folder) = &args.charts {
            draw(&suite, args.sf, &measured, folder)?;
        }
    }
    Ok(())
}

/// Milliseconds that `query` takes.
///
/// # Errors
/// Errors of the database.
pub(super) fn timed(session: &mut Session, query: &str) -> Result<f64, String> {
    let start = Instant::now();
    let result = session.execute(query).map_err(text)?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    drop(result);
    Ok(ms)
}

fn measure(suite: &Suite, args: &WaterfallArgs, threads: usize) -> Result<Vec<Measured>, String> {
    let empty =
        |(query, _): &(String, _)| Measured { query: query.clone(), ms: vec![0.0; WAYS.len()] };
    let mut measured: Vec<Measured> = suite.queries.iter().map(empty).collect();
    let mut answers: Vec<Option<Vec<Vec<Option<String>>>>> = vec![None; measured.len()];
    for layout_name in ["row", "column", "frozen"] {
        let layout = Layout::from_name(layout_name).ok_or("an unknown layout")?;
        let config = Config { threads, layout, ..Config::default() };
        let database = tessera::open(config).map_err(text)?;
        let mut session = database.session();
        let call = format!("CALL {}(sf => {})", suite.name, args.sf);
        session.execute(&call).map_err(text)?;
        let ways: Vec<usize> =
            (0..WAYS.len()).filter(|&way| WAYS[way].layout == layout_name).collect();
        for (at, (name, query)) in suite.queries.iter().enumerate() {
            let mut times = vec![Vec::new(); ways.len()];
            for run in 0..=args.runs.max(1) {
                for (&way, times) in ways.iter().zip(&mut times) {
                    for setting in Variant::without("", WAYS[way].off).settings() {
                        session.execute(&setting).map_err(text)?;
                    }
                    if run == 0 {
                        let mut rows = session.execute(query).map_err(text)?.text_rows();
                        rows.sort();
                        if answers[at].get_or_insert_with(|| rows.clone()) != &rows {
                            return Err(format!("query {name} differs: {}", WAYS[way].name));
                        }
                    } else {
                        times.push(timed(&mut session, query)?);
                    }
                }
            }
            for (&way, times) in ways.iter().zip(&mut times) {
                measured[at].ms[way] = median(times);
            }
        }
    }
    Ok(measured)
}

/// The geometric mean.
pub(super) fn geometric(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

fn report(suite: &Suite, measured: &[Measured]) {
    let names: Vec<&str> = WAYS.iter().map(|way| way.name).collect();
    println!("\n{}, milliseconds:\n\n| query | {} |", suite.name, names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len()));
    let row = |name: &str, values: &dyn Fn(usize) -> f64| {
        let cells: Vec<String> = (0..WAYS.len()).map(|w| format!("{:.2}", values(w))).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    for query in measured {
        row(&query.query, &|way| query.ms[way]);
    }
    row("sum", &|way| measured.iter().map(|query| query.ms[way]).sum());
    row("geometric mean", &|way| geometric(measured.iter().map(|query| query.ms[way])));
}

/// The first group of each chart is the geometric mean, then all queries follow.
fn draw(suite: &Suite, sf: f64, measured: &[Measured], folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder).map_err(text)?;
    for figure in &FIGURES {
        let picked = |ms: &[f64]| -> Vec<f64> { figure.ways.iter().map(|&way| ms[way]).collect() };
        let mean = |way: usize| geometric(measured.iter().map(|query| query.ms[way]));
        let means: Vec<f64> = (0..WAYS.len()).map(mean).collect();
        let mut groups = vec![("mean".to_owned(), picked(&means))];
        groups.extend(measured.iter().map(|query| (query.query.clone(), picked(&query.ms))));
        let title = format!("{} sf {sf}: {}", suite.name.to_uppercase(), figure.title);
        let series = figure.ways.iter().map(|&way| WAYS[way].name).collect();
        let chart = Chart { title: &title, unit: "ms", series, groups };
        let path = folder.join(format!("waterfall-{}-{}.svg", figure.name, suite.name));
        std::fs::write(&path, chart.svg()).map_err(text)?;
        println!("\n{}", path.display());
    }
    Ok(())
}
