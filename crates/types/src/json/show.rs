//! JSON written anew: with lines and indents, without fields that are null.

use super::string::unescaped;
use super::{Event, Events, push_quoted};
use crate::{DataType, Result};

/// Blanks for each level of jsonb_pretty.
const INDENT: usize = 4;

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth * INDENT));
}

/// Appends the JSONB `json` with a line for each part, as jsonb_pretty does.
///
/// # Errors
/// 22P02 where `json` is none.
pub fn pretty(out: &mut Vec<u8>, json: &[u8]) -> Result<()> {
    let mut events = Events::new(json);
    let mut depth = 0usize;
    // Whether the next part begins a line, and whether it follows another one.
    let (mut is_field, mut has_before) = (false, false);
    while let Some(event) = events.next()? {
        if matches!(event, Event::ObjectEnd | Event::ArrayEnd) {
            depth -= 1;
            new_line(out, depth);
            out.push(if event == Event::ObjectEnd { b'}' } else { b']' });
            has_before = true;
            continue;
        }
        if !is_field {
            if has_before {
                out.push(b',');
            }
            if depth > 0 {
                new_line(out, depth);
            }
        }
        is_field = false;
        has_before = true;
        match event {
            Event::ObjectStart | Event::ArrayStart => {
                out.push(if event == Event::ObjectStart { b'{' } else { b'[' });
                depth += 1;
                has_before = false;
            }
            Event::Key(raw) => {
                out.extend_from_slice(raw);
                out.extend_from_slice(b": ");
                is_field = true;
            }
            Event::String(raw) | Event::Number(raw) | Event::Word(raw) => {
                out.extend_from_slice(raw);
            }
            Event::ObjectEnd | Event::ArrayEnd => {}
        }
    }
    Ok(())
}

/// Appends `json`, a JSONB or a JSON as `ty` says, without the fields of objects that are null.
///
/// # Errors
/// 22P05, 22P02 for strings that are no text.
pub fn without_nulls(out: &mut Vec<u8>, json: &[u8], ty: DataType) -> Result<()> {
    let (comma, colon): (&[u8], &[u8]) =
        if ty == DataType::Jsonb { (b", ", b": ") } else { (b",", b":") };
    let string = |out: &mut Vec<u8>, raw: &[u8]| -> Result<()> {
        push_quoted(out, &unescaped(raw)?);
        Ok(())
    };
    let mut events = Events::new(json);
    let mut has_before = false;
    // The key whose value comes next.
    let mut key: Option<&[u8]> = None;
    while let Some(event) = events.next()? {
        match (event, key.take()) {
            (Event::ObjectEnd, _) => {
                out.push(b'}');
                has_before = true;
                continue;
            }
            (Event::ArrayEnd, _) => {
                out.push(b']');
                has_before = true;
                continue;
            }
            (Event::Key(raw), _) => {
                key = Some(raw);
                continue;
            }
            (Event::Word(b"null"), Some(_)) => continue,
            (_, name) => {
                if has_before {
                    out.extend_from_slice(comma);
                }
                if let Some(raw) = name {
                    string(out, raw)?;
                    out.extend_from_slice(colon);
                }
            }
        }
        has_before = true;
        match event {
            Event::ObjectStart => out.push(b'{'),
            Event::ArrayStart => out.push(b'['),
            Event::String(raw) => string(out, raw)?,
            Event::Number(raw) | Event::Word(raw) => out.extend_from_slice(raw),
            Event::ObjectEnd | Event::ArrayEnd | Event::Key(_) => {}
        }
        has_before &= !matches!(event, Event::ObjectStart | Event::ArrayStart);
    }
    Ok(())
}
