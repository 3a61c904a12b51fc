//! Indexes over expressions, and of some rows only: what storage asks to make their keys.
//!
//! ```text
//! terms (SQL text) -> bound over a row -> evaluators -> storage::Derivation
//!                                    '-> TableMeta::index_terms, for planner and ON CONFLICT
//! ```
//! Invariant: terms are the same for the same row, whoever asks and whenever: they are bound
//! without a session.

use std::sync::{Arc, OnceLock};

use exec::expr::Evaluator;
use kernels::{Batch, Column, Vector, VectorBuilder};
use sql::algebra::{ColumnId, Expr};
use sql::catalog::{Arguments, BoundTerms, Called, Catalog, ColumnDef, IndexMeta, Relation};
use sql::catalog::{IndexColumn, IndexKind, IndexTerms, TableFunctionRef, UserType};
use sql::statement::RelationName;
use storage::{ColumnSpec, Datum, Derivation, IndexId, Membership, RowBuffer, Table, TableIndex};
use types::elements::{ElementClass, ElementSet};
use types::{Collation, DataType, Error, PhysicalType, Result, SqlState, Value, text};

use crate::rows::push;
use crate::state::TableDef;
use crate::state::exclusions::PairTest;
use crate::state::user_types::{enum_in, range_in};
use crate::stored::{schema_of, spec_of};

/// A catalog for expressions that depend on nothing but their row, the types of its columns, and
/// the collations that the terms of an index name.
pub(super) struct Nothing<'a> {
    columns: &'a [ColumnDef],
    collations: &'a [(String, Collation)],
}

impl<'a> Nothing<'a> {
    pub(super) fn over(columns: &'a [ColumnDef]) -> Self {
        Self { columns, collations: &[] }
    }

    fn of_terms(columns: &'a [ColumnDef], terms: &'a IndexTerms) -> Self {
        Self { columns, collations: &terms.collations }
    }
}

impl Catalog for Nothing<'_> {
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<UserType> {
        let (schema, name) = (schema.map(str::to_owned), name.to_owned());
        let key = RelationName { schema, name }.key();
        let of_column = |column: &ColumnDef| {
            let range = || range_in(column.ty).map(UserType::Range);
            enum_in(column.ty).map(UserType::Enum).or_else(range)
        };
        self.columns.iter().filter_map(of_column).find(|ty| ty.key() == key)
    }

    fn collation(&self, schema: Option<&str>, name: &str) -> Option<(String, Collation)> {
        let (schema, name) = (schema.map(str::to_owned), name.to_owned());
        let key = RelationName { schema, name }.key();
        self.collations.iter().find(|(known, _)| *known == key).cloned()
    }

    /// Always true: schemas in the text were found when the index was made.
    fn has_schema(&self, _: &str) -> bool {
        true
    }

    /// Always true: functions in the text were found when the index was made.
    fn finds_extension(&self, _: &str, _: Called<'_>) -> bool {
        true
    }

    fn relation(&self, _: Option<&str>, _: &str) -> Option<Relation> {
        None
    }

    fn table_function(&self, _: &str, _: &Arguments) -> Option<Result<TableFunctionRef>> {
        None
    }

    fn now_micros(&self) -> Option<i64> {
        None
    }
}

/// The terms of the indexes of a definition, bound when first needed.
#[derive(Default)]
pub(crate) struct Terms {
    bound: OnceLock<Box<[Option<BoundTerms>]>>,
    pair_tests: OnceLock<Box<[Option<PairTest>]>>,
}

impl Terms {
    /// Terms of the index at `position` of `def`; None when it has none.
    pub(crate) fn of(&self, def: &TableDef, position: usize) -> Option<&BoundTerms> {
        if def.indexes.get(position)?.terms.is_empty() {
            return None;
        }
        let of = |meta: &IndexMeta| {
            if meta.terms.is_empty() { None } else { bind(def, &meta.terms).ok() }
        };
        let all = self.bound.get_or_init(|| def.indexes.iter().map(of).collect());
        all.get(position)?.as_ref()
    }

