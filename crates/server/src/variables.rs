//! Variables of the shell: `\set name value`, then `:name`, `:'name'`, `:"name"` in statements.

use std::collections::BTreeMap;

use crate::scan::Scanner;

/// Variables by their names.
pub(crate) type Variables = BTreeMap<String, String>;

/// `text` with the values of the variables that it names, outside of quotations and comments. Names
/// of none stay as they are.
pub(crate) fn filled(text: &str, variables: &Variables) -> String {
    if variables.is_empty() || !text.contains(':') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut scanner = Scanner::default();
    let mut at = 0;
    while let Some(found) = text[at..].find(':').map(|offset| at + offset) {
        scanner.read(&text[at..found]);
        out.push_str(&text[at..found]);
        let rest = &text[found..];
        let is_cast = rest.starts_with("::");
        let named = if is_cast || scanner.is_within() { None } else { variable(rest, variables) };
        let (shown, length) = match named {
            Some(named) => named,
            None => {
                let length = if is_cast { 2 } else { 1 };
                (rest[..length].to_owned(), length)
            }
        };
        scanner.read(&shown);
        out.push_str(&shown);
        at = found + length;
    }
    out.push_str(&text[at..]);
    out
}

/// The value of the variable that `rest`, which begins with a colon, names, as SQL has it, and how
/// long the name is.
fn variable(rest: &str, variables: &Variables) -> Option<(String, usize)> {
    let body = &rest[1..];
    let quote = body.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let inner = if quote.is_some() { &body[1..] } else { body };
    let length = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
    let value = variables.get(&inner[..length])?;
    match quote {
        None => Some((value.clone(), 1 + length)),
        Some(quote) => inner[length..].starts_with(quote).then(|| {
            let doubled = value.replace(quote, &format!("{quote}{quote}"));
            (format!("{quote}{doubled}{quote}"), length + 3)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_of_quotations_are_filled_in() {
        let variables: Variables =
            [("n", "5"), ("s", "it's"), ("t", "a b")].map(|(k, v)| (k.into(), v.into())).into();
        let filled = |text| filled(text, &variables);
        assert_eq!(filled("select :n, :'s', :\"t\""), "select 5, 'it''s', \"a b\"");
        assert_eq!(filled("select ':n', a::n, :none -- :n"), "select ':n', a::n, :none -- :n");
        assert_eq!(filled("select '12:n' || :n"), "select '12:n' || 5");
        assert_eq!(filled("x[1:n]"), "x[15]");
    }
}
