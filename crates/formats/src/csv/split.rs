//! Finds places where a file can be cut between records.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use types::Result;

use crate::csv::options::Dialect;
use crate::output::io_error;

/// Bytes of a part, about: large enough to fill some batches, small enough for many work orders.
const PART_BYTES: u64 = 4 << 20;
/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;

/// Offsets of parts: the first is `start`, the last the file's length, each begins a record.
pub(crate) fn parts(file: &File, path: &str, start: u64, dialect: &Dialect) -> Result<Vec<u64>> {
    let length = file.metadata().map_err(|e| io_error(path, "read", &e))?.len();
    let mut bounds = vec![start];
    let mut buffer = vec![0; READ_BYTES];
    let mut quoted = Quoted::default();
    let mut offset = start;
    while offset < length {
        let wanted = READ_BYTES.min((length - offset) as usize);
        let read = file.read_at(&mut buffer[..wanted], offset);
        let read = read.map_err(|e| io_error(path, "read", &e))?;
        if read == 0 {
            break;
        }
        let last = bounds.last().copied().unwrap_or(start);
        let wanted = (last + PART_BYTES).saturating_sub(offset) as usize;
        if let Some(cut) = quoted.scan(&buffer[..read], wanted, dialect) {
            let bound = offset + cut as u64;
            if bound < length {
                bounds.push(bound);
            }
            // Looked at up to the cut only: the next read begins there.
            offset = bound;
            continue;
        }
        offset += read as u64;
    }
    bounds.push(length);
    Ok(bounds)
}

/// Tells which positions are inside quotes.
#[derive(Default)]
pub(crate) struct Quoted {
    inside: bool,
    /// The last byte was an escape character that is not the quote itself.
    escaped: bool,
}

impl Quoted {
    /// Scans `bytes`; the offset after the first line break outside quotes at or after `wanted`,
    /// where scanning stopped.
    pub(crate) fn scan(&mut self, bytes: &[u8], wanted: usize, dialect: &Dialect) -> Option<usize> {
        let own_escape = dialect.escape != dialect.quote;
        let mut i = 0;
        while i < bytes.len() {
            if std::mem::take(&mut self.escaped) {
                i += 1;
                continue;
            }
            let rest = &bytes[i..];
            let found = match (self.inside, own_escape) {
                (true, true) => memchr::memchr2(dialect.quote, dialect.escape, rest),
                (true, false) => memchr::memchr(dialect.quote, rest),
                (false, _) if i >= wanted => memchr::memchr2(dialect.quote, dialect.newline, rest),
                (false, _) => memchr::memchr(dialect.quote, &rest[..rest.len().min(wanted - i)]),
            };
            let Some(at) = found else {
                // Nothing up to `wanted`: go on from there, looking for a line break too.
                if !self.inside && i < wanted && wanted < bytes.len() {
                    i = wanted;
                    continue;
                }
                return None;
            };
            i += at + 1;
            match bytes[i - 1] {
                byte if byte == dialect.newline && !self.inside => return Some(i),
                byte if byte == dialect.quote => self.inside = !self.inside,
                _ => self.escaped = true,
            }
        }
        None
    }
}
