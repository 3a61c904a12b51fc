//! Functions of large objects: read, write, seek, in the session's transaction.
//!
//! ```text
//! lo_open(object)  -> a descriptor of the transaction, at byte 0
//! lowrite, loread  -> pages of 2,048 bytes, from the descriptor's place on
//! ```
//! Invariant: an object ends where its last page does; pages before it that are not there are
//! zeros, and so is what a page lacks before it.
//! Elsewhere: the tables, and who owns an object (`define::large_object`); descriptors
//! (`transaction::descriptors`).
//! Departure from PostgreSQL: a descriptor that only reads sees what its statements see, not what
//! lo_open saw.

use std::fs::File;
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::ops::RangeInclusive;

use catalog::who::denied;
use sql::algebra::LargeObject as L;
use types::budget::Room;
use types::{DataType, ElementType, Error, Result, SqlState, Value, array};

use crate::define::large_object::{LargeObjects, Own, rows_of};
use crate::transaction::descriptors::Descriptor;

/// Bytes of a page.
const PAGE: i64 = 2048;

/// The most bytes of an object.
const BYTES_MAX: i64 = i32::MAX as i64 * PAGE;

/// The most bytes that a value may have here, as in PostgreSQL.
const VALUE_MAX: i64 = 0x3fff_ffff - 4;

/// Pages that one statement reads or writes: 1 MB.
const PAGES_AT_ONCE: usize = 512;

/// Bits of the mode of lo_open.
const WRITES: i32 = 0x20000;
const READS: i32 = 0x40000;

/// The first number that is given to an object.
const FIRST_NUMBER: u64 = 16384;

