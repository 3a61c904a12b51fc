//! Inverted indexes: several entries for a row, one for each element of its columns.
//!
//! ```text
//! row -> Derivation::elements -> {element, ...} = key of the row: | bytes 4 | element | ...
//!                                     '------> entries (element, TID), an ordered structure
//! ```
//! Keys of rows go where those of other indexes go; only what makes, removes and compares entries
//! takes them apart. Reads are by element: ranges of the ordered structure.
//! Invariant: an index has an entry for each element of each version of a row that some snapshot
//! may see. So an entry may lead to a row that lacks the element in the snapshot of who reads.

use types::Result;
use types::elements::ElementSet;

use super::{IndexKind, KeyBuffer, TableIndex};
use crate::datum::Datum;
use crate::tid::Tid;

/// The elements of the key of a row, ascending.
pub(super) fn elements(mut key: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (bytes, rest) = key.split_first_chunk::<4>()?;
        let (element, rest) = rest.split_at_checked(u32::from_be_bytes(*bytes) as usize)?;
        key = rest;
        Some(element)
    })
}

impl KeyBuffer {
    /// Becomes the key of a row with these elements.
    fn set_elements<'e>(&mut self, elements: impl Iterator<Item = &'e [u8]>) {
        self.set(&[]);
        elements.for_each(|element| {
            // Elements have some hundred bytes.
            self.extend(&(element.len() as u32).to_be_bytes());
            self.extend(element);
        });
    }
}

impl TableIndex {
    /// True when rows have an entry for each of their elements.
    #[inline]
    pub fn is_inverted(&self) -> bool {
        self.spec.kind == IndexKind::Inverted
    }

    /// The keys of the entries that a row with `key` has, ascending.
    pub fn entry_keys<'k>(&self, key: &'k KeyBuffer) -> Vec<&'k [u8]> {
        match (key.is_absent(), self.is_inverted()) {
            (true, _) => Vec::new(),
            (false, true) => elements(key).collect(),
            (false, false) => vec![&key[..]],
        }
    }

    /// Leaves of the entries that `key` needs those that `kept` does not need.
    pub(crate) fn leave_out(&self, key: &mut KeyBuffer, kept: &KeyBuffer) {
        if !self.is_inverted() {
            if key[..] == kept[..] {
                key.set_absent();
            }
            return;
        }
        let mut others = elements(kept).peekable();
        let whole = key.clone();
        key.set_elements(elements(&whole).filter(|element| {
            while others.next_if(|other| other < element).is_some() {}
            others.peek() != Some(element)
        }));
    }

    /// Makes `key` that of a row whose columns of the key are `values`.
    pub(super) fn encode_elements(&self, values: &[Datum<'_>], key: &mut KeyBuffer) -> Result<()> {
        let mut set = ElementSet::default();
        if let Some(derivation) = &self.derivation {
            derivation.elements(values, &mut set)?;
        }
        set.arrange();
        key.set_elements(set.iter());
        Ok(())
    }

    pub(super) fn insert_elements(&self, key: &[u8], tid: Tid) -> Result<bool> {
        let mut is_new = false;
        for element in elements(key) {
            is_new |= self.insert_entry(element, tid)?;
        }
        Ok(is_new)
    }

    pub(super) fn remove_elements(&self, key: &[u8], tid: Tid) -> bool {
        let mut was_there = false;
        for element in elements(key) {
            was_there |= self.remove_entry(element, tid);
        }
        was_there
    }
}
