//! Tables whose rows other processes have: a database of many processes, attached under a schema.
//!
//! ```text
//! name in a statement -> AttachedTransaction::find -> AttachedTable (definition as bytes)
//! FROM -> source -> batches    INSERT, UPDATE, DELETE -> write, in memory until -> commit
//! ```
//! A transaction of a session has at most one of the attached database, begun by the first
//! statement that names a table of its schema (`transaction::attached`).
//! Elsewhere: what these are to the binder (`statement::attached`), how rows are written
//! (`write::attached`), definitions (`define::attached`).

use std::sync::Arc;

use catalog::TableDef;
use catalog::codec::decode_table;
use exec::SharedBatchSource;
use sql::catalog::IndexMeta;
use sql::statement::AccessMode;
use types::{Error, PhysicalType, Result, Value};

pub use catalog::derived::RowKeys;

/// A counter, and how it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterUse {
    /// The counter.
    pub counter: CounterId,
    /// A number of the rules: values that were taken by others are not given any more.
    pub rules: u64,
}

/// A database that is attached.
pub trait Attachment: Send + Sync {
    /// Schema in which its tables are found.
    fn schema(&self) -> &str;

    /// Gives values of a counter: `next` says which one follows one, first of all that of a counter
    /// that never gave any. Outside of transactions: no value comes twice, and some never.
    ///
    /// # Errors
    /// Errors of `next` for the first value; 08006 and others when processes do not answer.
    fn count(
        &self,
        counter: CounterUse,
        next: &dyn Fn(Option<Counted>) -> Result<i64>,
        values: &mut [i64],
    ) -> Result<()>;

    /// Where a counter stands, behind all values that nodes took; None when it never gave any.
    ///
    /// # Errors
    /// 08006 and others when processes do not answer.
    fn counted(&self, counter: CounterId) -> Result<Option<Counted>>;

    /// Sets a counter. What other nodes took before they still give.
    ///
    /// # Errors
    /// 08006 and others when processes do not answer.
    fn set_counter(&self, counter: CounterId, counted: Counted) -> Result<()>;

    /// Begins a transaction; what is dropped without a commit is taken back.
    ///
    /// # Errors
    /// 08006 and others when its processes do not answer.
    fn begin(&self, access: AccessMode) -> Result<Arc<dyn AttachedTransaction>>;

    /// Begins a transaction that reads what another one, of any process, reads: that of
    /// [`AttachedTransaction::state`]. None when that has ended, and rows may be gone.
    ///
    /// # Errors
    /// As [`Self::begin`]; XX001 for bytes that are no state.
    fn begin_at(&self, state: &[u8]) -> Result<Option<Arc<dyn AttachedTransaction>>>;

    /// Waits until no transaction that began before writes tables of the new hold; those that begin
    /// later do not until it ends. There is one hold at a time, which ends with its process, too.
    ///
    /// # Errors
    /// Errors of the check; 40001 beside a transaction while another hold stands; 08006 and others
    /// when processes do not answer.
    fn hold(&self, new: &NewHold<'_>) -> Result<Box<dyn AttachedHold>>;

    /// Waits until the hold is over that stopped a transaction of this process last. The caller has
    /// none open, for the owner of the hold may wait for that.
    ///
    /// # Errors
    /// Errors of the check; 08006 and others when processes do not answer.
    fn wait_for_hold(&self, check: &dyn Fn() -> Result<()>) -> Result<()>;
}

/// Number of a row of an attached table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttachedRow(pub u64);

/// Number of an attached table: no other one ever has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttachedTableId(pub u64);

/// Number of a counter: no other one ever has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterId(pub u64);

/// State of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The last value given, or the first to give.
    pub last: i64,
    /// True when it was given.
    pub called: bool,
}

/// A sequence of an attached database.
#[derive(Clone, Debug)]
pub struct AttachedSequence {
    /// Number of its counter.
    pub counter: CounterId,
    /// Its definition, as it was given.
    pub definition: Arc<[u8]>,
    /// Rights on it, as they were given; nothing for those of a new one.
    pub rights: Arc<[u8]>,
}

/// Object of an attached database that has rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedRights {
    /// The schema.
    Schema,
    /// A table.
    Table(AttachedTableId),
    /// A sequence.
    Sequence(CounterId),
}

