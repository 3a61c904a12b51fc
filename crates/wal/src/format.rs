//! Bytes of segments, records and marks.

use types::codec::{read_u32, read_u64};

/// Records start at multiples of this.
pub(crate) const RECORD_ALIGN: usize = 8;
/// Bytes of a record in front of its payload.
pub(crate) const RECORD_HEADER_BYTES: usize = 16;
/// Bytes of a mark.
pub(crate) const MARK_BYTES: usize = 24;
/// The stamp of a mark.
pub(crate) const MARK_STAMP: u64 = u64::MAX;
/// Bytes of a segment in front of its part of the stream: a page, so that records never share
/// one with the header.
pub const SEGMENT_HEADER_BYTES: u64 = 4096;
/// First bytes of a segment.
const SEGMENT_MAGIC: &[u8; 8] = b"TESSWAL\n";
/// Version of this format.
const FORMAT_VERSION: u32 = 1;

/// Header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// Database that the log belongs to.
    pub(crate) database: u64,
    /// First position of the stream in this file.
    pub(crate) first: u64,
    /// Bytes of the stream in each file.
    pub(crate) segment_bytes: u64,
}

impl SegmentHeader {
    /// `| magic 8 | version u32 | crc32c u32 | database u64 | first u64 | bytes u64 | zeros |`
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut page = vec![0; SEGMENT_HEADER_BYTES as usize];
        page[..8].copy_from_slice(SEGMENT_MAGIC);
        page[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        page[16..24].copy_from_slice(&self.database.to_le_bytes());
        page[24..32].copy_from_slice(&self.first.to_le_bytes());
        page[32..40].copy_from_slice(&self.segment_bytes.to_le_bytes());
        let crc = header_crc(&page);
        page[12..16].copy_from_slice(&crc.to_le_bytes());
        page
    }

    /// Reads the first page of a segment; the error is an offset and what was expected there.
    pub(crate) fn read(page: &[u8]) -> Result<Self, (u64, String)> {
        if page.len() < SEGMENT_HEADER_BYTES as usize {
            return Err((page.len() as u64, format!("{SEGMENT_HEADER_BYTES} bytes of header")));
        }
        if &page[..8] != SEGMENT_MAGIC {
            return Err((0, "the first bytes of a log segment".into()));
        }
        let version = read_u32(page, 8);
        if version != FORMAT_VERSION {
            return Err((8, format!("format version {FORMAT_VERSION}, found {version}")));
        }
        let (stored, computed) = (read_u32(page, 12), header_crc(page));
        if stored != computed {
            return Err((12, format!("header checksum {computed:08x}, found {stored:08x}")));
        }
        let segment_bytes = read_u64(page, 32);
        if segment_bytes == 0 || !segment_bytes.is_multiple_of(RECORD_ALIGN as u64) {
            return Err((32, format!("a segment size, found {segment_bytes}")));
        }
        Ok(Self { database: read_u64(page, 16), first: read_u64(page, 24), segment_bytes })
    }
}

fn header_crc(page: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&page[..12]), &page[16..SEGMENT_HEADER_BYTES as usize])
}

/// Checksums of one database: each seeded with the place of what it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checksums {
    database: u64,
}

impl Checksums {
    pub(crate) fn new(database: u64) -> Self {
        Self { database }
    }

    /// Checksum of the record (or mark, incarnation 0) in `bytes`, padding included, crc left out.
    pub(crate) fn of(&self, bytes: &[u8], incarnation: u64, lsn: u64) -> u32 {
        let mixed = (self.database ^ incarnation.rotate_left(32))
            .wrapping_add(lsn)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let seed = ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32;
        // The length and the seed make up the first 8 bytes, the crc field itself is skipped.
        let length = crc32c::crc32c_append(seed, &bytes[..4]);
        crc32c::crc32c_append(length, &bytes[8..])
    }

    /// Stores the checksum of the record or mark in `bytes`.
    pub(crate) fn seal(&self, bytes: &mut [u8], incarnation: u64, lsn: u64) {
        let crc = self.of(bytes, incarnation, lsn);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    }

    /// The incarnation of the mark at the start of `bytes`, if there is one.
    pub(crate) fn mark(&self, bytes: &[u8], lsn: u64) -> Option<u64> {
        let bytes = bytes.get(..MARK_BYTES)?;
        let alike = read_u32(bytes, 0) == MARK_BYTES as u32 && read_u64(bytes, 8) == MARK_STAMP;
        (alike && self.of(bytes, 0, lsn) == read_u32(bytes, 4)).then(|| read_u64(bytes, 16))
    }
}

/// A mark, not yet sealed.
pub(crate) fn mark(incarnation: u64) -> [u8; MARK_BYTES] {
    let mut bytes = [0; MARK_BYTES];
    bytes[..4].copy_from_slice(&(MARK_BYTES as u32).to_le_bytes());
    bytes[8..16].copy_from_slice(&MARK_STAMP.to_le_bytes());
    bytes[16..].copy_from_slice(&incarnation.to_le_bytes());
    bytes
}
