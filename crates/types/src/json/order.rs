//! Keys of JSONB values: bytes in PostgreSQL's order of the values.
//!
//! ```text
//! 01 an empty array, when it is all   04 number: see `number`   07 count, 4 bytes, elements
//! 02 null                             05 false                  08 count, 4 bytes, (key 00 value)*
//! 03 text 00                          06 true
//! ```
//! Objects come after arrays, both by their number of parts and then part by part; texts are in the
//! order of their bytes and have no byte 0.

use super::{Event, Events, number, unescaped};
use crate::Result;

const EMPTY: u8 = 1;
const NULL: u8 = 2;
const TEXT: u8 = 3;
const NUMBER: u8 = 4;
const FALSE: u8 = 5;
const TRUE: u8 = 6;
const ARRAY: u8 = 7;
const OBJECT: u8 = 8;

/// Appends the key of the JSONB `json` to `out`: equal ones of equal values, in their order.
///
/// # Errors
/// 22P02 where `json` is none.
pub fn key(out: &mut Vec<u8>, json: &[u8]) -> Result<()> {
    if json == b"[]" {
        out.push(EMPTY);
        return Ok(());
    }
    // Where the counts of what is open are, and the counts.
    let mut open: Vec<(usize, u32)> = Vec::new();
    let mut is_field = false;
    let mut events = Events::new(json);
    while let Some(event) = events.next()? {
        let is_part = !matches!(event, Event::ObjectEnd | Event::ArrayEnd);
        // A field counts once, with its key.
        if is_part
            && !is_field
            && let Some((_, count)) = open.last_mut()
        {
            *count += 1;
        }
        is_field = matches!(event, Event::Key(_));
        match event {
            Event::ObjectStart | Event::ArrayStart => {
                out.push(if event == Event::ObjectStart { OBJECT } else { ARRAY });
                open.push((out.len(), 0));
                out.extend_from_slice(&[0; 4]);
            }
            Event::ObjectEnd | Event::ArrayEnd => {
                if let Some((at, count)) = open.pop() {
                    out[at..at + 4].copy_from_slice(&count.to_be_bytes());
                }
            }
            Event::Key(raw) => {
                out.extend_from_slice(&unescaped(raw)?);
                out.push(0);
            }
            Event::String(raw) => {
                out.push(TEXT);
                out.extend_from_slice(&unescaped(raw)?);
                out.push(0);
            }
            Event::Number(text) => {
                out.push(NUMBER);
                number::push_key(out, text);
            }
            Event::Word(word) => out.push(match word {
                b"true" => TRUE,
                b"false" => FALSE,
                _ => NULL,
            }),
        }
    }
    Ok(())
}