impl LargeObjects<'_> {
    /// Carries out a function, none of whose arguments is NULL.
    ///
    /// # Errors
    /// 42704 for objects and descriptors that are not there, 42501, 22003, 22023, 55000; errors of
    /// writes.
    pub(super) fn call(&mut self, function: L, arguments: &[Value]) -> Result<Value> {
        match (function, arguments) {
            (L::Creat, _) => self.create_any(0).map(oid),
            (L::Create, [number]) => self.create_any(number_of(number)?).map(oid),
            (L::Open, [number, Value::I32(mode)]) => self.open(number_of(number)?, *mode),
            (L::Close, [Value::I32(fd)]) => {
                self.session.work_mut().descriptors.close(*fd).ok_or_else(|| no_descriptor(*fd))?;
                Ok(Value::I32(0))
            }
            (L::Read, [Value::I32(fd), Value::I32(count)]) => self.read_next(*fd, *count),
            (L::Write, [Value::I32(fd), Value::Str(bytes)]) => self.write_next(*fd, bytes),
            (L::Seek, [Value::I32(fd), Value::I32(by), Value::I32(from)]) => {
                self.seek(*fd, i64::from(*by), *from).and_then(|at| short(at, "lo_lseek", *fd))
            }
            (L::Seek64, [Value::I32(fd), Value::I64(by), Value::I32(from)]) => {
                self.seek(*fd, *by, *from).map(Value::I64)
            }
            (L::Tell, [Value::I32(fd)]) => short(self.opened(*fd)?.place, "lo_tell", *fd),
            (L::Tell64, [Value::I32(fd)]) => Ok(Value::I64(self.opened(*fd)?.place)),
            (L::Truncate, [Value::I32(fd), Value::I32(to)]) => {
                self.truncate_open(*fd, i64::from(*to))
            }
            (L::Truncate64, [Value::I32(fd), Value::I64(to)]) => self.truncate_open(*fd, *to),
            (L::Unlink, [number]) => {
                self.remove(number_of(number)?)?;
                Ok(Value::I32(1))
            }
            (L::FromBytes, [number, Value::Str(bytes)]) => {
                let number = self.create_any(number_of(number)?)?;
                self.write(number, 0, bytes)?;
                Ok(oid(number))
            }
            (L::Get, [number]) => self.whole(number_of(number)?),
            (L::GetPart, [number, Value::I64(from), Value::I32(count)]) => {
                let number = number_of(number)?;
                self.check_access(number)?;
                if *count < 0 {
                    return Err(invalid("requested length cannot be negative".to_owned()));
                }
                check_place(*from)?;
                value(self.read(number, *from, i64::from(*count))?)
            }
            (L::Put, [number, Value::I64(at), Value::Str(bytes)]) => {
                let number = number_of(number)?;
                self.check_access(number)?;
                check_place(*at)?;
                self.write(number, *at, bytes)?;
                Ok(Value::text(""))
            }
            (L::Import, [Value::Str(path)]) => self.import(path, 0),
            (L::ImportAs, [Value::Str(path), number]) => self.import(path, number_of(number)?),
            (L::Export, [number, Value::Str(path)]) => self.export(number_of(number)?, path),
            _ => Err(Error::internal("a function of large objects with other arguments")),
        }
    }

    /// The descriptor `fd`.
    fn opened(&mut self, fd: i32) -> Result<Descriptor> {
        self.session.work_mut().descriptors.get(fd).copied().ok_or_else(|| no_descriptor(fd))
    }

    /// A new object of this number, of a free one for 0.
    fn create_any(&mut self, wanted: u32) -> Result<u32> {
        self.ensure()?;
        let number = if wanted == 0 { self.free_number()? } else { wanted };
        self.create(number)?;
        Ok(number)
    }

    /// A number that no object has. Two transactions do not draw the same one, so that none waits.
    fn free_number(&mut self) -> Result<u32> {
        loop {
            let inner = self.session.inner();
            let drawn = (inner.next_object_id(), inner.clock.micros());
            let hash = foldhash::fast::FixedState::default().hash_one(drawn) >> 33;
            // Below 2^31 and some.
            let number = (FIRST_NUMBER + hash) as u32;
            match self.owner_of(number) {
                Ok(_) => {}
                Err(error) if error.state() == SqlState::UNDEFINED_OBJECT => return Ok(number),
                Err(error) => return Err(error),
            }
        }
    }

    fn open(&mut self, number: u32, mode: i32) -> Result<Value> {
        if mode & (READS | WRITES) == 0 {
            return Err(invalid(format!("invalid flags for opening a large object: {mode}")));
        }
        self.check_access(number)?;
        let fd = self.session.work_mut().descriptors.open(number, mode & WRITES != 0);
        let fd = i32::try_from(fd)
            .map_err(|_| Error::new(SqlState::LIMIT_EXCEEDED, "too many open large objects"))?;
        Ok(Value::I32(fd))
    }

    fn read_next(&mut self, fd: i32, count: i32) -> Result<Value> {
        let Descriptor { object, place, .. } = self.opened(fd)?;
        let bytes = self.read(object, place, i64::from(count.max(0)))?;
        if let Some(descriptor) = self.session.work_mut().descriptors.get(fd) {
            descriptor.place = place + bytes.len() as i64;
        }
        value(bytes)
    }

    /// The descriptor `fd`, which may be written.
    fn writable(&mut self, fd: i32) -> Result<Descriptor> {
        let descriptor = self.opened(fd)?;
        if descriptor.writes {
            return Ok(descriptor);
        }
        let message = format!("large object descriptor {fd} was not opened for writing");
        Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
    }

    fn write_next(&mut self, fd: i32, bytes: &[u8]) -> Result<Value> {
        let Descriptor { object, place, .. } = self.writable(fd)?;
        self.write(object, place, bytes)?;
        if let Some(descriptor) = self.session.work_mut().descriptors.get(fd) {
            descriptor.place = place + bytes.len() as i64;
        }
        // A value has fewer bytes.
        Ok(Value::I32(i32::try_from(bytes.len()).unwrap_or(i32::MAX)))
    }

    fn seek(&mut self, fd: i32, by: i64, from: i32) -> Result<i64> {
        let Descriptor { object, place, .. } = self.opened(fd)?;
        let begin = match from {
            0 => 0,
            1 => place,
            2 => self.length(object)?,
            other => return Err(invalid(format!("invalid whence setting: {other}"))),
        };
        let target = begin.saturating_add(by);
        check_place(target)?;
        if let Some(descriptor) = self.session.work_mut().descriptors.get(fd) {
            descriptor.place = target;
        }
        Ok(target)
    }

    fn truncate_open(&mut self, fd: i32, to: i64) -> Result<Value> {
        let Descriptor { object, .. } = self.writable(fd)?;
        if !(0..=BYTES_MAX).contains(&to) {
            return Err(invalid(format!("invalid large object truncation target: {to}")));
        }
        let (last, rest) = page_of(to);
        let mut page = self.pages(object, last..=last)?.pop().map_or_else(Vec::new, |p| p.data);
        page.resize(rest, 0);
        let text = "DELETE FROM pg_toast.pg_largeobject WHERE loid = $1 AND pageno > $2";
        let delete = Own { text, types: &[DataType::Oid, DataType::Integer] };
        self.run(delete, vec![oid(object), Value::I32(last)])?;
        self.put(object, &[Page { number: last, data: page }])?;
        Ok(Value::I32(0))
    }

    /// How many bytes an object has.
    fn length(&mut self, object: u32) -> Result<i64> {
        if !self.are_there() {
            return Ok(0);
        }
        let text = "SELECT pageno, octet_length(data) FROM pg_toast.pg_largeobject WHERE loid = $1 \
                ORDER BY pageno DESC LIMIT 1";
        let last = self.run(Own { text, types: &[DataType::Oid] }, vec![oid(object)])?;
        Ok(match rows_of(&last).first().map(Vec::as_slice) {
            Some([Value::I32(page), Value::I32(bytes)]) => {
                i64::from(*page) * PAGE + i64::from(*bytes)
            }
            _ => 0,
        })
    }

    /// The pages of an object from one to another that are there.
    fn pages(&mut self, object: u32, range: RangeInclusive<i32>) -> Result<Vec<Page>> {
        if !self.are_there() {
            return Ok(Vec::new());
        }
        let text = "SELECT pageno, data FROM pg_toast.pg_largeobject \
                WHERE loid = $1 AND pageno BETWEEN $2 AND $3";
        let found = Own { text, types: &[DataType::Oid, DataType::Integer, DataType::Integer] };
        let found = self
            .run(found, vec![oid(object), Value::I32(*range.start()), Value::I32(*range.end())])?;
        let page = |row: Vec<Value>| match row.as_slice() {
            [Value::I32(number), Value::Str(data)] => {
                Some(Page { number: *number, data: data.to_vec() })
            }
            _ => None,
        };
        Ok(rows_of(&found).into_iter().filter_map(page).collect())
    }

    /// Writes pages, also in the place of others.
    fn put(&mut self, object: u32, pages: &[Page]) -> Result<()> {
        let text = "INSERT INTO pg_toast.pg_largeobject \
                SELECT $1, p, d FROM unnest($2, $3) AS pages(p, d) \
                ON CONFLICT (loid, pageno) DO UPDATE SET data = excluded.data";
        let (numbers, bytes) = (ElementType::Integer, ElementType::Bytea);
        let types = [DataType::Oid, DataType::Array(numbers), DataType::Array(bytes)];
        let all: Vec<Value> = pages.iter().map(|page| Value::I32(page.number)).collect();
        let data = pages.iter().map(|page| Value::Str(page.data.as_slice().into()));
        let data: Vec<Value> = data.collect();
        let values = vec![
            oid(object),
            array::from_values(&all, numbers)?,
            array::from_values(&data, bytes)?,
        ];
        self.run(Own { text, types: &types }, values).map(drop)
    }

    /// At most `count` bytes of an object from `from` on.
    fn read(&mut self, object: u32, from: i64, count: i64) -> Result<Vec<u8>> {
        let (mut out, mut room) = (Vec::new(), Room::default());
        let end = from.saturating_add(count).min(BYTES_MAX);
        let is_long = |end: i64| end.saturating_sub(from) > VALUE_MAX;
        if is_long(end) && is_long(self.length(object)?.min(end)) {
            return Err(invalid("large object read request is too large".to_owned()));
        }
        let mut length_known = None;
        let mut place = from;
        while place < end {
            let (first, _) = page_of(place);
            let part = (i64::from(first) + PAGES_AT_ONCE as i64) * PAGE;
            let part_end = end.min(part);
            let (last, _) = page_of(part_end - 1);
            let found = self.pages(object, first..=last)?;
            let ends = found.iter().map(|p| i64::from(p.number) * PAGE + p.data.len() as i64);
            let mut known_end = ends.max().unwrap_or(0);
            if known_end < part_end {
                // Zeros up to a later page, or the end.
                let length = match length_known {
                    Some(length) => length,
                    None => *length_known.insert(self.length(object)?),
                };
                known_end = known_end.max(length);
            }
            let stop = part_end.min(known_end);
            if stop <= place {
                break;
            }
            let start = out.len();
            let wanted = (stop - place) as usize;
            room.make(&mut out, wanted)?;
            out.resize(start + wanted, 0);
            for page in &found {
                copy_page(&mut out[start..], place, page);
            }
            place = stop;
            if stop < part_end {
                break;
            }
        }
        Ok(out)
    }

    /// The whole of an object.
    fn whole(&mut self, object: u32) -> Result<Value> {
        self.check_access(object)?;
        let length = self.length(object)?;
        value(self.read(object, 0, length)?)
    }

    /// Writes bytes into an object at `at`.
    ///
    /// # Errors
    /// 22023 beyond the largest object; errors of the writes.
    fn write(&mut self, object: u32, at: i64, bytes: &[u8]) -> Result<()> {
        let count = bytes.len() as i64;
        if at.saturating_add(count) > BYTES_MAX {
            return Err(invalid(format!("invalid large object write request size: {count}")));
        }
        let mut rest = bytes;
        let mut place = at;
        while !rest.is_empty() {
            let (first, begin) = page_of(place);
            let most = PAGES_AT_ONCE * PAGE as usize - begin;
            let (part, after) = rest.split_at(rest.len().min(most));
            let (last, _) = page_of(place + part.len() as i64 - 1);
            let mut before = self.pages(object, first..=first)?;
            if last > first {
                before.append(&mut self.pages(object, last..=last)?);
            }
            let new: Vec<Page> = (first..=last)
                .map(|number| {
                    let known = before.iter_mut().find(|page| page.number == number);
                    let data = known.map_or_else(Vec::new, |page| std::mem::take(&mut page.data));
                    written(Page { number, data }, place, part)
                })
                .collect();
            self.put(object, &new)?;
            place += part.len() as i64;
            rest = after;
        }
        Ok(())
    }

    /// # Errors
    /// 42501 unless the session is a superuser's.
    fn check_files(&self, function: &str) -> Result<()> {
        if self.session.state().is_superuser(self.session.settings.who()) {
            return Ok(());
        }
        Err(denied(format!("permission denied for function {function}")))
    }

    fn import(&mut self, path: &[u8], wanted: u32) -> Result<Value> {
        self.check_files("lo_import")?;
        let path = path_of(path);
        let mut file = File::open(&path).map_err(|error| file_error("open", &path, &error))?;
        let number = self.create_any(wanted)?;
        let mut buffer = vec![0; PAGES_AT_ONCE * PAGE as usize];
        let mut place = 0;
        loop {
            self.session.cancel.check()?;
            let count =
                file.read(&mut buffer).map_err(|error| file_error("read", &path, &error))?;
            if count == 0 {
                return Ok(oid(number));
            }
            self.write(number, place, &buffer[..count])?;
            place += count as i64;
        }
    }

    fn export(&mut self, object: u32, path: &[u8]) -> Result<Value> {
        self.check_files("lo_export")?;
        self.owner_of(object)?;
        let path = path_of(path);
        let mut file = File::create(&path).map_err(|error| file_error("create", &path, &error))?;
        let mut place = 0;
        loop {
            self.session.cancel.check()?;
            let bytes = self.read(object, place, PAGES_AT_ONCE as i64 * PAGE)?;
            if bytes.is_empty() {
                return Ok(Value::I32(1));
            }
            file.write_all(&bytes).map_err(|error| file_error("write", &path, &error))?;
            place += bytes.len() as i64;
        }
    }
}

