//! Transactions that the log names: prepared ones, and those that asked for their number.
//!
//! ```text
//! PREPARE TRANSACTION -> Catalog { PREPARED, name, bytes }           no rows: nobody sees them
//! COMMIT PREPARED     -> Catalog { PREPARED_GONE, name }, then the rows as of any commit
//! ROLLBACK PREPARED   -> Catalog { PREPARED_GONE, name }
//! numbers             -> Catalog { NUMBERS, "", below u64 }          in steps, ahead of use
//!                        Catalog { COMMITTED, "", number u64 }       before the rows of the commit
//! ```
//! Invariant: marks change under the commit latch, so that a checkpoint has those of its position.
//! Elsewhere: the bytes of a prepared transaction (`transaction::work::prepared`), numbers
//! (`instance::xids`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use txn::redo::RedoWriter;
use types::Result;

use crate::damage::damaged;

mod kind {
    pub(super) const PREPARED: u8 = 234;
    pub(super) const PREPARED_GONE: u8 = 235;
    pub(super) const NUMBERS: u8 = 236;
    pub(super) const COMMITTED: u8 = 237;
}

/// Numbers of committed transactions that are kept: what older ones became is not known.
pub const COMMITTED_MAX: usize = 1 << 14;

/// True for entries of marks, which come before those of definitions.
pub(super) fn is_mark(kind: u8) -> bool {
    (kind::PREPARED..=kind::COMMITTED).contains(&kind)
}

/// Transactions that files name.
#[derive(Clone, Default)]
pub struct Named {
    /// Work of prepared transactions, by their names.
    pub prepared: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// No transaction has this number or a larger one.
    pub numbers_below: u64,
    /// Numbers of transactions that committed, the newest.
    pub committed: BTreeSet<u64>,
}

/// Marks that one record of the log makes.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The transaction is prepared: its name, and what it did.
    pub prepared: Option<(Arc<str>, Arc<[u8]>)>,
    /// The prepared transaction of this name has ended.
    pub ended: Option<Arc<str>>,
    /// Numbers below this one may be given out.
    pub numbers_below: Option<u64>,
    /// Number of the transaction that commits.
    pub committed: Option<u64>,
}

impl Marks {
    /// True for none.
    pub fn is_empty(&self) -> bool {
        let Self { prepared, ended, numbers_below, committed } = self;
        prepared.is_none() && ended.is_none() && numbers_below.is_none() && committed.is_none()
    }

    /// Writes them as the first entries of a record.
    pub(super) fn write(&self, writer: &mut RedoWriter<'_>) {
        if let Some((gid, bytes)) = &self.prepared {
            writer.catalog(kind::PREPARED, gid, bytes);
        }
        if let Some(gid) = &self.ended {
            writer.catalog(kind::PREPARED_GONE, gid, &[]);
        }
        if let Some(below) = self.numbers_below {
            writer.catalog(kind::NUMBERS, "", &below.to_le_bytes());
        }
        if let Some(number) = self.committed {
            writer.catalog(kind::COMMITTED, "", &number.to_le_bytes());
        }
    }
}

impl Named {
    /// Takes over the marks of a record, under the commit latch.
    pub fn note(&mut self, marks: &Marks) {
        if let Some((gid, bytes)) = &marks.prepared {
            self.prepared.insert(Arc::clone(gid), Arc::clone(bytes));
        }
        if let Some(gid) = &marks.ended {
            self.prepared.remove(gid);
        }
        if let Some(below) = marks.numbers_below {
            self.numbers_below = self.numbers_below.max(below);
        }
        if let Some(number) = marks.committed {
            self.commit(number);
        }
    }

    fn commit(&mut self, number: u64) {
        self.committed.insert(number);
        while self.committed.len() > COMMITTED_MAX {
            self.committed.pop_first();
        }
    }

    /// Carries out an entry of the log or of a manifest; false for one of another kind.
    ///
    /// # Errors
    /// XX001 for what no [`Marks::write`] wrote.
    pub(super) fn apply(&mut self, kind: u8, name: &str, bytes: &[u8]) -> Result<bool> {
        let number = || {
            let number = bytes.try_into().map(u64::from_le_bytes);
            number.map_err(|_| damaged("a number of transactions is none"))
        };
        match kind {
            kind::PREPARED => {
                self.prepared.insert(name.into(), bytes.into());
            }
            kind::PREPARED_GONE => {
                let ended = self.prepared.remove(name);
                let unknown =
                    || damaged(format!("prepared transaction {name:?} ends, but is none"));
                ended.ok_or_else(unknown)?;
            }
            kind::NUMBERS => self.numbers_below = self.numbers_below.max(number()?),
            kind::COMMITTED => self.commit(number()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes all of them, for a manifest.
    pub(super) fn write_all(&self, writer: &mut RedoWriter<'_>) {
        let prepared = self.prepared.iter();
        let mut all: Vec<Marks> = prepared
            .map(|(gid, bytes)| {
                let prepared = Some((Arc::clone(gid), Arc::clone(bytes)));
                Marks { prepared, ..Marks::default() }
            })
            .collect();
        if self.numbers_below > 0 {
            let numbers_below = Some(self.numbers_below);
            all.push(Marks { numbers_below, ..Marks::default() });
        }
        let committed = self.committed.iter();
        all.extend(committed.map(|&number| Marks { committed: Some(number), ..Marks::default() }));
        all.iter().for_each(|marks| marks.write(writer));
    }
}

#[cfg(test)]
mod tests {
    use txn::redo::{Redo, RedoReader};

    use super::*;

    fn read(bytes: &[u8]) -> Named {
        let (mut named, mut reader) = (Named::default(), RedoReader::new(bytes));
        while let Some(entry) = reader.next().expect("written so") {
            let Redo::Catalog { kind, name, bytes } = entry else { panic!("{entry:?}") };
            assert!(named.apply(kind, name, bytes).expect("written so"));
        }
        named
    }

    #[test]
    fn marks_come_back_from_a_record_and_from_a_manifest() {
        let mut named = Named::default();
        let mut log = Vec::new();
        let gid = |n: u64| -> Arc<str> { format!("gid {n}").into() };
        for n in 0..COMMITTED_MAX as u64 + 9 {
            let marks = Marks {
                prepared: Some((gid(n), [n as u8].into())),
                ended: (n > 2).then(|| gid(n - 3)),
                numbers_below: Some(n * 2),
                committed: Some(n),
            };
            marks.write(&mut RedoWriter::new(&mut log));
            named.note(&marks);
        }
        assert_eq!((named.prepared.len(), named.committed.len()), (3, COMMITTED_MAX));
        let mut manifest = Vec::new();
        named.write_all(&mut RedoWriter::new(&mut manifest));
        for back in [read(&log), read(&manifest)] {
            assert_eq!(back.prepared, named.prepared);
            assert_eq!(back.numbers_below, named.numbers_below);
            assert_eq!(back.committed, named.committed);
        }
    }

    #[test]
    fn other_bytes_are_damage() {
        let mut named = Named::default();
        assert!(named.apply(kind::PREPARED_GONE, "none", &[]).is_err());
        assert!(named.apply(kind::NUMBERS, "", &[1, 2]).is_err());
        assert!(!named.apply(1, "table", &[]).expect("of another kind"));
    }
}
