//! Paths as text, as PostgreSQL prints them.
//!
//! Departure: steps behind an operator in the parentheses of a subscript, `exists` or a filter keep
//! the operator's own parentheses, without which the text would denote another path.

use super::{Chain, JsonPath, Levels, PathMode, PathPattern, Predicate, Step};
use crate::CompareOp;
use crate::json::push_quoted;

/// Whether an operator has parentheses around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Parentheses,
    Nothing,
}

impl JsonPath {
    /// The canonical text.
    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.mode == PathMode::Strict {
            out.extend_from_slice(b"strict ");
        }
        chain(&mut out, &self.steps, Around::Parentheses);
        out
    }
}

/// Priorities of operators: those of their operands decide about parentheses.
fn step_priority(step: &Step) -> u8 {
    use super::ArithmeticOp as A;
    match step {
        Step::Predicate(predicate) => priority(predicate),
        Step::Arithmetic(A::Add | A::Subtract, _) => 3,
        Step::Arithmetic(..) => 4,
        Step::Minus(_) | Step::Plus(_) => 5,
        _ => 6,
    }
}

fn priority(predicate: &Predicate) -> u8 {
    match predicate {
        Predicate::Or(_) => 0,
        Predicate::And(_) => 1,
        Predicate::Compare(..) | Predicate::StartsWith(..) => 2,
        _ => 6,
    }
}

fn around(is_wanted: bool) -> Around {
    if is_wanted { Around::Parentheses } else { Around::Nothing }
}

/// `out` with what `inner` writes, in parentheses or not.
fn within(out: &mut Vec<u8>, around: Around, inner: impl FnOnce(&mut Vec<u8>)) {
    if around == Around::Parentheses {
        out.push(b'(');
    }
    inner(out);
    if around == Around::Parentheses {
        out.push(b')');
    }
}

fn chain(out: &mut Vec<u8>, steps: &Chain, around: Around) {
    let around = if steps.len() > 1 { Around::Parentheses } else { around };
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Number(text) if steps.len() > 1 => {
                within(out, Around::Parentheses, |out| out.extend_from_slice(text.as_bytes()));
            }
            _ => self::step(out, step, if number == 0 { around } else { Around::Nothing }),
        }
    }
}

fn step(out: &mut Vec<u8>, step: &Step, parentheses: Around) {
    let text = |out: &mut Vec<u8>, text: &str| out.extend_from_slice(text.as_bytes());
    match step {
        Step::Null => text(out, "null"),
        Step::Boolean(value) => text(out, if *value { "true" } else { "false" }),
        Step::Number(number) => text(out, number),
        Step::String(string) => push_quoted(out, string.as_bytes()),
        Step::Variable(name) => {
            out.push(b'$');
            push_quoted(out, name.as_bytes());
        }
        Step::Root => out.push(b'$'),
        Step::Current => out.push(b'@'),
        Step::Last => text(out, "last"),
        Step::Arithmetic(op, operands) => within(out, parentheses, |out| {
            let own = step_priority(step);
            operand(out, &operands.0, own);
            out.extend_from_slice(format!(" {} ", op.sign()).as_bytes());
            operand(out, &operands.1, own);
        }),
        Step::Minus(value) | Step::Plus(value) => within(out, parentheses, |out| {
            out.push(if matches!(step, Step::Minus(_)) { b'-' } else { b'+' });
            operand(out, value, step_priority(step));
        }),
        Step::Predicate(predicate) => self::predicate(out, predicate, parentheses),
        Step::Field(name) => {
            out.push(b'.');
            push_quoted(out, name.as_bytes());
        }
        Step::AnyField => text(out, ".*"),
        Step::AnyElement => text(out, "[*]"),
        Step::Elements(list) => {
            out.push(b'[');
            for (number, subscript) in list.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                chain(out, &subscript.from, Around::Nothing);
                if let Some(to) = &subscript.to {
                    text(out, " to ");
                    chain(out, to, Around::Nothing);
                }
            }
            out.push(b']');
        }
        Step::AnyLevel(levels) => text(out, &level_text(*levels)),
        Step::Filter(inner) => {
            out.push(b'?');
            within(out, Around::Parentheses, |out| predicate(out, inner, Around::Nothing));
        }
        Step::Method(method) => text(out, &format!(".{}()", method.name())),
        Step::DateTime(template) => {
            text(out, ".datetime(");
            if let Some(template) = template {
                push_quoted(out, template.as_bytes());
            }
            out.push(b')');
        }
    }
}