/// A number as the value of an OID.
fn oid(number: u32) -> Value {
    Value::I64(i64::from(number))
}

fn number_of(value: &Value) -> Result<u32> {
    let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| Error::internal("the number of a large object"))
}

fn value(bytes: Vec<u8>) -> Result<Value> {
    Ok(Value::Str(bytes.into()))
}

/// 22023.
fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// 42704.
fn no_descriptor(fd: i32) -> Error {
    let message = format!("invalid large-object descriptor: {fd}");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// A place as an INTEGER.
fn short(place: i64, function: &str, fd: i32) -> Result<Value> {
    i32::try_from(place).map(Value::I32).map_err(|_| {
        let message = format!("{function} result out of range for large-object descriptor {fd}");
        Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message)
    })
}

/// # Errors
/// 22023 for a place that no object has.
fn check_place(place: i64) -> Result<()> {
    if (0..=BYTES_MAX).contains(&place) {
        return Ok(());
    }
    Err(invalid(format!("invalid large object seek target: {place}")))
}

/// A page of an object.
struct Page {
    number: i32,
    data: Vec<u8>,
}

/// The number of the page with a byte, and the place of the byte in it.
fn page_of(place: i64) -> (i32, usize) {
    // An object has fewer pages than i32 has numbers.
    (i32::try_from(place / PAGE).unwrap_or(i32::MAX), (place % PAGE) as usize)
}

