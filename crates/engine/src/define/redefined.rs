//! A table that others know on its way to a new definition over the same rows.
//!
//! ```text
//! entry -> locked -> changes of `def` and its indexes -> finish: builds and drops indexes -> entry
//! ```
//! Invariant: what `finish` does to the storage is noted in the transaction, which takes it back
//! unless it commits.

use std::sync::Arc;

use catalog::locks::{Asked, LockMode};
use catalog::{Built, TableDef, TableEntry};
use sql::catalog::{IndexMeta, TableRef};
use storage::{IndexId, TableIndex};
use types::{Error, Result};

use crate::Session;
use crate::transaction::work::stale;
use crate::write::indexes;

/// Index of the new definition, built or not.
enum Held<I> {
    /// The storage has the index.
    Built(I),
    /// The index is to be built.
    New,
}

/// A table being redefined.
pub(super) struct Redefined {
    pub(super) entry: Arc<TableEntry>,
    pub(super) def: TableDef,
    /// Table indexes by position in `def.indexes`.
    held: Vec<Held<Arc<TableIndex>>>,
    /// Block indexes by position in `def.block_indexes`.
    in_blocks: Vec<Held<IndexId>>,
}

/// The table, which this transaction alone uses from now on.
///
/// # Errors
/// [`stale`] when it is no longer as the statement was bound to it; 40P01, 57014.
pub(super) fn locked(session: &mut Session, table: &TableRef) -> Result<Arc<TableEntry>> {
    locked_in(session, table, LockMode::AccessExclusive)
}

/// As [`locked`], in another mode.
pub(super) fn locked_in(
    session: &mut Session,
    table: &TableRef,
    mode: LockMode,
) -> Result<Arc<TableEntry>> {
    let entry = named_in(session, table.name(), mode)?;
    let known = Arc::as_ptr(&table.0).cast::<()>();
    if std::ptr::eq(known, Arc::as_ptr(&entry).cast::<()>()) { Ok(entry) } else { Err(stale()) }
}

/// As [`locked`], for a table found through another one.
pub(super) fn locked_named(session: &mut Session, name: &str) -> Result<Arc<TableEntry>> {
    named_in(session, name, LockMode::AccessExclusive)
}

/// As [`locked_named`], in another mode. Who has to wait does not keep others from changing the
/// catalog meanwhile.
pub(super) fn named_in(
    session: &mut Session,
    name: &str,
    mode: LockMode,
) -> Result<Arc<TableEntry>> {
    let entry = session.state().tables.get(name).cloned().ok_or_else(stale)?;
    let catalog_lock = Arc::clone(&session.inner().catalog_lock);
    let (work, cancel) = session.work_and_cancel();
    if let Asked::Wait(_) = work.ask(&entry.lock, mode)
        && !work.has_changed_catalog()
    {
        work.give_back(&catalog_lock);
        work.lock(&entry.lock, mode, cancel)?;
        return Err(stale());
    }
    session.lock_table(name, entry.storage(), mode)
}

impl Redefined {
    /// `entry` is locked.
    pub(super) fn new(entry: Arc<TableEntry>) -> Self {
        let def = entry.def.clone();
        let built = entry.built();
        let held = built.indexes.into_iter().map(Held::Built).collect();
        let in_blocks = built.of_blocks.into_iter().map(Held::Built).collect();
        Self { entry, def, held, in_blocks }
    }

    /// Adds an index that blocks have.
    pub(super) fn add_block_index(&mut self, meta: IndexMeta) {
        self.def.block_indexes.push(meta);
        self.in_blocks.push(Held::New);
    }

    /// Removes those indexes of blocks that are not to be kept.
    pub(super) fn retain_block_indexes(&mut self, keep: impl Fn(&IndexMeta) -> bool) {
        let kept: Vec<bool> = self.def.block_indexes.iter().map(keep).collect();
        let (mut metas, mut held) = (kept.iter(), kept.iter());
        self.def.block_indexes.retain(|_| metas.next() == Some(&true));
        self.in_blocks.retain(|_| held.next() == Some(&true));
    }

    /// Adds an index.
    pub(super) fn add_index(&mut self, meta: IndexMeta) {
        self.def.indexes.push(meta);
        self.held.push(Held::New);
    }

    /// Removes the index at this position.
    pub(super) fn remove_index(&mut self, position: usize) {
        self.def.indexes.remove(position);
        self.held.remove(position);
    }

    /// Removes the index that a constraint of this name has.
    pub(super) fn remove_constraint_index(&mut self, name: &str) {
        if let Some(position) = self.def.indexes.iter().position(|i| i.name == name) {
            self.remove_index(position);
        }
    }

    /// Removes a foreign key and its index.
    pub(super) fn remove_foreign_key(&mut self, name: &str) {
        self.remove_constraint_index(name);
        self.def.foreign_keys.retain(|fk| fk.name != name);
    }

    /// The table under its new definition and with its old rows.
    ///
    /// # Errors
    /// 23505 when rows have equal keys in a new unique index; 53200.
    pub(super) fn finish(self, session: &mut Session) -> Result<Arc<TableEntry>> {
        let Self { entry, def, held, in_blocks } = self;
        if (held.len(), in_blocks.len()) != (def.indexes.len(), def.block_indexes.len()) {
            return Err(Error::internal("a table's indexes are known"));
        }
        let storage = entry.storage();
        let mut indexes = Vec::with_capacity(held.len());
        for (meta, held) in def.indexes.iter().zip(held) {
            indexes.push(match held {
                Held::Built(index) => index,
                Held::New => {
                    let index = indexes::add(session, storage, &def, meta)?;
                    session.work_mut().index_added(storage, index.spec().id);
                    index
                }
            });
        }
        let gone = |index: &&Arc<TableIndex>| !indexes.iter().any(|kept| Arc::ptr_eq(kept, index));
        for index in entry.indexes_built().iter().filter(gone) {
            session.work_mut().index_dropped(storage, index.spec().id);
        }
        let mut of_blocks = Vec::with_capacity(in_blocks.len());
        for (meta, held) in def.block_indexes.iter().zip(in_blocks) {
            of_blocks.push(match held {
                Held::Built(id) => id,
                Held::New => {
                    let id = indexes::add_to_blocks(session, storage, meta)?;
                    session.work_mut().index_added(storage, id);
                    id
                }
            });
        }
        for id in entry.built().of_blocks.into_iter().filter(|id| !of_blocks.contains(id)) {
            session.work_mut().index_dropped(storage, id);
        }
        Ok(Arc::new(entry.redefined(def, Built { indexes, of_blocks })))
    }
}
