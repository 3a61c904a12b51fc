//! Tables of the attached database, as the binder, the planner and the tables of the catalog see
//! them.

use std::any::Any;
use std::sync::Arc;

use catalog::codec::{decode_rights, decode_sequence, decode_table};
use catalog::derived::bound_terms;
use catalog::rights::{Grant, Object, Rights};
use catalog::stored::{key_index, schema_of};
use catalog::{Indexes, Schema, State, TableDef, TableEntry};
use exec::SharedBatchSource;
use sql::catalog::{
    BoundTerms, CheckDef, ColumnDef, ForeignKeyDef, FunctionIndex, Identity, IndexMeta, KeyDef,
    TableFunctionRef, TableMeta, TableRef,
};
use sql::statement::{Privilege, Privileges, RelationName};
use storage::{Table, TableId};
use types::{DataType, Result, Value, text};

use crate::Database;
use crate::instance::attached::{
    AttachedSequence, AttachedTable, AttachedTableId, AttachedTransaction,
};
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

/// Names and values of the key of an index, as messages show them: `(a, lower(b))=(1, x)`.
pub(crate) fn key_shown(def: &TableDef, index: &IndexMeta, values: &[Value]) -> String {
    let (mut names, mut cells) = (Vec::new(), Vec::new());
    for (column, value) in index.columns.iter().zip(values) {
        let (name, ty) = match column.expression() {
            Some(number) => {
                let expression = &index.terms.expressions[number];
                (expression.definition(), expression.ty)
            }
            None => (def.columns[column.ordinal].name.clone(), def.columns[column.ordinal].ty),
        };
        names.push(name);
        cells.push(match value {
            Value::Null => "null".to_owned(),
            value => text::format(value, ty),
        });
    }
    format!("({})=({})", names.join(", "), cells.join(", "))
}

/// `state` with the relations of the attached database in it, and their rights: for who describes
/// relations. Their rows are not there.
///
/// # Errors
/// XX001 for damaged definitions; as [`AttachedTransaction::all`].
pub(crate) fn described(
    state: &State,
    database: &Database,
    transaction: &dyn AttachedTransaction,
) -> Result<State> {
    let Some(schema) = database.attached_schema() else { return Ok(state.clone()) };
    let mut state = with_schema(state, schema, transaction)?;
    for found in transaction.all()? {
        add_table(&mut state, database, &found)?;
    }
    for found in transaction.sequences()? {
        add_sequence(&mut state, &found)?;
    }
    Ok(state)
}

/// Adds a table and its rights.
fn add_table(state: &mut State, database: &Database, found: &AttachedTable) -> Result<()> {
    let def = definition_in(database.attached_schema().unwrap_or_default(), found)?;
    let (columns, pool) = (schema_of(&def.columns), Arc::clone(database.pool()));
    let storage = Table::new(TableId(found.id.0), def.name.clone(), columns, def.layout, pool);
    let entry = TableEntry::new(def, storage, Arc::default(), Indexes::Deferred);
    add_rights(state, &entry.def.name, &found.rights)?;
    state.tables.insert(entry.def.name.clone(), Arc::new(entry));
    Ok(())
}

/// Adds a sequence and its rights.
fn add_sequence(state: &mut State, found: &AttachedSequence) -> Result<()> {
    let sequence = decode_sequence(&found.definition)?;
    add_rights(state, &sequence.name, &found.rights)?;
    state.sequences.insert(sequence.name.clone(), Arc::new(sequence));
    Ok(())
}

/// `state` with the schema of the attached database, but without what is in it. Everybody may look
/// into the schema, as into `public`, until somebody says otherwise.
///
/// # Errors
/// XX001 for damaged rights; as [`AttachedTransaction::schema_rights`].
pub(crate) fn with_schema(
    state: &State,
    schema: &str,
    transaction: &dyn AttachedTransaction,
) -> Result<State> {
    let mut state = state.clone();
    state.schemas.insert(schema.to_owned(), Schema);
    let usual = || {
        let privileges = Privileges::of(&[Privilege::Usage]);
        let (grantee, grantor, grantable) = (None, String::new(), Privileges::NONE);
        let grants = Some(vec![Grant { grantee, grantor, privileges, grantable }]);
        Rights { grants, ..Rights::default() }
    };
    let rights = match transaction.schema_rights()? {
        Some(bytes) => decode_rights(&bytes)?,
        None => usual(),
    };
    state.rights.insert(Object::Schema(schema.to_owned()), rights);
    Ok(state)
}

/// Adds the rights on the relation `name`, if there are any.
fn add_rights(state: &mut State, name: &str, bytes: &[u8]) -> Result<()> {
    if !bytes.is_empty() {
        state.rights.insert(Object::Relation(name.to_owned()), decode_rights(bytes)?);
    }
    Ok(())
}

/// `state` with the rights on the schema and on the relations `names`, which are keys, and their
/// columns: for who tests rights.
///
/// # Errors
/// As [`described`].
pub(crate) fn with_rights<'n>(
    state: &State,
    database: &Database,
    transaction: &dyn AttachedTransaction,
    names: impl Iterator<Item = &'n str>,
) -> Result<State> {
    let Some(schema) = database.attached_schema() else { return Ok(state.clone()) };
    let mut state = with_schema(state, schema, transaction)?;
    for key in names {
        let name = RelationName::name_of_key(key);
        if let Some(found) = transaction.find(name)? {
            add_table(&mut state, database, &found)?;
        } else if let Some(found) = transaction.sequence(name)? {
            add_sequence(&mut state, &found)?;
        }
    }
    Ok(state)
}

/// A table of the attached database in one transaction.
pub(crate) struct AttachedRows {
    pub(crate) def: TableDef,
    pub(crate) id: AttachedTableId,
    /// Terms of its indexes, by position.
    terms: Vec<Option<BoundTerms>>,
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
        let terms = bound_terms(&def)?;
        let index = |(position, terms): (usize, &Option<BoundTerms>)| {
            let (name, terms) = (def.indexes[position].name.clone(), terms.clone()?);
            Some(FunctionIndex { name, position, terms })
        };
        let indexes = terms.iter().enumerate().filter_map(index).collect();
        let function = SourceFunction::restricted(def.name.clone(), opened, indexes);
        Ok(Self { def, id: found.id, terms, function, source })
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

    fn foreign_keys(&self) -> &[ForeignKeyDef] {
        &self.0.def.foreign_keys
    }

    fn identity(&self, ordinal: usize) -> Option<&Identity> {
        let found = self.0.def.identities.iter().find(|(column, _)| *column == ordinal);
        found.map(|(_, identity)| identity)
    }

    fn indexes(&self) -> &[IndexMeta] {
        &self.0.def.indexes
    }

    fn index_terms(&self, position: usize) -> Option<&BoundTerms> {
        self.0.terms.get(position)?.as_ref()
    }

    fn rows_elsewhere(&self) -> Option<TableFunctionRef> {
        Some(self.0.function.clone())
    }

    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.0) as Arc<dyn Any + Send + Sync>
    }
}
