//! JSON text as JSONB: duplicates gone, keys in order, numbers as NUMERIC, PostgreSQL's spaces.

use std::cmp::Ordering;
use std::ops::Range;

use super::string::unescape_into;
use super::{Event, Events, number, push_quoted};
use crate::Result;

/// A field of an object that is being written.
#[derive(Clone, Debug)]
struct Field {
    /// Its key, among the keys of all objects that are being written.
    key: Range<usize>,
    /// `"key": value` in what is written.
    written: Range<usize>,
}

/// An object or array that is being written.
#[derive(Clone, Debug)]
struct Frame {
    /// Where it begins.
    start: usize,
    /// Where its fields begin, among those of all objects; None for an array.
    fields: Option<usize>,
    /// True when a field or element is there already.
    has_parts: bool,
}

/// Writes JSON text in its canonical form; what it needs for that is kept from one to the next.
#[derive(Debug, Default)]
pub struct Canonical {
    out: Vec<u8>,
    frames: Vec<Frame>,
    fields: Vec<Field>,
    keys: Vec<u8>,
    /// An object in its final order, before it is put back.
    sorted: Vec<u8>,
    /// A string without its escapes.
    plain: Vec<u8>,
}

/// The canonical form of the JSON `text`.
///
/// # Errors
/// As [`Canonical::append`].
pub fn canonical(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() + 16);
    Canonical::default().append(&mut out, text)?;
    Ok(out)
}

impl Canonical {
    /// Appends the canonical form of the JSON `text`.
    ///
    /// # Errors
    /// 22P02, 22P05, 54001; 22003 for numbers that no NUMERIC is.
    pub fn append(&mut self, out: &mut Vec<u8>, text: &[u8]) -> Result<()> {
        std::mem::swap(&mut self.out, out);
        let result = self.write(text);
        std::mem::swap(&mut self.out, out);
        self.frames.clear();
        self.fields.clear();
        self.keys.clear();
        result
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        let mut events = Events::new(text);
        while let Some(event) = events.next()? {
            self.take(event)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::ObjectStart => self.enter(b'{', Some(self.fields.len())),
            Event::ArrayStart => self.enter(b'[', None),
            Event::ObjectEnd => self.leave_object(),
            Event::ArrayEnd => {
                self.frames.pop();
                self.out.push(b']');
                self.end_value();
            }
            Event::Key(raw) => self.key(raw)?,
            Event::String(raw) => {
                self.begin_value();
                self.quoted(raw)?;
                self.end_value();
            }
            Event::Number(text) => {
                self.begin_value();
                number::push_canonical(&mut self.out, text)?;
                self.end_value();
            }
            Event::Word(word) => {
                self.begin_value();
                self.out.extend_from_slice(word);
                self.end_value();
            }
        }
        Ok(())
    }

    /// A separator, before every element but the first.
    fn begin_value(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && frame.fields.is_none()
        {
            if frame.has_parts {
                self.out.extend_from_slice(b", ");
            }
            frame.has_parts = true;
        }
    }

    /// The last field of an object ends with its value.
    fn end_value(&mut self) {
        if self.frames.last().is_some_and(|frame| frame.fields.is_some())
            && let Some(field) = self.fields.last_mut()
        {
            field.written.end = self.out.len();
        }
    }

    fn enter(&mut self, sign: u8, fields: Option<usize>) {
        self.begin_value();
        self.frames.push(Frame { start: self.out.len(), fields, has_parts: false });
        self.out.push(sign);
    }

    fn key(&mut self, raw: &[u8]) -> Result<()> {
        if let Some(frame) = self.frames.last_mut() {
            if frame.has_parts {
                self.out.extend_from_slice(b", ");
            }
            frame.has_parts = true;
        }
        let (key, written) = (self.keys.len(), self.out.len());
        unescape_into(&mut self.keys, &raw[1..raw.len() - 1])?;
        push_quoted(&mut self.out, &self.keys[key..]);
        self.out.extend_from_slice(b": ");
        let (key, written) = (key..self.keys.len(), written..self.out.len());
        self.fields.push(Field { key, written });
        Ok(())
    }

    fn quoted(&mut self, raw: &[u8]) -> Result<()> {
        if !raw.contains(&b'\\') {
            self.out.extend_from_slice(raw);
            return Ok(());
        }
        self.plain.clear();
        unescape_into(&mut self.plain, &raw[1..raw.len() - 1])?;
        push_quoted(&mut self.out, &self.plain);
        Ok(())
    }

    /// Puts the fields in order, unless they are, and takes away all but the last of equal keys.
    fn leave_object(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let first = frame.fields.unwrap_or(self.fields.len());
        let keys = &self.keys;
        let order = |a: &Field, b: &Field| -> Ordering {
            a.key
                .len()
                .cmp(&b.key.len())
                .then_with(|| keys[a.key.clone()].cmp(&keys[b.key.clone()]))
        };
        let fields = &mut self.fields[first..];
        if !fields.is_sorted_by(|a, b| order(a, b) == Ordering::Less) {
            // Stable: of equal keys the last one comes last.
            fields.sort_by(order);
            self.sorted.clear();
            for (i, field) in fields.iter().enumerate() {
                let next = fields.get(i + 1);
                if next.is_some_and(|next| order(field, next) == Ordering::Equal) {
                    continue;
                }
                if !self.sorted.is_empty() {
                    self.sorted.extend_from_slice(b", ");
                }
                self.sorted.extend_from_slice(&self.out[field.written.clone()]);
            }
            self.out.truncate(frame.start + 1);
            self.out.extend_from_slice(&self.sorted);
        }
        if let Some(field) = self.fields.get(first) {
            // Of the object's keys the first that was written begins them all.
            let start = self.fields[first..].iter().map(|f| f.key.start).min();
            self.keys.truncate(start.unwrap_or(field.key.start));
        }
        self.fields.truncate(first);
        self.out.push(b'}');
        self.end_value();
    }
}