fn operand(out: &mut Vec<u8>, value: &Chain, own: u8) {
    let needs = value.first().is_some_and(|step| step_priority(step) <= own);
    chain(out, value, around(needs));
}

fn level_text(levels: Levels) -> String {
    match levels {
        Levels { first: 0, last: Levels::LAST } => ".**".to_owned(),
        Levels { first: Levels::LAST, last: Levels::LAST } => ".**{last}".to_owned(),
        Levels { first, last } if first == last => format!(".**{{{first}}}"),
        Levels { first: Levels::LAST, last } => format!(".**{{last to {last}}}"),
        Levels { first, last: Levels::LAST } => format!(".**{{{first} to last}}"),
        Levels { first, last } => format!(".**{{{first} to {last}}}"),
    }
}

fn sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "==",
        CompareOp::NotEqual => "!=",
        other => other.as_str(),
    }
}

fn predicate(out: &mut Vec<u8>, predicate: &Predicate, parentheses: Around) {
    let own = priority(predicate);
    match predicate {
        Predicate::And(both) => within(out, parentheses, |out| {
            self::predicate(out, &both.0, around(priority(&both.0) <= own));
            out.extend_from_slice(b" && ");
            self::predicate(out, &both.1, around(priority(&both.1) <= own));
        }),
        Predicate::Or(both) => within(out, parentheses, |out| {
            self::predicate(out, &both.0, around(priority(&both.0) <= own));
            out.extend_from_slice(b" || ");
            self::predicate(out, &both.1, around(priority(&both.1) <= own));
        }),
        Predicate::Not(inner) => {
            out.push(b'!');
            within(out, Around::Parentheses, |out| {
                self::predicate(out, inner, Around::Nothing);
            });
        }
        Predicate::IsUnknown(inner) => {
            within(out, Around::Parentheses, |out| {
                self::predicate(out, inner, Around::Nothing);
            });
            out.extend_from_slice(b" is unknown");
        }
        Predicate::Compare(op, left, right) => within(out, parentheses, |out| {
            operand(out, left, own);
            out.extend_from_slice(format!(" {} ", sign(*op)).as_bytes());
            operand(out, right, own);
        }),
        Predicate::Exists(inner) => {
            out.extend_from_slice(b"exists ");
            within(out, Around::Parentheses, |out| chain(out, inner, Around::Nothing));
        }
        Predicate::StartsWith(value, start) => within(out, parentheses, |out| {
            operand(out, value, own);
            out.extend_from_slice(b" starts with ");
            operand(out, start, own);
        }),
        Predicate::LikeRegex(value, pattern) => within(out, parentheses, |out| {
            operand(out, value, own);
            regular(out, pattern);
        }),
    }
}

fn regular(out: &mut Vec<u8>, pattern: &PathPattern) {
    out.extend_from_slice(b" like_regex ");
    push_quoted(out, pattern.pattern.as_bytes());
    let flags = [
        (pattern.is_case_insensitive, b'i'),
        (pattern.dot_matches_line_end, b's'),
        (pattern.is_multi_line, b'm'),
        (pattern.is_expanded, b'x'),
        (pattern.is_literal, b'q'),
    ];
    if flags.iter().any(|(is_set, _)| *is_set) {
        out.extend_from_slice(b" flag \"");
        out.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| *flag));
        out.push(b'"');
    }
}
