//! Files of keys: what the rows of a frozen block have in the indexes of its table, so that opening
//! a database does not read the rows.
//!
//! ```text
//! identity: | count | definition bytes, definition | bytes | crc32c u32 | of the next run ...
//! content:  | run | run | ...      a run: the keys of one index, see `storage::IndexKeys`
//! ```
//! Numbers are varints. A file is written by the first checkpoint that finds the block with these
//! indexes, and replaced when the table has others. Nothing is lost with it: who finds no run, or a
//! damaged one, reads the rows.

use storage::IndexKeys;
use types::codec::{Input, Malformed, put_bytes, put_u64, read_u32};

use super::block_file::Part;

/// A file of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeysReference {
    /// Version in its name.
    pub version: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32C of its header, which holds those of its parts.
    pub crc: u32,
    /// Indexes that it has keys of, as [`checksum_of`] their definitions.
    pub indexes: u32,
}

/// CRC-32C of definitions of indexes, in the order of a table: tells lists of them apart.
pub fn checksum_of<'d>(definitions: impl Iterator<Item = &'d [u8]>) -> u32 {
    let mut all = Vec::new();
    definitions.for_each(|definition| put_bytes(&mut all, definition));
    crc32c::crc32c(&all)
}

/// Identity and content of a file of `keys`.
pub(super) fn parts_of(keys: &[IndexKeys]) -> (Vec<u8>, Vec<u8>) {
    let (mut identity, mut content) = (Vec::new(), Vec::new());
    put_u64(&mut identity, keys.len() as u64);
    for IndexKeys { definition, run } in keys {
        put_bytes(&mut identity, definition);
        put_u64(&mut identity, run.len() as u64);
        identity.extend_from_slice(&crc32c::crc32c(run).to_le_bytes());
        content.extend_from_slice(run);
    }
    (identity, content)
}

/// Where in the content the run of the index of this definition is; None when there is none.
///
/// # Errors
/// Where `identity` is none.
pub(super) fn find(identity: &[u8], definition: &[u8]) -> Result<Option<Part>, Malformed> {
    let mut input = Input::new(identity);
    let mut offset: u64 = 0;
    for _ in 0..input.count(6)? {
        let found = input.bytes()?;
        let bytes = input.u64()?;
        let crc = read_u32(input.take(4)?, 0);
        if found == definition {
            return Ok(Some(Part { offset, bytes, crc }));
        }
        offset = offset.checked_add(bytes).ok_or_else(|| input.malformed("bytes of a run"))?;
    }
    Ok(None)
}
