//! Errors as the user sees them.

use std::fmt::Write as _;

use types::Error;

/// The error, the line of `text` it is in with a caret below, detail and hint.
pub(crate) fn format(text: &str, error: &Error) -> String {
    let mut out = format!("ERROR {error}");
    if let Some(position) = error.position()
        && let Some(line) = text.lines().nth(position.line as usize - 1)
    {
        let line = line.replace('\t', " ");
        let label = format!("LINE {}: ", position.line);
        let column = position.column.saturating_sub(1) as usize;
        // Writing to a String cannot fail.
        let _ = write!(out, "\n{label}{line}\n{:width$}^", "", width = label.len() + column);
    }
    if let Some(detail) = error.detail() {
        let _ = write!(out, "\nDETAIL: {detail}");
    }
    if let Some(hint) = error.hint() {
        let _ = write!(out, "\nHINT: {hint}");
    }
    out
}

/// Prints the error to standard error.
pub(crate) fn print(text: &str, error: &Error) {
    eprintln!("{}", format(text, error));
}

#[cfg(test)]
mod tests {
    use types::{Position, SqlState};

    use super::*;

    #[test]
    fn the_caret_is_under_the_column() {
        let error = Error::new(SqlState::UNDEFINED_TABLE, "relation \"x\" does not exist")
            .at(Position { line: 2, column: 6 });
        let expected = "ERROR 42P01: relation \"x\" does not exist at line 2 column 6\n\
                        LINE 2: from x\n             ^";
        assert_eq!(format("select *\nfrom x", &error), expected);
    }
}
