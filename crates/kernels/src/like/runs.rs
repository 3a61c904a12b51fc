//! Patterns that look for a text inside: one search over many rows.
//!
//! Strings of a block lie one after the other, so a batch of them is a few runs of bytes. Searching
//! a run costs one call for thousands of rows, where searching each row pays the searcher's
//! start-up each time (TPC-H Q13, 49 bytes a row: about five times as fast).

use memchr::memmem::Finder;

use crate::StrVector;

/// Rows per run below which rows are searched one by one.
const RUN_ROWS_MIN: usize = 8;

/// Sets `out[row]` to 1 for each row that contains the finder's needle and satisfies `matches`,
/// which sees the whole row; other rows get 0. The needle is not empty.
pub(super) fn search(
    text: &StrVector,
    finder: &Finder<'_>,
    matches: impl Fn(&[u8]) -> bool,
    out: &mut Vec<u8>,
) {
    out.clear();
    out.resize(text.len(), 0);
    let needle = finder.needle().len();
    debug_assert!(needle > 0, "every row contains the empty text");
    text.each_run(|rows, bytes| {
        if rows.len() < RUN_ROWS_MIN {
            for row in rows {
                let text = text.get(row);
                out[row] = u8::from(finder.find(text).is_some() && matches(text));
            }
            return;
        }
        let mut row = rows.start;
        let mut end = text.get(row).len();
        let mut at = 0;
        while let Some(found) = finder.find(&bytes[at..]) {
            at += found;
            while end <= at {
                row += 1;
                end += text.get(row).len();
            }
            if at + needle <= end {
                out[row] = u8::from(matches(text.get(row)));
                at = end;
            } else {
                // The hit is half in the next row: no hit.
                at += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::HeapRef;
    use crate::StrView;

    /// Rows that lie one after the other in one memory, short ones among them.
    fn adjacent(rows: &[String]) -> StrVector {
        let bytes: std::sync::Arc<Vec<u8>> = std::sync::Arc::new(rows.concat().into_bytes());
        let mut start = 0;
        let view = |row: &String| {
            let view = StrView::new(&bytes[start..start + row.len()]);
            start += row.len();
            view
        };
        let views = rows.iter().map(view).collect();
        // SAFETY: the views point into `bytes`, which the heap keeps alive and nobody changes.
        unsafe { StrVector::from_views(views, vec![HeapRef::pinned(bytes.clone())]) }
    }

    proptest! {
        #[test] // Few letters and short needles: hits at row ends and across rows are common.
        fn runs_equal_rows(
            rows in prop::collection::vec("[ab]{0,30}", 0..60),
            needle in "[ab]{1,4}",
        ) {
            let text = adjacent(&rows);
            let finder = Finder::new(&needle);
            let mut found = Vec::new();
            search(&text, &finder, |row| row.len() % 5 != 0, &mut found);
            let twin: Vec<u8> = rows
                .iter()
                .map(|row| u8::from(row.contains(&needle) && row.len() % 5 != 0))
                .collect();
            prop_assert_eq!(found, twin);
        }
    }
}
