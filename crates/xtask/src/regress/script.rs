//! Statements of a file that was written for psql.
//!
//! ```text
//! SELECT 1;                     ->  Step { sql: "SELECT 1", input: "" }
//! COPY t FROM STDIN;\n1\n\.\n    ->  Step { sql: "COPY t FROM STDIN", input: "1\n" }
//! ```
//! Invariant: a semicolon within quotes, comments, parentheses or `BEGIN ATOMIC` ends nothing.
//! psql's own commands are left out, and so is a statement that one of them ends (`\gset`).

/// One statement, with the lines that follow a `COPY ... FROM STDIN`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The statement without its semicolon.
    pub(super) sql: String,
    /// Rows that the client sends when the server asks for them.
    pub(super) input: String,
}

/// All statements of `text`, in order.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut lexer = Lexer { text, at: 0, start: 0, depth: 0, atomic: 0, steps: Vec::new() };
    while lexer.at < text.len() {
        lexer.token();
    }
    lexer.finish(text.len());
    lexer.steps
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Where the statement begins.
    start: usize,
    /// Open parentheses.
    depth: usize,
    /// Open `BEGIN ATOMIC` and `CASE` within one.
    atomic: usize,
    steps: Vec<Step>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Passes over one token.
    fn token(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return };
        if rest.starts_with("--") {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            self.at += comment_bytes(rest);
        } else if matches!(first, '\'' | '"') {
            self.at += quoted_bytes(rest, first, self.is_escape_string());
        } else if first == '$' && dollar_tag(rest).is_some() {
            let tag = dollar_tag(rest).unwrap_or_default();
            let end = rest[tag.len()..].find(tag).map(|found| found + 2 * tag.len());
            self.at += end.unwrap_or(rest.len());
        } else if first.is_alphabetic() || first == '_' {
            self.word();
        } else {
            self.sign(first);
        }
    }

    /// True when an `E` stands before the quote.
    fn is_escape_string(&self) -> bool {
        let before = &self.text.as_bytes()[self.start..self.at];
        let named = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match before {
            [.., other, b'e' | b'E'] => !named(*other),
            [b'e' | b'E'] => true,
            _ => false,
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        // A quote behind an E belongs to the next token.
        let word = rest[..end].to_ascii_lowercase();
        let before = self.text[self.start..self.at].trim_end().to_ascii_lowercase();
        match word.as_str() {
            "atomic" if before.ends_with("begin") => self.atomic = 1,
            "case" if self.atomic > 0 => self.atomic += 1,
            "end" if self.atomic > 0 => self.atomic -= 1,
            _ => {}
        }
        self.at += end;
    }

    fn sign(&mut self, sign: char) {
        let at = self.at;
        self.at += sign.len_utf8();
        match sign {
            '(' => self.depth += 1,
            ')' => self.depth = self.depth.saturating_sub(1),
            ';' if self.depth == 0 && self.atomic == 0 => {
                self.finish(at);
                self.input();
            }
            '\\' => self.command(at),
            _ => {}
        }
    }

    /// Passes over psql's command at `at`, and drops the statement that it ends.
    fn command(&mut self, at: usize) {
        if self.rest().starts_with(';') {
            // `\;` sends both statements in one message.
            self.at += 1;
            return;
        }
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        let ended = self.text[self.start..at].trim();
        if ended.is_empty() || self.text[at..].starts_with("\\g") {
            self.start = self.at;
            self.depth = 0;
        }
    }

    /// Ends the statement before `end`; the next one begins at the lexer's position.
    fn finish(&mut self, end: usize) {
        let sql = self.text[self.start..end].trim();
        if sql.lines().any(|line| !line.trim().is_empty() && !line.trim().starts_with("--")) {
            self.steps.push(Step { sql: sql.replace("\\;", ";"), input: String::new() });
        }
        self.start = self.at;
        self.depth = 0;
    }

    /// Takes the lines behind `COPY ... FROM STDIN`.
    fn input(&mut self) {
        let Some(step) = self.steps.last_mut() else { return };
        let sql = step.sql.to_ascii_lowercase();
        let copies = sql.trim_start().starts_with("copy") && sql.contains("from");
        if !copies || !sql.split_whitespace().any(|word| word == "stdin") {
            return;
        }
        let rest = &self.text[self.at..];
        let begin = rest.find('\n').map_or(rest.len(), |found| found + 1);
        let mut bytes = begin;
        for line in rest[begin..].split_inclusive('\n') {
            bytes += line.len();
            if line.trim_end() == "\\." {
                break;
            }
            step.input.push_str(line);
        }
        self.at += bytes;
        self.start = self.at;
    }
}

/// Bytes of the comment that `text` begins with; comments nest.
fn comment_bytes(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Bytes of the string or name in quotes that `text` begins with.
fn quoted_bytes(text: &str, quote: char, escapes: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if escapes && bytes[at] == b'\\' {
            at += 1;
        } else if bytes[at] == quote as u8 {
            return at + 1;
        }
        at += 1;
    }
    text.len()
}

/// The tag of the dollar-quoted string that `text` begins with: `$$` or `$name$`.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find(|c: char| !(c.is_alphanumeric() || c == '_'))? + 1;
    let named = !text[1..end].starts_with(|c: char| c.is_ascii_digit());
    (text[end..].starts_with('$') && named).then(|| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> Vec<String> {
        steps(text).into_iter().map(|step| step.sql).collect()
    }

    #[test]
    fn semicolons_end_statements_outside_of_quotes_only() {
        let text = "select ';'; select E'\\';'; select \";\" -- ;\n; select $x$;$x$; \
                    select /* ; /* ; */ */ 1;";
        let expected = [
            "select ';'",
            "select E'\\';'",
            "select \";\" -- ;",
            "select $x$;$x$",
            "select /* ; /* ; */ */ 1",
        ];
        assert_eq!(sql(text), expected);
    }

    #[test]
    fn parentheses_and_bodies_hold_semicolons() {
        let text = "create rule r as on insert to t do also (select 1; select 2); select 3;\n\
             create function f() returns int begin atomic \
             select case when true then 1 end; end; select 4";
        let found = sql(text);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[3], "select 4");
    }

    #[test]
    fn rows_of_copy_are_its_input() {
        let found = steps("COPY t FROM STDIN;\n1;\n2\n\\.\nselect 1;");
        assert_eq!(found[0].input, "1;\n2\n");
        assert_eq!(found[1], Step { sql: "select 1".into(), input: String::new() });
    }

    #[test]
    fn commands_of_psql_are_left_out() {
        assert_eq!(
            sql("\\d t\nselect 1;\n\\set x 1\nselect 2 \\gset\nselect 3;"),
            ["select 1", "select 3"]
        );
        assert_eq!(sql("select 1\\; select 2;"), ["select 1; select 2"]);
    }
}
