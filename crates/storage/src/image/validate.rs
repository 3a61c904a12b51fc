//! Checks a block that comes from outside: after it, no read of the block leaves its bytes, no code
//! its dictionary, no value its type.

use kernels::unpack::max_code;
use types::{PhysicalType, Result};

use crate::block::{
    AREA_ALIGN, BLOCK_ROWS_MAX, BlockLayout, Header, Nulls, SYMBOL_TABLE_BYTES, Scheme, Segment,
    SymbolTable, corrupt, description_bytes, key_range,
};
use crate::fixed::{Fixed, value_bytes, with_fixed};
use crate::freeze::lookup::{LookupTable, table_entries};
use crate::memory::Memory;

struct Check<'a> {
    header: &'a Header,
    memory: &'a Memory,
    column: usize,
}

/// Checks all areas of the block in `memory` against its `header`.
///
/// # Errors
/// XX001 with what is wrong.
pub(crate) fn validate(header: &Header, memory: &Memory) -> Result<()> {
    let rows_max = if header.layout == BlockLayout::Frozen { header.rows } else { header.capacity };
    if header.rows > rows_max || rows_max as usize > BLOCK_ROWS_MAX {
        return Err(corrupt(12, format!("{} rows, capacity {rows_max}", header.rows)));
    }
    if header.versions != 0 {
        return Err(corrupt(32, "versions, which only memory may hold"));
    }
    if u64::from(header.heap) + u64::from(header.heap_used) > header.bytes {
        return Err(corrupt(40, "string bytes past the end"));
    }
    for column in 0..header.segments.len() {
        let check = Check { header, memory, column };
        match header.layout {
            BlockLayout::Frozen => check.frozen()?,
            BlockLayout::Column => check.column_store()?,
            BlockLayout::Row => check.row_store()?,
        }
    }
    Ok(())
}