/// A table of an attached database.
#[derive(Clone, Debug)]
pub struct AttachedTable {
    /// Its number.
    pub id: AttachedTableId,
    /// Bytes of [`NewAttachedTable::definition`].
    pub definition: Arc<[u8]>,
    /// Rights on it, as [`AttachedTransaction::set_rights`] got them; nothing for those of a new
    /// one.
    pub rights: Arc<[u8]>,
    /// How many rows it has, roughly; None when nobody knows.
    pub rows: Option<u64>,
}

/// Size of an attached table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedSize {
    /// Versions of rows, of which a transaction sees one for each row at most; roughly.
    pub versions: u64,
    /// Processes that have them.
    pub stores: usize,
}

/// Order of a column's values as they are held, and as SQL compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldOrder {
    /// Restrictions and keys may be tested on values as they are held.
    Same,
    /// Only SQL can compare them.
    Other,
}

/// NULLs in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedNulls {
    /// None: the column is NOT NULL.
    Never,
    /// Any number.
    Allowed,
}

/// A column of a new table.
#[derive(Clone, Debug)]
pub struct AttachedColumn {
    /// Its name.
    pub name: String,
    /// How its values are held.
    pub physical: PhysicalType,
    /// Whether that says all about their order.
    pub order: HeldOrder,
    /// Its NULLs.
    pub nulls: AttachedNulls,
}

/// Rows with equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedDoubles {
    /// None, but for keys with NULL.
    Never,
    /// Any number.
    Allowed,
}

/// An index of a table: of PRIMARY KEY, UNIQUE, or CREATE INDEX.
#[derive(Clone, Debug)]
pub struct AttachedKey {
    /// Name of the index, and of its constraint.
    pub name: String,
    /// Ordinals of its columns; from the number of the table's columns on those of its expressions.
    pub columns: Vec<usize>,
    /// Rows that it lets have equal keys.
    pub doubles: AttachedDoubles,
    /// Source of its keys.
    pub source: AttachedKeySource,
}

/// Source of the keys of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedKeySource {
    /// Columns alone, for all rows.
    Columns,
    /// Terms: [`row_keys`] knows which rows have keys, and makes them.
    Terms,
}

/// Maker of the keys of the index at this position of [`NewAttachedTable::keys`], of a table with
/// this definition.
///
/// # Errors
/// XX001 for bytes that are no definition; errors of the binder.
pub fn row_keys(definition: &[u8], position: usize) -> Result<RowKeys> {
    let (def, _) = decode_table(definition)?;
    RowKeys::new(&def.columns, made_index(&def, position)?)
}

/// The index at this position of [`NewAttachedTable::keys`], which is no key's: those of keys are
/// not in the definition.
fn made_index(def: &TableDef, position: usize) -> Result<&IndexMeta> {
    let index = position.checked_sub(def.keys.len()).and_then(|at| def.indexes.get(at));
    index.ok_or_else(|| Error::internal("an index of the table"))
}

/// An index whose keys are made, in the definition of its table.
#[derive(Clone, Copy, Debug)]
pub struct MadeIndex<'a> {
    /// The definition of the table.
    pub definition: &'a [u8],
    /// Position of the index in [`NewAttachedTable::keys`].
    pub position: usize,
}

/// True when both indexes, of the same table at different times, are the same but for their names.
///
/// # Errors
/// XX001 for bytes that are no definition.
pub fn are_alike(one: MadeIndex<'_>, other: MadeIndex<'_>) -> Result<bool> {
    let (one_def, _) = decode_table(one.definition)?;
    let (other_def, _) = decode_table(other.definition)?;
    let other = made_index(&other_def, other.position)?;
    let renamed =
        IndexMeta { name: other.name.clone(), ..made_index(&one_def, one.position)?.clone() };
    Ok(renamed == *other)
}

/// A key that two rows have, where a new index lets only one have it.
#[derive(Clone, Debug)]
pub struct AttachedDouble {
    /// Position of the index in those of the definition.
    pub index: usize,
    /// The values.
    pub values: Vec<Value>,
}

/// Tables that a hold keeps others from writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldTables {
    /// Each one.
    All,
    /// These.
    Only(Vec<AttachedTableId>),
}

impl HeldTables {
    /// True when the table is among them.
    pub fn covers(&self, table: AttachedTableId) -> bool {
        match self {
            Self::All => true,
            Self::Only(tables) => tables.contains(&table),
        }
    }
}

/// Number of a hold: no other one ever has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldNumber(pub u64);

/// A hold, which ends when it is dropped.
pub trait AttachedHold: Send + Sync {
    /// Its number.
    fn number(&self) -> HoldNumber;

