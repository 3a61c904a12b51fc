//! Tables of the attached database, as the binder, the planner and the tables of the catalog see
//! them.

use std::any::Any;
use std::sync::Arc;

use catalog::codec::{decode_sequence, decode_table};
use catalog::stored::{key_index, schema_of};
use catalog::{Indexes, Schema, State, TableDef, TableEntry};
use exec::SharedBatchSource;
use sql::catalog::{
    CheckDef, ColumnDef, Identity, IndexMeta, KeyDef, TableFunctionRef, TableMeta, TableRef,
};
use sql::statement::RelationName;
use storage::{Table, TableId};
use types::{DataType, Result};

use crate::Database;
use crate::instance::attached::{AttachedTable, AttachedTableId, AttachedTransaction};
use crate::instance::registry::{OpenedFile, SourceFunction};

/// The definition of `found`, in `schema`.
///
/// # Errors
/// XX001 for bytes that are none.
pub(crate) fn definition_in(schema: &str, found: &AttachedTable) -> Result<TableDef> {
    let (mut def, _) = decode_table(&found.definition)?;
    let name = def.bare_name().to_owned();
    def.name = RelationName { schema: Some(schema.to_owned()), name }.key();
    // Those of CREATE INDEX follow; nobody reads rows by them here.
    let others = std::mem::take(&mut def.indexes);
    let of_keys = def.keys.iter().map(|key| key_index(key, &def.columns));
    def.indexes = of_keys.chain(others).collect();
    Ok(def)
}

/// `state` with the tables of the attached database in it: for who describes relations. Their rows
/// are not there.
///
/// # Errors
/// XX001 for damaged definitions; as [`AttachedTransaction::all`].
pub(crate) fn described(
    state: &State,
    database: &Database,
    transaction: &dyn AttachedTransaction,
) -> Result<State> {
    let mut state = state.clone();
    let Some(schema) = database.attached_schema() else { return Ok(state) };
    for found in transaction.all()? {
        let def = definition_in(schema, &found)?;
        let (columns, pool) = (schema_of(&def.columns), Arc::clone(database.pool()));
        let storage = Table::new(TableId(found.id.0), def.name.clone(), columns, def.layout, pool);
        let entry = TableEntry::new(def, storage, Arc::default(), Indexes::Deferred);
        state.tables.insert(entry.def.name.clone(), Arc::new(entry));
    }
    for found in transaction.sequences()? {
        let sequence = decode_sequence(&found.definition)?;
        state.sequences.insert(sequence.name.clone(), Arc::new(sequence));
    }
    state.schemas.insert(schema.to_owned(), Schema);
    Ok(state)
}

/// A table of the attached database in one transaction.
pub(crate) struct AttachedRows {
    pub(crate) def: TableDef,
    pub(crate) id: AttachedTableId,
    function: TableFunctionRef,
    source: SharedBatchSource,
}

impl AttachedRows {
    /// The table `found`, in `schema`.
    ///
    /// # Errors
    /// XX001 for a definition that is none; as [`AttachedTransaction::source`].
    pub(crate) fn new(
        schema: &str,
        found: &AttachedTable,
        transaction: &dyn AttachedTransaction,
    ) -> Result<Self> {
        let def = definition_in(schema, found)?;
        let named = |column: &ColumnDef| (column.name.clone(), column.ty);
        let row = ("row".to_owned(), DataType::BigInt);
        let columns = def.columns.iter().map(named).chain([row]).collect();
        let source = transaction.source(found.id)?;
        let opened = OpenedFile { columns, rows: found.rows, source: Arc::clone(&source) };
        let function = SourceFunction::restricted(def.name.clone(), opened);
        Ok(Self { def, id: found.id, function, source })
    }

    /// All its rows.
    pub(crate) fn source(&self) -> SharedBatchSource {
        Arc::clone(&self.source)
    }

    /// The table as a relation.
    pub(crate) fn into_table(self) -> TableRef {
        TableRef(Arc::new(AttachedMeta(Arc::new(self))))
    }

    /// The attached table that `table` is.
    pub(crate) fn of(table: &TableRef) -> Option<Arc<Self>> {
        table.rows_elsewhere()?;
        table.object().downcast().ok()
    }
}

struct AttachedMeta(Arc<AttachedRows>);

impl TableMeta for AttachedMeta {
    fn name(&self) -> &str {
        &self.0.def.name
    }

    fn columns(&self) -> &[ColumnDef] {
        &self.0.def.columns
    }

    fn keys(&self) -> &[KeyDef] {
        &self.0.def.keys
    }

    fn checks(&self) -> &[CheckDef] {
        &self.0.def.checks
    }

    fn identity(&self, ordinal: usize) -> Option<&Identity> {
        let found = self.0.def.identities.iter().find(|(column, _)| *column == ordinal);
        found.map(|(_, identity)| identity)
    }

    fn indexes(&self) -> &[IndexMeta] {
        &self.0.def.indexes
    }

    fn rows_elsewhere(&self) -> Option<TableFunctionRef> {
        Some(self.0.function.clone())
    }

    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.0) as Arc<dyn Any + Send + Sync>
    }
}