impl Check<'_> {
    fn segment(&self) -> &Segment {
        &self.header.segments[self.column]
    }

    fn rows(&self) -> usize {
        self.header.rows as usize
    }

    fn fail<T>(&self, message: impl std::fmt::Display) -> Result<T> {
        let at = description_bytes(self.column);
        Err(corrupt(at, format!("column {}: {message}", self.column)))
    }

    /// `count` items of `item_bytes` must lie at `offset`.
    fn area(&self, what: &str, offset: u32, count: usize, item_bytes: usize) -> Result<()> {
        let start = offset as usize;
        let aligned = start.is_multiple_of(AREA_ALIGN);
        let inside = start >= description_bytes(self.header.segments.len())
            && start as u64 + count as u64 * item_bytes as u64 <= self.header.bytes;
        if aligned && inside {
            return Ok(());
        }
        self.fail(format!("{what} of {count} x {item_bytes} bytes at {offset}"))
    }

    fn frozen(&self) -> Result<()> {
        let segment = self.segment();
        if (segment.nulls == Nulls::All) != (segment.sma == 0) && self.rows() > 0 {
            return self.fail("SMA does not fit its NULLs");
        }
        if segment.nulls == Nulls::All && segment.scheme != Scheme::Single {
            return self.fail("only NULL, yet not a single value");
        }
        match segment.scheme {
            Scheme::Single => self.single()?,
            Scheme::Dictionary => self.dictionary()?,
            Scheme::Truncation => self.truncation()?,
            Scheme::Plain => self.plain()?,
            Scheme::Compressed => self.compressed()?,
        }
        if segment.sma != 0 {
            self.sma()?;
        }
        self.lookup()
    }

    fn single(&self) -> Result<()> {
        let expected = u32::from(self.segment().nulls != Nulls::All);
        if self.segment().nulls == Nulls::Some || self.segment().entries != expected {
            return self.fail("a single value that is not single");
        }
        if self.segment().entries == 0 { Ok(()) } else { self.entries() }
    }

    fn dictionary(&self) -> Result<()> {
        if self.segment().entries == 0 || self.segment().entries as usize > BLOCK_ROWS_MAX {
            return self.fail(format!("{} dictionary entries", self.segment().entries));
        }
        self.entries()?;
        self.codes(self.segment().entries - 1)
    }

    fn entries(&self) -> Result<()> {
        let segment = self.segment();
        let (at, count) = (segment.dictionary, segment.entries as usize);
        let size = value_bytes(segment.physical);
        with_fixed!(segment.physical, T => {
            self.area("dictionary", at, count, size)?;
            let entries = self.memory.slice_of::<<T as Fixed>::Bits>(at as usize, count);
            if !entries.iter().map(|&e| T::from_stored(e).key()).is_sorted() {
                return self.fail("dictionary out of order");
            }
            self.bools(self.segment().dictionary, count)
        }, self.strings(at, count))
    }

    /// Offsets at `at` must ascend inside the string bytes, which must exist.
    fn strings(&self, at: u32, count: usize) -> Result<()> {
        let segment = self.segment();
        self.area("string offsets", at, count + 1, 4)?;
        self.area("string bytes", segment.strings, segment.strings_bytes as usize, 1)?;
        let offsets = self.memory.slice_of::<u32>(at as usize, count + 1);
        if !offsets.is_sorted() || offsets[count] != segment.strings_bytes || offsets[0] != 0 {
            return self.fail("string offsets out of order");
        }
        let strings = segment.strings as usize;
        let bytes = self.memory.slice_of::<u8>(strings, segment.strings_bytes as usize);
        let string = |i: usize| &bytes[offsets[i] as usize..offsets[i + 1] as usize];
        if segment.scheme == Scheme::Dictionary && !(1..count).all(|i| string(i - 1) < string(i)) {
            return self.fail("dictionary out of order");
        }
        Ok(())
    }

    fn bools(&self, at: u32, count: usize) -> Result<()> {
        let is_bool = self.segment().physical == PhysicalType::Bool;
        if is_bool && self.memory.slice_of::<u8>(at as usize, count).iter().any(|&b| b > 1) {
            return self.fail("a boolean that is neither true nor false");
        }
        Ok(())
    }

    /// Codes up to `code_max`, or NULL's, which is the next.
    fn codes(&self, code_max: u32) -> Result<()> {
        let segment = self.segment();
        if !matches!(segment.width, 1 | 2 | 4) {
            return self.fail(format!("codes of {} bytes", segment.width));
        }
        let nulls = u32::from(segment.nulls == Nulls::Some);
        let Some(allowed) = code_max.checked_add(nulls) else {
            return self.fail("no code is left for NULL");
        };
        if nulls == 1 && segment.null_code != allowed {
            return self.fail(format!("{} is not the code of NULL", segment.null_code));
        }
        self.area("codes", segment.data, self.rows(), usize::from(segment.width))?;
        let (at, rows) = (segment.data as usize, self.rows());
        let found = match segment.width {
            1 => max_code(self.memory.slice_of::<u8>(at, rows)),
            2 => max_code(self.memory.slice_of::<u16>(at, rows)),
            _ => max_code(self.memory.slice_of::<u32>(at, rows)),
        };
        if found.is_some_and(|max| max > allowed) {
            return self.fail(format!("code {found:?} past {allowed}"));
        }
        Ok(())
    }

    fn truncation(&self) -> Result<()> {
        let physical = self.segment().physical;
        if !matches!(
            physical,
            PhysicalType::Bool | PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128
        ) {
            return self.fail(format!("truncation of {physical:?}"));
        }
        self.area("SMA", self.segment().sma, 2, 16)?;
        let keys = self.memory.slice_of::<i128>(self.segment().sma as usize, 2);
        match keys[1].checked_sub(keys[0]).map(u32::try_from) {
            Some(Ok(range)) if range < u32::MAX => self.codes(range),
            _ => self.fail("values too far apart for truncation"),
        }
    }

    fn validity(&self) -> Result<()> {
        let segment = self.segment();
        if segment.nulls == Nulls::None {
            return Ok(());
        }
        self.area("validity", segment.validity, self.rows().div_ceil(64), 8)
    }

    fn compressed(&self) -> Result<()> {
        let segment = self.segment();
        if segment.physical != PhysicalType::Str {
            return self.fail(format!("compression of {:?}", segment.physical));
        }
        self.validity()?;
        self.strings(segment.data, self.rows())?;
        self.area("symbols", segment.symbols, SYMBOL_TABLE_BYTES, 1)?;
        let bytes = |at: u32, count| self.memory.slice_of::<u8>(at as usize, count);
        let symbols = SymbolTable::new(bytes(segment.symbols, SYMBOL_TABLE_BYTES));
        if !symbols.is_sound() {
            return self.fail("a symbol of more than 8 bytes");
        }
        let codes = bytes(segment.strings, segment.strings_bytes as usize);
        let offsets = self.memory.slice_of::<u32>(segment.data as usize, self.rows() + 1);
        let mut rows = offsets.windows(2).map(|w| &codes[w[0] as usize..w[1] as usize]);
        if !rows.all(|row| symbols.is_decodable(row)) {
            return self.fail("a string of codes without symbols");
        }
        Ok(())
    }

    fn plain(&self) -> Result<()> {
        let segment = self.segment();
        let rows = self.rows();
        self.validity()?;
        if segment.physical == PhysicalType::Str {
            return self.strings(segment.data, rows);
        }
        let size = value_bytes(segment.physical);
        if usize::from(segment.width) != size {
            return self.fail(format!("values of {} bytes", segment.width));
        }
        self.area("values", segment.data, rows, size)?;
        self.bools(segment.data, rows)
    }

    fn sma(&self) -> Result<()> {
        let segment = self.segment();
        if segment.physical == PhysicalType::Str {
            self.area("SMA", segment.sma, 2, 4)?;
            let strings = if segment.has_values() { self.rows() } else { segment.entries as usize };
            let idx = self.memory.slice_of::<u32>(segment.sma as usize, 2);
            if idx.iter().any(|&i| i as usize >= strings) {
                return self.fail("SMA names a string that is not there");
            }
            return Ok(());
        }
        self.area("SMA", segment.sma, 2, 16)?;
        let keys = self.memory.slice_of::<i128>(segment.sma as usize, 2);
        let (lo, hi) = key_range(segment.physical);
        if keys[0] > keys[1] || keys[0] < lo || keys[1] > hi {
            return self.fail("SMA out of range");
        }
        Ok(())
    }

    fn lookup(&self) -> Result<()> {
        let segment = self.segment();
        if segment.lookup == 0 {
            return Ok(());
        }
        if !segment.has_codes() {
            return self.fail("a lookup table without codes");
        }
        let entries = table_entries(segment.width);
        self.area("lookup table", segment.lookup, 2 * entries, 2)?;
        let table = LookupTable::new(self.memory, segment);
        if (0..entries).any(|e| table.entry(e).is_some_and(|r| r.end as usize > self.rows())) {
            return self.fail("lookup table past the last row");
        }
        Ok(())
    }

    fn hot(&self) -> Result<()> {
        if self.segment().scheme != Scheme::Plain {
            return self.fail("encoded values in a hot block");
        }
        Ok(())
    }

    fn column_store(&self) -> Result<()> {
        self.hot()?;
        let segment = self.segment();
        let capacity = self.header.capacity as usize;
        self.area("validity", segment.validity, capacity.div_ceil(64), 8)?;
        self.area("values", segment.data, capacity, value_bytes(segment.physical))?;
        if segment.physical == PhysicalType::Str {
            let spans = self.memory.slice_of::<u32>(segment.data as usize, self.rows() * 2);
            return spans.chunks_exact(2).try_for_each(|s| self.span(s[0], s[1]));
        }
        self.bools(segment.data, self.rows())
    }

    fn row_store(&self) -> Result<()> {
        self.hot()?;
        let (segment, header) = (self.segment(), self.header);
        let tuple = header.tuple_bytes as usize;
        let tuples = description_bytes(header.segments.len()).next_multiple_of(AREA_ALIGN);
        let (size, at) = (value_bytes(segment.physical), segment.data as usize);
        if at + size > tuple || segment.validity as usize >= tuple * 8 {
            return self.fail("a value outside the tuple");
        }
        self.area("tuples", tuples as u32, header.capacity as usize, tuple)?;
        for row in 0..self.rows() {
            let start = tuples + row * tuple + at;
            let value = self.memory.slice_of::<u8>(start, size);
            match segment.physical {
                PhysicalType::Bool if value[0] > 1 => return self.fail("not a boolean"),
                PhysicalType::Str => {
                    let number = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|b| value[i + b]));
                    self.span(number(0), number(4))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn span(&self, offset: u32, bytes: u32) -> Result<()> {
        if u64::from(offset) + u64::from(bytes) > u64::from(self.header.heap_used) {
            return self.fail("a string outside the string bytes");
        }
        Ok(())
    }
}