    /// Its tables.
    fn tables(&self) -> &HeldTables;
}

/// A hold to be taken.
pub struct NewHold<'a> {
    /// Tables that others are not to write.
    pub tables: HeldTables,
    /// Transaction that goes on under it; others that began before are waited for.
    pub beside: Option<&'a dyn AttachedTransaction>,
    /// Fails when nobody waits any longer.
    pub check: &'a dyn Fn() -> Result<()>,
}

/// A table to be made.
#[derive(Clone, Debug)]
pub struct NewAttachedTable {
    /// Its name in the schema.
    pub name: String,
    /// Its columns.
    pub columns: Vec<AttachedColumn>,
    /// Its indexes.
    pub keys: Vec<AttachedKey>,
    /// Its definition in SQL, for [`AttachedTable::definition`].
    pub definition: Vec<u8>,
}

/// A change of a table's rows.
#[derive(Clone, Debug)]
pub enum AttachedChange {
    /// A new row.
    Insert(Vec<Value>),
    /// Other values for a row.
    Update(AttachedRow, Vec<Value>),
    /// A row goes.
    Delete(AttachedRow),
}

/// Need of a transaction for a row that others refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedClaim {
    /// The row stays: the transaction refers to it.
    Shared,
    /// Nobody begins to refer to the row: the transaction takes it away, or changes its key.
    Sole,
}

/// Place in a transaction to come back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedMark(pub usize);

/// A transaction of an attached database: one snapshot, and changes that others see when it
/// commits.
pub trait AttachedTransaction: Send + Sync {
    /// The table of this name.
    ///
    /// # Errors
    /// 08006 and others when processes do not answer.
    fn find(&self, name: &str) -> Result<Option<AttachedTable>>;

    /// Names and definitions of all tables, in the order of their names.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn all(&self) -> Result<Vec<AttachedTable>>;

    /// Bytes that say what it reads, without its own changes, for [`Attachment::begin_at`].
    ///
    /// # Errors
    /// XX000 when it has ended.
    fn state(&self) -> Result<Vec<u8>>;

    /// How large a table is.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn size(&self, table: AttachedTableId) -> Result<AttachedSize>;

    /// The sequence of this name.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn sequence(&self, name: &str) -> Result<Option<AttachedSequence>>;

    /// All sequences, in the order of their names.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn sequences(&self) -> Result<Vec<AttachedSequence>>;

    /// Makes a sequence, whose name no table has.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn create_sequence(&self, name: &str, definition: &[u8]) -> Result<()>;

    /// Takes a sequence away.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn drop_sequence(&self, counter: CounterId) -> Result<()>;

    /// Gives a sequence another definition.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn redefine_sequence(&self, counter: CounterId, name: &str, definition: &[u8]) -> Result<()>;

    /// Rights on the schema, as [`Self::set_rights`] got them; None as long as nobody changed them.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn schema_rights(&self) -> Result<Option<Arc<[u8]>>>;

    /// Gives an object other rights. They stay with it whatever becomes of its definition.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn set_rights(&self, on: AttachedRights, rights: &[u8]) -> Result<()>;

    /// True when a table or a sequence, or an index of a table has this name.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn has_name(&self, name: &str) -> Result<bool>;

    /// Its number: no other transaction ever has it.
    ///
    /// # Errors
    /// 25006 when it only reads.
    fn number(&self) -> Result<u64>;

    /// Goes on under a hold.
    fn go_under(&self, hold: HoldNumber);

    /// True when the transaction made the table, so that nobody else knows it.
    fn has_made(&self, table: AttachedTableId) -> bool;

    /// Gives a table another definition over the rows that it has: other names, other indexes.
    /// Nobody else writes it: a hold covers it, or the transaction made it. A key that rows have
    /// twice, of a new index; the transaction cannot commit then.
    ///
    /// # Errors
    /// As [`Self::create`]; 54000 for a row whose key is too large.
    fn redefine(
        &self,
        table: AttachedTableId,
        new: &NewAttachedTable,
    ) -> Result<Option<AttachedDouble>>;

