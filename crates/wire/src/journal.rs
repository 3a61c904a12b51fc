//! The server's log: one line for each connection, disconnection, error and slow statement.
//!
//! ```text
//! text: 2026-01-31T12:00:00.123Z ERROR pid=7 user=ann sqlstate=42P01 message="..."
//! json: {"time":"...","level":"ERROR","event":"error","pid":7,"user":"ann",...}
//! ```
//! Invariant: neither passwords nor values get into it: of statements constants between quotes are
//! left out, values of parameters never come here, and of messages about values (SQLSTATE class 22)
//! what follows the colon is cut.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use types::Error;

/// The form of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Words and `key=value`.
    Text,
    /// An object for each line.
    Json,
}

/// Options of the log, which goes to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The form of lines; without one nothing is logged.
    pub format: Option<LogFormat>,
    /// Statements that run at least so long are logged.
    pub duration_min: Option<Duration>,
}

/// A field of a line.
pub(crate) enum Field<'a> {
    Number(u64),
    Milliseconds(f64),
    Text(&'a str),
}

impl LogOptions {
    /// Writes a line, if there is a log.
    pub(crate) fn write(&self, level: &str, event: &str, fields: &[(&str, Field<'_>)]) {
        let Some(format) = self.format else { return };
        let line = line(format, SystemTime::now(), level, event, fields);
        // Whoever reads the log may have stopped: that must not end the server.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    /// Logs an error of a statement.
    pub(crate) fn error(&self, pid: i32, user: &str, error: &Error) {
        if self.format.is_none() {
            return;
        }
        let message = error.message();
        let is_about_values = error.state().as_str().starts_with("22");
        let message = match message.split_once(": ") {
            Some((before, _)) if is_about_values => before,
            _ => message,
        };
        let state = error.state();
        let fields = [
            ("pid", Field::Number(pid.unsigned_abs().into())),
            ("user", Field::Text(user)),
            ("sqlstate", Field::Text(state.as_str())),
            ("message", Field::Text(message)),
        ];
        self.write("ERROR", "error", &fields);
    }

    /// Logs a statement that took `time`, if that is long enough.
    pub(crate) fn statement(&self, pid: i32, user: &str, text: &str, time: Duration) {
        if self.format.is_none() || self.duration_min.is_none_or(|least| time < least) {
            return;
        }
        let statement = without_constants(text);
        let fields = [
            ("pid", Field::Number(pid.unsigned_abs().into())),
            ("user", Field::Text(user)),
            ("duration_ms", Field::Milliseconds(time.as_secs_f64() * 1e3)),
            ("statement", Field::Text(&statement)),
        ];
        self.write("INFO", "statement", &fields);
    }
}

fn line(
    format: LogFormat,
    now: SystemTime,
    level: &str,
    event: &str,
    fields: &[(&str, Field<'_>)],
) -> String {
    let time = time_text(now);
    let mut line = match format {
        LogFormat::Text => format!("{time} {level} {event}"),
        LogFormat::Json => {
            format!("{{\"time\":\"{time}\",\"level\":\"{level}\",\"event\":\"{event}\"")
        }
    };
    for (name, field) in fields {
        let value = match field {
            Field::Number(number) => number.to_string(),
            Field::Milliseconds(ms) => format!("{ms:.3}"),
            Field::Text(text) => quoted(text),
        };
        match format {
            LogFormat::Text => line.push_str(&format!(" {name}={value}")),
            LogFormat::Json => line.push_str(&format!(",\"{name}\":{value}")),
        }
    }
    line.push_str(if format == LogFormat::Json { "}\n" } else { "\n" });
    line
}

/// Text as a string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A statement whose constants between quotes (`'...'`, `$tag$...$tag$`) are a question mark.
fn without_constants(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '$', '"']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let escapes = before.ends_with(['e', 'E']);
        rest = match from.as_bytes()[0] {
            b'\'' => {
                out.push_str("'?'");
                after_constant(&from[1..], escapes)
            }
            b'"' => {
                let end = from[1..].find('"').map_or(from.len(), |end| end + 2);
                out.push_str(&from[..end]);
                &from[end..]
            }
            _ => match dollar_tag(from) {
                Some(tag) => {
                    out.push_str("'?'");
                    let inside = &from[tag.len()..];
                    inside.find(tag).map_or("", |end| &inside[end + tag.len()..])
                }
                None => {
                    out.push('$');
                    &from[1..]
                }
            },
        };
    }
    out.push_str(rest);
    out
}

/// Text behind a constant, whose first quote was read.
fn after_constant(text: &str, escapes: bool) -> &str {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return &text[at + 1..],
            _ => at += 1,
        }
    }
    ""
}

/// `$$` or `$tag$` at the beginning.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let inside = &tag[1..end - 1];
    let starts = !inside.starts_with(|c: char| c.is_ascii_digit());
    (starts && inside.chars().all(is_word)).then_some(tag)
}

/// Year, month, day and time in UTC.
fn time_text(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(0);
    let text = types::text::format(&types::Value::I64(micros), types::DataType::TIMESTAMP);
    let (date, time) = text.split_once(' ').unwrap_or((&text, ""));
    let whole = time.split('.').next().unwrap_or_default();
    format!("{date}T{whole}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_left_out() {
        let cases = [
            ("ALTER USER a PASSWORD 'geheim'", "ALTER USER a PASSWORD '?'"),
            (
                "select 'it''s', E'a\\'b', $1, $$x$$ from \"q'q\"",
                "select '?', E'?', $1, '?' from \"q'q\"",
            ),
            ("select $a$ $b$ 'x' $a$, 1", "select '?', 1"),
            ("select 'open", "select '?'"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_constants(text), expected);
        }
    }

    #[test]
    fn lines_have_two_forms() {
        let now = UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        let fields = [("pid", Field::Number(7)), ("user", Field::Text("a\"b\n"))];
        let text = line(LogFormat::Text, now, "INFO", "connection", &fields);
        assert_eq!(text, "2023-11-14T22:13:20.123Z INFO connection pid=7 user=\"a\\\"b\\n\"\n");
        let json = line(LogFormat::Json, now, "INFO", "connection", &fields);
        let expected = "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"INFO\",\
                        \"event\":\"connection\",\"pid\":7,\"user\":\"a\\\"b\\n\"}\n";
        assert_eq!(json, expected);
    }
}