    /// The comparisons for the indexes that serve EXCLUDE, by position.
    pub(super) fn pair_tests(&self, def: &TableDef) -> &[Option<PairTest>] {
        let of = |meta: &IndexMeta| {
            let exclusion = meta.terms.exclusion.as_ref()?;
            PairTest::of(def, meta, exclusion).ok()
        };
        self.pair_tests.get_or_init(|| def.indexes.iter().map(of).collect())
    }
}

/// The terms over a row of the table.
///
/// # Errors
/// Errors of the binder, when an expression does not fit the columns.
pub(crate) fn bind(def: &TableDef, terms: &IndexTerms) -> Result<BoundTerms> {
    sql::bind_index_terms(
        def.bare_name(),
        &def.columns,
        terms,
        &Nothing::of_terms(&def.columns, terms),
    )
}

/// Gives the expressions of indexes the types that they have over the columns as they are now.
///
/// # Errors
/// Errors of binding a term over these columns.
pub fn retype(def: &mut TableDef) -> Result<()> {
    let mut indexes = std::mem::take(&mut def.indexes);
    for meta in indexes.iter_mut().filter(|meta| !meta.terms.is_empty()) {
        let bound = bind(def, &meta.terms)?;
        for (expression, bound) in meta.terms.expressions.iter_mut().zip(&bound.expressions) {
            expression.ty = bound.ty;
        }
    }
    def.indexes = indexes;
    Ok(())
}

/// The index of a table in storage, which has `columns`; empty.
///
/// # Errors
/// 53200; XX000 for an index that blocks have.
pub fn new_index(
    id: IndexId,
    table: &Table,
    columns: &[ColumnDef],
    meta: &IndexMeta,
) -> Result<TableIndex> {
    check_near(columns, meta)?;
    let derivation = if meta.terms.is_empty() && meta.kind.has_keys() {
        None
    } else {
        Some(Arc::new(Derived::new(columns, meta)?) as Arc<dyn Derivation>)
    };
    TableIndex::derived(spec_of(id, meta)?, table.schema(), table.pool(), derivation)
}

/// The terms of an index, ready to run.
struct Derived {
    /// Ordinals; evaluators know columns by their position here.
    reads: Vec<usize>,
    physical: Vec<PhysicalType>,
    specs: Vec<ColumnSpec>,
    expressions: Vec<Evaluator>,
    predicate: Option<Evaluator>,
    /// Classes and types of the columns of an inverted index.
    classes: Vec<(ElementClass, DataType)>,
    /// See [`Derivation::definition`].
    definition: String,
}

impl Derived {
    fn new(columns: &[ColumnDef], meta: &IndexMeta) -> Result<Self> {
        let terms = &meta.terms;
        let catalog = Nothing::of_terms(columns, terms);
        let bound = sql::bind_index_terms("", columns, terms, &catalog)?;
        let reads = bound.reads();
        let position = |id: ColumnId| reads.binary_search(&(id.0 as usize)).ok();
        let evaluator = |expr: &Expr| Evaluator::new(&plan::lower_held(expr, &position)?);
        let expressions = bound.expressions.iter().map(evaluator).collect::<Result<_>>()?;
        let predicate = bound.predicate.as_ref().map(evaluator).transpose()?;
        let spec = |(expr, known): (&Expr, &sql::catalog::IndexExpression)| {
            ColumnSpec::new(known.name.clone(), expr.ty)
        };
        let specs = bound.expressions.iter().zip(&terms.expressions).map(spec).collect();
        let schema = schema_of(columns);
        let physical = reads.iter().map(|&ordinal| schema.columns()[ordinal].physical()).collect();
        let classes = match meta.kind {
            IndexKind::Inverted => element_classes(columns, meta)?,
            _ => Vec::new(),
        };
        // What functions return may differ from release to release.
        let release = env!("CARGO_PKG_VERSION");
        let parts = (&terms.expressions, &terms.predicate, &terms.classes);
        let definition = format!(" {release} {parts:?}");
        Ok(Self { reads, physical, specs, expressions, predicate, classes, definition })
    }
}