    /// Puts a table of these rows in the place of one; else as [`Self::redefine`].
    ///
    /// # Errors
    /// As [`Self::redefine`].
    fn replace(
        &self,
        table: AttachedTableId,
        new: &NewAttachedTable,
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<Option<AttachedDouble>>;

    /// Makes a table.
    ///
    /// # Errors
    /// 40001 when others define tables at the same time; as [`Self::find`].
    fn create(&self, table: &NewAttachedTable) -> Result<()>;

    /// Takes a table away.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn drop_table(&self, table: AttachedTableId) -> Result<()>;

    /// The rows of a table: its columns, then the number of the row as a BIGINT.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn source(&self, table: AttachedTableId) -> Result<SharedBatchSource>;

    /// The values of rows as the transaction left them; None for one that is not there.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn rows(&self, table: AttachedTableId, rows: &[AttachedRow])
    -> Result<Vec<Option<Vec<Value>>>>;

    /// Looks at once for what [`Self::change`] will ask about rows that are to have these values.
    ///
    /// # Errors
    /// As [`Self::change`].
    fn look_ahead(&self, table: AttachedTableId, rows: &[Vec<Value>]) -> Result<()>;

    /// The row that has the key of `values` in the key at this position of those of its
    /// definition; None for keys with NULL.
    ///
    /// # Errors
    /// As [`Self::find`].
    fn holder(
        &self,
        table: AttachedTableId,
        key: usize,
        values: &[Value],
    ) -> Result<Option<AttachedRow>>;

    /// Puts an empty table in the place of one.
    ///
    /// # Errors
    /// As [`Self::create`].
    fn truncate(&self, table: AttachedTableId) -> Result<()>;

    /// Changes a row; its number.
    ///
    /// # Errors
    /// 40001 when another transaction changed it first, or holds the table; 23505 about the
    /// constraint whose name is [`AttachedKey::name`]; 54000 for too many changes.
    fn change(&self, table: AttachedTableId, change: &AttachedChange) -> Result<AttachedRow>;

    /// Claims a row: of two transactions that run at once and claim it, one of them alone, one
    /// fails at its commit. Claims stay when changes are taken back.
    ///
    /// # Errors
    /// 40001 while another transaction holds the table; as [`Self::find`].
    fn claim(&self, table: AttachedTableId, row: AttachedRow, claim: AttachedClaim) -> Result<()>;

    /// True when it changed nothing.
    fn has_only_read(&self) -> bool;

    /// This place.
    fn mark(&self) -> AttachedMark;

    /// Takes back the changes since `mark`.
    fn go_back(&self, mark: AttachedMark);

    /// Makes the changes durable and seen; nothing else is done with it afterwards.
    ///
    /// # Errors
    /// 40001, 23505: nothing happened. 08006, 57P01: whether it happened is not known.
    fn commit(&self) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use catalog::codec::encode_table_def;
    use sql::algebra::{Direction, NullsOrder};
    use sql::catalog::{
        INDEX_EXPRESSION, IndexColumn, IndexExpression, IndexKind, IndexTerms, Uniqueness,
    };
    use storage::{Layout, TableId};
    use types::DataType;

    use super::*;

    /// The definition of a table with one index, whose key is the expression.
    fn defined(name: &str, expression: &str, predicate: Option<&str>) -> Vec<u8> {
        let (sql, ty) = (expression.to_owned(), DataType::Text);
        let expression = IndexExpression { name: "made".to_owned(), sql, ty };
        let column = IndexColumn {
            ordinal: INDEX_EXPRESSION,
            direction: Direction::Ascending,
            nulls: NullsOrder::Last,
        };
        let terms = IndexTerms {
            expressions: vec![expression],
            predicate: predicate.map(str::to_owned),
            ..IndexTerms::default()
        };
        let index = IndexMeta {
            name: name.to_owned(),
            columns: vec![column],
            unique: Uniqueness::No,
            kind: IndexKind::Ordered,
            terms,
        };
        let mut def = TableDef::new("t", Vec::new(), Layout::Row);
        def.indexes.push(index);
        let mut bytes = Vec::new();
        encode_table_def(&def, TableId::default(), &mut bytes);
        bytes
    }

    #[test]
    fn indexes_of_other_terms_are_others() {
        let one = defined("a", "lower(v)", None);
        let is_alike = |other: Vec<u8>| {
            let one = MadeIndex { definition: &one, position: 0 };
            are_alike(one, MadeIndex { definition: &other, position: 0 }).expect("definitions")
        };
        assert!(is_alike(defined("a", "lower(v)", None)));
        assert!(is_alike(defined("b", "lower(v)", None)));
        assert!(!is_alike(defined("b", "upper(v)", None)));
        assert!(!is_alike(defined("b", "lower(v)", Some("w"))));
        let none = MadeIndex { definition: &one, position: 1 };
        assert!(are_alike(none, none).is_err());
    }
}