/// Copies what `out`, the bytes of an object from `place` on, has of a page.
fn copy_page(out: &mut [u8], place: i64, page: &Page) {
    let begin = i64::from(page.number) * PAGE;
    let (from, to) =
        (begin.max(place), (begin + page.data.len() as i64).min(place + out.len() as i64));
    if from < to {
        let target = &mut out[(from - place) as usize..(to - place) as usize];
        target.copy_from_slice(&page.data[(from - begin) as usize..(to - begin) as usize]);
    }
}

/// A page after `bytes` were written into its object at `place`.
fn written(mut page: Page, place: i64, bytes: &[u8]) -> Page {
    let begin = i64::from(page.number) * PAGE;
    let from = (place - begin).max(0) as usize;
    let skipped = (begin - place).max(0) as usize;
    let count = (bytes.len() - skipped).min(PAGE as usize - from);
    if page.data.len() < from + count {
        page.data.resize(from + count, 0);
    }
    page.data[from..from + count].copy_from_slice(&bytes[skipped..skipped + count]);
    page
}

/// An error of a file of the server.
fn file_error(what: &str, path: &str, error: &std::io::Error) -> Error {
    use std::io::ErrorKind as K;
    let state = match error.kind() {
        K::NotFound => SqlState::UNDEFINED_FILE,
        K::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        K::IsADirectory => SqlState::WRONG_OBJECT_TYPE,
        _ => SqlState::IO_ERROR,
    };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Error::new(state, format!("could not {what} server file \"{path}\": {text}"))
}

fn path_of(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
