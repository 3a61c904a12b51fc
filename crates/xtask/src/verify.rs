//! `cargo xtask verify`: Tessera's rows against a peer's, query by query.
//!
//! Integers, decimals, dates and strings must be equal; floating-point columns may differ by a
//! relative 1e-9, because the order of additions is nobody's contract. Queries may be run in
//! several ways, which must not change their rows.

use std::cmp::Ordering;

use engine::Session;

use crate::peers::{Peer, Row, Which};
use crate::suite::{self, Options, Pair};
use crate::variants::Variant;
use crate::{Outcome, text};

/// Allowed relative difference of floating-point values.
const TOLERANCE: f64 = 1e-9;

/// Runs the chosen queries on both sides, on ours in each of `variants`, and compares their rows.
///
/// # Errors
/// Which queries differ.
pub fn run(options: &Options, which: Which, variants: &[Variant]) -> Outcome {
    // Both in memory do not fit beside each other at large scales.
    let which = match which {
        Which::Duckdb if options.scale > options.suite.shared_memory_max => Which::DuckdbFile,
        which => which,
    };
    let Pair { mut tessera, mut peer, scratch: _scratch } = suite::open(options, which)?;
    compare_all(options, &mut tessera, peer.as_mut(), variants)
}

fn compare_all(
    options: &Options,
    tessera: &mut Session,
    peer: &mut dyn Peer,
    variants: &[Variant],
) -> Outcome {
    let mut different = Vec::new();
    for (name, query) in options.chosen() {
        let ways = variants.len();
        match compare(tessera, peer, query, variants) {
            Ok(rows) => {
                println!("{} {name:>3}: equal, {rows} rows, {ways} ways", options.suite.name);
            }
            Err(message) => {
                println!("{} {name:>3}: DIFFERENT: {message}", options.suite.name);
                different.push(name.to_owned());
            }
        }
    }
    if different.is_empty() {
        Ok(())
    } else {
        Err(format!("queries {} differ", different.join(", ")))
    }
}

/// The number of rows, when ours are theirs in each of the ways.
fn compare(
    session: &mut Session,
    peer: &mut dyn Peer,
    query: &str,
    variants: &[Variant],
) -> Result<usize, String> {
    let (theirs, floating) = peer.rows(query)?;
    let mut rows = 0;
    for variant in variants {
        for setting in variant.settings() {
            session.execute(&setting).map_err(text)?;
        }
        let ours = session.execute(query).map_err(text)?.text_rows();
        let found = equal_rows(ours, theirs.clone(), &floating);
        rows = found.map_err(|message| format!("{}: {message}", variant.name))?;
    }
    Ok(rows)
}

/// Compares in order, and if that fails as multisets: ties of ORDER BY come in any order.
fn equal_rows(
    mut ours: Vec<Row>,
    mut theirs: Vec<Row>,
    floating: &[bool],
) -> Result<usize, String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} rows, expected {}", ours.len(), theirs.len()));
    }
    let same = |(a, b): (&Row, &Row)| same_row(a, b, floating);
    if ours.iter().zip(&theirs).all(same) {
        return Ok(ours.len());
    }
    ours.sort_by(|a, b| order(a, b, floating));
    theirs.sort_by(|a, b| order(a, b, floating));
    match ours.iter().zip(&theirs).find(|(a, b)| !same_row(a, b, floating)) {
        None => Ok(ours.len()),
        Some((a, b)) => Err(format!("\n  Tessera  {}\n  expected {}", show(a), show(b))),
    }
}

fn same_row(a: &Row, b: &Row, floating: &[bool]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).zip(floating).all(|((a, b), floating)| match (a, b) {
            (Some(a), Some(b)) if *floating => close(a, b),
            (Some(a), Some(b)) => exact(a) == exact(b),
            (a, b) => a == b,
        })
}

fn close(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
        _ => a == b,
    }
}

/// The text without what only the display scale adds, and blanks that pad a CHAR(n).
fn exact(cell: &str) -> &str {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
    if cell.contains('.') && number(cell) {
        cell.trim_end_matches('0').trim_end_matches('.')
    } else {
        cell.trim_end_matches(' ')
    }
}

/// Orders rows by their exact columns first, so that rounding cannot shuffle them.
fn order(a: &Row, b: &Row, floating: &[bool]) -> Ordering {
    let columns = |row: &Row, wanted: bool| -> Vec<Option<String>> {
        let pairs = row.iter().zip(floating).filter(|(_, floating)| **floating == wanted);
        pairs.map(|(cell, _)| cell.as_deref().map(|cell| exact(cell).to_owned())).collect()
    };
    columns(a, false).cmp(&columns(b, false)).then_with(|| columns(a, true).cmp(&columns(b, true)))
}

fn show(row: &Row) -> String {
    row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::equal_rows;

    fn row(cells: &[&str]) -> Vec<Option<String>> {
        cells.iter().map(|cell| Some((*cell).to_owned())).collect()
    }

    #[test]
    fn decimals_are_exact_and_doubles_nearly() {
        let check = |a: &str, b: &str, floating| {
            equal_rows(vec![row(&[a])], vec![row(&[b])], &[floating]).is_ok()
        };
        assert!(check("1.50", "1.5", false));
        assert!(!check("1.51", "1.5", false));
        assert!(!check("0.30000000001", "0.3", false));
        assert!(check("0.30000000000000004", "0.3", true));
        assert!(!check("0.3000001", "0.3", true));
    }

    #[test]
    fn ties_may_come_in_any_order() {
        let (a, b) = (row(&["1", "x"]), row(&["1", "y"]));
        let exact = [false, false];
        assert_eq!(
            equal_rows(vec![a.clone(), b.clone()], vec![b.clone(), a.clone()], &exact),
            Ok(2)
        );
        assert!(equal_rows(vec![a.clone(), a.clone()], vec![b, a], &exact).is_err());
    }
}