impl Derived {
    /// Values of the expressions for the one row of `batch`, whose columns are those that it reads;
    /// None when the predicate does not hold.
    fn of(&self, batch: &Batch) -> Result<Option<Vec<Arc<Vector>>>> {
        if let Some(predicate) = &self.predicate {
            let mut kept = vec![0];
            predicate.select(batch, &mut kept)?;
            if kept.is_empty() {
                return Ok(None);
            }
        }
        let value = |expression: &Evaluator| Ok(expression.evaluate(batch)?.to_plain());
        self.expressions.iter().map(value).collect::<Result<_>>().map(Some)
    }
}

impl Derivation for Derived {
    fn reads(&self) -> &[usize] {
        &self.reads
    }

    fn expressions(&self) -> &[ColumnSpec] {
        &self.specs
    }

    fn definition(&self) -> Option<String> {
        Some(self.definition.clone())
    }

    fn derive(&self, row: &[Datum<'_>], out: &mut RowBuffer) -> Result<Membership> {
        let column = |(&physical, &datum): (&PhysicalType, &Datum<'_>)| {
            let mut builder = VectorBuilder::with_capacity(physical, 1);
            push(&mut builder, datum);
            Column::plain(builder.finish())
        };
        let batch = Batch::new(self.physical.iter().zip(row).map(column).collect(), 1);
        out.clear();
        let Some(values) = self.of(&batch)? else { return Ok(Membership::Outside) };
        values.iter().for_each(|value| out.push(Datum::of(value, 0)));
        Ok(Membership::Inside)
    }

    fn elements(&self, values: &[Datum<'_>], set: &mut ElementSet) -> Result<()> {
        for (number, (value, (class, ty))) in values.iter().zip(&self.classes).enumerate() {
            // An index has 32 columns at most.
            set.begin(number as u8);
            class.elements(*ty, &value.to_value(), set)?;
        }
        Ok(())
    }
}

/// Keys of an index with terms, made of rows that are not in storage.
pub struct RowKeys {
    derived: Derived,
    columns: Vec<IndexColumn>,
    /// How the values of its columns are held.
    physical: Vec<PhysicalType>,
}

impl RowKeys {
    /// The keys of the index `meta` of a table of these columns.
    ///
    /// # Errors
    /// Errors of the binder, when a term does not fit the columns.
    pub fn new(columns: &[ColumnDef], meta: &IndexMeta) -> Result<Self> {
        let derived = Derived::new(columns, meta)?;
        let of = |column: &IndexColumn| Ok(type_of(columns, meta, column)?.physical());
        let physical = meta.columns.iter().map(of).collect::<Result<_>>()?;
        Ok(Self { derived, columns: meta.columns.clone(), physical })
    }

    /// Ordinals of the table's columns that keys are made of, ascending, each once.
    pub fn reads(&self) -> Vec<usize> {
        let plain = self.columns.iter().filter(|column| column.expression().is_none());
        let mut reads: Vec<usize> = plain.map(|column| column.ordinal).collect();
        reads.extend(&self.derived.reads);
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    /// How the values of keys are held.
    pub fn physical(&self) -> &[PhysicalType] {
        &self.physical
    }

    /// The key of a row, whose columns `value` gives; None for a row that the index leaves out.
    ///
    /// # Errors
    /// Errors that a term raises.
    pub fn key(&self, value: &dyn Fn(usize) -> Value) -> Result<Option<Vec<Value>>> {
        let derived = &self.derived;
        let column = |(&physical, &ordinal): (&PhysicalType, &usize)| {
            let mut builder = VectorBuilder::with_capacity(physical, 1);
            builder.push_value(&value(ordinal));
            Column::plain(builder.finish())
        };
        let read = derived.physical.iter().zip(&derived.reads).map(column).collect();
        let Some(made) = derived.of(&Batch::new(read, 1))? else { return Ok(None) };
        let part = |column: &IndexColumn| match column.expression() {
            Some(number) => made[number].value(0),
            None => value(column.ordinal),
        };
        Ok(Some(self.columns.iter().map(part).collect()))
    }
}

/// The terms of the indexes of a definition, by position; None for those without.
///
/// # Errors
/// Errors of the binder, when a term does not fit the columns.
pub fn bound_terms(def: &TableDef) -> Result<Vec<Option<BoundTerms>>> {
    let of = |meta: &IndexMeta| {
        if meta.terms.is_empty() { Ok(None) } else { bind(def, &meta.terms).map(Some) }
    };
    def.indexes.iter().map(of).collect()
}

/// Makes sure that the column of a near index has vectors that it can hold.
///
/// # Errors
/// 42804, 22023 and 54000 for a column of a type, perhaps a new one, that has none.
fn check_near(columns: &[ColumnDef], meta: &IndexMeta) -> Result<()> {
    let (Some(form), [column]) = (meta.near_form(), meta.columns.as_slice()) else {
        return Ok(());
    };
    let ty = type_of(columns, meta, column)?;
    sql::check_near_type(ty, form.metric.class(), meta.kind.method())
}

/// The type of a column of an index.
fn type_of(columns: &[ColumnDef], meta: &IndexMeta, column: &IndexColumn) -> Result<DataType> {
    let ty = match column.expression() {
        Some(number) => meta.terms.expressions.get(number).map(|expression| expression.ty),
        None => columns.get(column.ordinal).map(|def| def.ty),
    };
    ty.ok_or_else(|| Error::internal("a column of an index that is not there"))
}

/// The operator classes and types of the columns of an inverted index.
///
/// # Errors
/// 42804 and 42704 for a column of a type, perhaps a new one, that has no such class.
fn element_classes(
    columns: &[ColumnDef],
    meta: &IndexMeta,
) -> Result<Vec<(ElementClass, DataType)>> {
    let class = |(position, column): (usize, &IndexColumn)| {
        let ty = type_of(columns, meta, column)?;
        let class = meta.element_class(position, ty);
        Ok((class.ok_or_else(|| without_class(meta, position, ty))?, ty))
    };
    meta.columns.iter().enumerate().map(class).collect()
}

#[cold]
fn without_class(meta: &IndexMeta, position: usize, ty: DataType) -> Error {
    let ty = ty.name();
    match meta.terms.classes.iter().find(|(at, _)| *at == position) {
        Some((_, class)) => {
            let message = format!("operator class \"{class}\" does not accept data type {ty}");
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        }
        None => {
            let message =
                format!("data type {ty} has no default operator class for access method \"gin\"");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        }
    }
}

/// A value as messages about keys show it.
fn shown(datum: Datum<'_>, ty: DataType) -> String {
    match datum.to_value() {
        value if value.is_null() => "null".to_owned(),
        value => text::format(&value, ty),
    }
}

/// "(a, lower(b))=(1, x)" of a row, whose columns [`TableIndex::ordinals`] are `row`.
///
/// # Errors
/// Errors that an expression raises.
pub fn key_text(
    columns: &[ColumnDef],
    meta: &IndexMeta,
    index: &TableIndex,
    row: &RowBuffer,
) -> Result<String> {
    let value = |ordinal: usize| {
        let at = index.ordinals().iter().position(|&o| o == ordinal);
        at.map_or(Datum::Null, |at| row.get(at))
    };
    let mut made = RowBuffer::new();
    let key = index.key_values(value, &mut made)?.unwrap_or_default();
    let (mut names, mut cells) = (Vec::new(), Vec::new());
    for (column, datum) in meta.columns.iter().zip(key) {
        let (name, ty) = match column.expression() {
            Some(number) => {
                let expression = &meta.terms.expressions[number];
                let keyed = expression.keyed_column(columns);
                if let Some(ordinal) = keyed {
                    names.push(columns[ordinal].name.clone());
                    cells.push(shown(value(ordinal), columns[ordinal].ty));
                    continue;
                }
                (expression.definition(), expression.ty)
            }
            None => (columns[column.ordinal].name.clone(), columns[column.ordinal].ty),
        };
        names.push(name);
        cells.push(shown(datum, ty));
    }
    Ok(format!("({})=({})", names.join(", "), cells.join(", ")))
}
