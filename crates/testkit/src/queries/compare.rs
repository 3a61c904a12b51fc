//! Tests that two results are the same.

use std::cmp::Ordering;

use super::tree::Kind;

/// Allowed relative difference of floating-point values: sums have no fixed order.
const TOLERANCE: f64 = 1e-9;

/// Importance of the order of rows in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Any order is right.
    Any,
    /// The order is determined.
    Total,
}

type Row = Vec<Option<String>>;

/// The first difference between two results with columns of `kinds`, if there is one.
pub fn difference(
    expected: &[Row],
    actual: &[Row],
    kinds: &[Kind],
    order: RowOrder,
) -> Option<String> {
    if expected.len() != actual.len() {
        return Some(format!("{} rows instead of {}", actual.len(), expected.len()));
    }
    let (mut expected, mut actual): (Vec<&Row>, Vec<&Row>) =
        (expected.iter().collect(), actual.iter().collect());
    if order == RowOrder::Any {
        expected.sort_by(|a, b| by_cells(a, b, kinds));
        actual.sort_by(|a, b| by_cells(a, b, kinds));
    }
    let mut pairs = expected.iter().zip(&actual).enumerate();
    let (number, (expected, actual)) = pairs.find(|(_, (a, b))| !same_row(a, b, kinds))?;
    Some(format!("row {number} is {} instead of {}", show(actual), show(expected)))
}

fn same_row(a: &Row, b: &Row, kinds: &[Kind]) -> bool {
    let cells = a.iter().zip(b).enumerate();
    a.len() == b.len()
        && cells.into_iter().all(|(number, (a, b))| match (a, b, kinds.get(number)) {
            (Some(a), Some(b), Some(Kind::Float)) => close(a, b),
            (Some(a), Some(b), _) => exact(a) == exact(b),
            (a, b, _) => a == b,
        })
}

fn close(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0),
        _ => a == b,
    }
}

/// The text without zeros that only the display scale adds.
fn exact(cell: &str) -> &str {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
    if cell.contains('.') && number(cell) {
        cell.trim_end_matches('0').trim_end_matches('.')
    } else {
        cell
    }
}

/// Orders rows by their exact columns first, so that rounding cannot shuffle them; 0 and -0 are
/// equal.
fn by_cells(a: &Row, b: &Row, kinds: &[Kind]) -> Ordering {
    let exact_cells = |row: &Row| -> Vec<Option<String>> {
        let cells = row.iter().zip(kinds).filter(|(_, kind)| **kind != Kind::Float);
        cells.map(|(cell, _)| cell.as_deref().map(|cell| exact(cell).to_owned())).collect()
    };
    exact_cells(a).cmp(&exact_cells(b)).then_with(|| {
        let numbers = |row: &Row| -> Vec<Option<f64>> {
            let cells = row.iter().zip(kinds).filter(|(_, kind)| **kind == Kind::Float);
            cells.map(|(cell, _)| cell.as_deref().and_then(|c| c.parse().ok())).collect()
        };
        numbers(a).partial_cmp(&numbers(b)).unwrap_or(Ordering::Equal)
    })
}

fn show(row: &Row) -> String {
    row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&str]) -> Vec<Row> {
        cells.iter().map(|cell| vec![Some((*cell).to_owned())]).collect()
    }

    #[test]
    fn only_floating_point_values_may_differ_a_little() {
        let differ =
            |a, b, kind| difference(&rows(&[a]), &rows(&[b]), &[kind], RowOrder::Total).is_some();
        assert!(!differ("1.50", "1.5", Kind::Decimal));
        assert!(differ("1.5000000000001", "1.5", Kind::Decimal));
        assert!(!differ("1.5000000000001", "1.5", Kind::Float));
        assert!(differ("1.51", "1.5", Kind::Float));
    }

    #[test]
    fn order_matters_where_it_is_determined() {
        let (a, b) = (rows(&["1", "2"]), rows(&["2", "1"]));
        assert_eq!(difference(&a, &b, &[Kind::Int], RowOrder::Any), None);
        assert!(difference(&a, &b, &[Kind::Int], RowOrder::Total).is_some());
    }
}
