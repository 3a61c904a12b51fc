//! Keys that are computed: indexes over expressions, and indexes of some rows only.
//!
//! ```text
//! row, the columns read -> Derivation -> values of the expressions -> key
//!                                     '-> Outside: no entry          ^
//! row, the columns of the key ---------------------------------------'
//! ```
//! Invariant: what is computed of a row is always the same, so that the key of a version is found
//! again when its entry is removed; a row for which it fails was refused and has no entry.
//! Elsewhere: the expressions themselves, which a layer above computes.

use types::Result;
use types::elements::ElementSet;

use super::{IndexColumn, IndexKind, IndexSpec, KeyBuffer, TableIndex};
use crate::datum::{Datum, RowBuffer};
use crate::schema::ColumnSpec;

/// [`IndexColumn::ordinal`] of the first expression of an index; the others follow.
pub const INDEX_EXPRESSION: usize = 0x1_0000;

/// Answer whether an index has an entry for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The index has one.
    Inside,
    /// The index has none.
    Outside,
}

/// Part of an index beyond plain columns: values of expressions, and which rows have entries.
pub trait Derivation: Send + Sync {
    /// Ordinals of the columns that it reads, each once.
    fn reads(&self) -> &[usize];

    /// The expressions, as columns.
    fn expressions(&self) -> &[ColumnSpec];

    /// Text that differs where rows would have other values: two derivations over the same columns
    /// with one text make the same of each row. None where that cannot be told.
    fn definition(&self) -> Option<String> {
        None
    }

    /// Computes the expressions of one row, whose columns read are `row`, into `out`, which it
    /// clears; those of a row outside are of no use. The same row gives the same result.
    ///
    /// # Errors
    /// Errors that an expression raises.
    fn derive(&self, row: &[Datum<'_>], out: &mut RowBuffer) -> Result<Membership>;

    /// Adds the elements of the columns `values` of the key of a row: of inverted indexes alone.
    ///
    /// # Errors
    /// Errors of values whose elements cannot be told.
    fn elements(&self, _values: &[Datum<'_>], _set: &mut ElementSet) -> Result<()> {
        Ok(())
    }
}

impl IndexColumn {
    /// The number of the expression that it is.
    pub fn expression(&self) -> Option<usize> {
        self.ordinal.checked_sub(INDEX_EXPRESSION)
    }
}

/// The ordinals of the columns of the table that make a key: those of the key in order, or, where
/// some are derived, all that are read, ascending.
pub(super) fn ordinals(spec: &IndexSpec, derivation: Option<&dyn Derivation>) -> Box<[usize]> {
    let plain = spec.columns.iter().filter(|column| column.expression().is_none());
    let mut ordinals: Vec<usize> = plain.map(|column| column.ordinal).collect();
    if let Some(derivation) = derivation {
        ordinals.extend(derivation.reads());
        ordinals.sort_unstable();
        ordinals.dedup();
    }
    ordinals.into()
}

impl TableIndex {
    /// Makes `key` that of a row whose columns [`Self::ordinals`] are `row`; see
    /// [`KeyBuffer::is_absent`].
    ///
    /// # Errors
    /// Errors that an expression raises.
    ///
    /// # Panics
    /// As [`Self::encode`].
    #[inline]
    pub fn encode_row(&self, row: &[Datum<'_>], key: &mut KeyBuffer) -> Result<()> {
        match &self.derivation {
            None => self.encode(row, key),
            Some(_) => self.encode_derived(row, key)?,
        }
        Ok(())
    }

    #[cold]
    fn encode_derived(&self, row: &[Datum<'_>], key: &mut KeyBuffer) -> Result<()> {
        let value = |ordinal: usize| match self.ordinals.binary_search(&ordinal) {
            Ok(at) => row[at],
            Err(_) => unreachable!("all columns that are read are among the ordinals"),
        };
        let mut made = RowBuffer::new();
        let Some(values) = self.key_values(value, &mut made)? else {
            key.set_absent();
            return Ok(());
        };
        match (self.spec.kind, self.near_form()) {
            (IndexKind::Inverted, _) => self.encode_elements(&values, key)?,
            (_, Some(form)) => self.encode_near(&values, form, key),
            _ => self.encode(&values, key),
        }
        Ok(())
    }

    /// The values of the key of a row, whose columns `row` tells by ordinal; `made` is memory for
    /// those that are computed. None for a row that the index does not have.
    ///
    /// # Errors
    /// Errors that an expression raises.
    pub fn key_values<'v>(
        &self,
        row: impl Fn(usize) -> Datum<'v>,
        made: &'v mut RowBuffer,
    ) -> Result<Option<Vec<Datum<'v>>>> {
        if let Some(derivation) = &self.derivation {
            let read: Vec<Datum<'_>> = derivation.reads().iter().map(|&o| row(o)).collect();
            if derivation.derive(&read, made)? == Membership::Outside {
                return Ok(None);
            }
        }
        let made = &*made;
        let value = |column: &IndexColumn| match column.expression() {
            Some(number) => made.get(number),
            None => row(column.ordinal),
        };
        Ok(Some(self.spec.columns.iter().map(value).collect()))
    }
}
