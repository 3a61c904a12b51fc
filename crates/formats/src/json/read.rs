//! Reading: parts as work orders, fields as values.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use engine::registry::OpenedFile;
use exec::BatchSource;
use kernels::Batch;
use types::calendar::TimeZone;
use types::{DataType, Result, budget};

use super::records::{JsonRecords, Layout, Nesting, Texts};
use super::shape;
use crate::compressed::open_plain;
use crate::output::io_error;
use crate::rows::{Blank, OnError, Origin, Rows, read_full};

/// Bytes at the beginning of a file from which columns are guessed.
const SAMPLE_BYTES: usize = 4 << 20;
/// Bytes of a part, about.
const PART_BYTES: u64 = 4 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;

/// Bytes that files in UTF-8 may begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens `path`; keys are matched with the names of `target`, if there is one.
pub(crate) fn open(
    path: &str,
    target: Option<&[(String, DataType)]>,
    on_error: OnError,
    zone: &TimeZone,
) -> Result<OpenedFile> {
    let file = open_plain(path)?;
    let mut sample = vec![0; SAMPLE_BYTES];
    let read = read_full(&file, &mut sample, 0).map_err(|e| io_error(path, "read", &e))?;
    sample.truncate(read);
    let mark = if sample.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let (layout, start) = Layout::of(&sample[mark..]);
    let start = mark + start;
    let columns = match target {
        Some(target) => target.to_vec(),
        None => shape::columns(&sample[start..], layout),
    };
    let bounds = parts(&file, path, start as u64)?;
    let mut texts = Texts::new(&sample[start..], layout);
    let records = std::iter::from_fn(|| texts.next()).count() as f64;
    let length = bounds.last().copied().unwrap_or(0);
    let rows = records * length as f64 / read.max(1) as f64;
    let keys = columns.iter().enumerate();
    let keys = keys.map(|(at, (name, _))| (name.clone().into_bytes(), at)).collect();
    let source = JsonSource {
        origin: Origin { path: path.to_owned(), file, newline: b'\n', columns: columns.clone() },
        keys,
        layout,
        bounds,
        on_error,
        zone: zone.clone(),
    };
    Ok(OpenedFile { columns, rows: Some(rows as u64), source: Arc::new(source) })
}

/// Offsets of parts: the first is `start`, the last the file's length, each stands between records.
fn parts(file: &File, path: &str, start: u64) -> Result<Vec<u64>> {
    let mut bounds = vec![start];
    let mut buffer = vec![0; READ_BYTES];
    let mut nesting = Nesting::default();
    let mut offset = start;
    loop {
        budget::check()?;
        let read = read_full(file, &mut buffer, offset).map_err(|e| io_error(path, "read", &e))?;
        for (at, byte) in buffer[..read].iter().enumerate() {
            let is_between = nesting.step(*byte) && matches!(*byte, b'\n' | b',' | b'}');
            let here = offset + at as u64 + 1;
            if is_between && here >= bounds.last().copied().unwrap_or(start) + PART_BYTES {
                bounds.push(here);
            }
        }
        offset += read as u64;
        if read < buffer.len() {
            break;
        }
    }
    if offset > bounds.last().copied().unwrap_or(start) || bounds.len() == 1 {
        bounds.push(offset.max(start));
    }
    Ok(bounds)
}

struct JsonSource {
    origin: Origin,
    /// Ordinals of the columns by their keys.
    keys: HashMap<Vec<u8>, usize>,
    layout: Layout,
    bounds: Vec<u64>,
    on_error: OnError,
    zone: TimeZone,
}

impl BatchSource for JsonSource {
    fn orders(&self) -> usize {
        self.bounds.len() - 1
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let (start, end) = (self.bounds[order], self.bounds[order + 1]);
        let text = self.origin.text(start, end)?;
        let types = self.origin.columns.iter().map(|(_, ty)| *ty).collect();
        let rows = Rows::new(&self.origin.columns, columns, Blank::Record, &self.zone);
        let located = |reject, at: usize| {
            // The record begins behind the space before it.
            let blanks = text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.origin.located(reject, start, &text[..at + blanks])
        };
        let mut records = JsonRecords::new(&text, self.layout, &self.keys, types);
        rows.push_all(&mut records, self.on_error, &located, push)
    }
}
