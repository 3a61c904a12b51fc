//! EXCLUDE: how two rows of a table are compared by the keys of the index that serves it.
//!
//! Elsewhere: which rows are compared (`write::exclusion`), those that were there before
//! (`define::validate`).

use exec::expr::Evaluator;
use kernels::{Batch, Column, VectorBuilder};
use sql::algebra::ColumnId;
use sql::catalog::{
    CheckDef, CheckScope, ColumnDef, Exclusion, ExclusionOperator, IndexMeta, Validity,
};
use storage::{Datum, Direction};
use types::{DataType, Error, PhysicalType, Result, Value, text};

use super::derived::Nothing;
use super::{TableDef, TableEntry};
use crate::rows::push;
use crate::stored::schema_of;

/// Comparison of two keys of an index: one of a new row, one of another.
pub struct PairTest {
    physical: Vec<PhysicalType>,
    types: Vec<DataType>,
    excludes: Evaluator,
    /// Conditions of neighbours: the other one ends before the new one, and begins behind it.
    apart: Option<[Evaluator; 2]>,
}

/// The type of each column of an index.
fn types_of(def: &TableDef, index: &IndexMeta) -> Vec<DataType> {
    let ty = |column: &sql::catalog::IndexColumn| match column.expression() {
        Some(number) => index.terms.expressions[number].ty,
        None => def.columns[column.ordinal].ty,
    };
    index.columns.iter().map(ty).collect()
}

impl PairTest {
    /// The comparison for an index that serves EXCLUDE.
    ///
    /// # Errors
    /// None for operators that were found when the constraint was made.
    pub(super) fn of(def: &TableDef, index: &IndexMeta, exclusion: &Exclusion) -> Result<Self> {
        let types = types_of(def, index);
        let side = |letter: char| {
            let named =
                move |(at, ty): (usize, &DataType)| ColumnDef::new(format!("{letter}{at}"), *ty);
            types.iter().enumerate().map(named).collect::<Vec<_>>()
        };
        let columns = [side('n'), side('o')].concat();
        let both = |at: usize, sign: &str| format!("o{at} {sign} n{at}");
        let each = exclusion.elements.iter().map(|e| both(e.column, e.operator.sign()));
        let excludes = each.collect::<Vec<_>>().join(" AND ");
        let range = exclusion.elements.iter().find(|e| e.operator == ExclusionOperator::Overlaps);
        let range = range.filter(|_| exclusion.is_of_neighbours(|at| types.get(at).copied()));
        let apart = match range.map(|range| range.column) {
            // Of empty ranges, which come first, none meets another one.
            Some(at) => {
                let before = format!("isempty(o{at}) OR {}", both(at, "<<"));
                Some([condition(&columns, before)?, condition(&columns, both(at, ">>"))?])
            }
            None => None,
        };
        let specs = schema_of(&side('n'));
        let physical = specs.columns().iter().map(storage::ColumnSpec::physical).collect();
        Ok(Self { physical, types, excludes: condition(&columns, excludes)?, apart })
    }

    /// True when rows whose keys are not neighbours do not meet, as long as all others do not.
    pub fn is_of_neighbours(&self) -> bool {
        self.apart.is_some()
    }

    /// Keys of a new row and of another one, side by side.
    fn pair(&self, new: &[Datum<'_>], other: &[Datum<'_>]) -> Batch {
        let physical = self.physical.iter().chain(&self.physical);
        let column = |(&physical, &datum): (&PhysicalType, &Datum<'_>)| {
            let mut builder = VectorBuilder::with_capacity(physical, 1);
            push(&mut builder, datum.widened(physical).unwrap_or(datum));
            Column::plain(builder.finish())
        };
        Batch::new(physical.zip(new.iter().chain(other)).map(column).collect(), 1)
    }

    /// True when the constraint excludes that rows with both keys are there.
    ///
    /// # Errors
    /// Errors of the operators.
    pub fn meets(&self, new: &[Datum<'_>], other: &[Datum<'_>]) -> Result<bool> {
        holds(&self.excludes, &self.pair(new, other))
    }

    /// True when the other key, which comes this way from the new one in the order of the index, is
    /// so far away that none beyond it meets the new one.
    ///
    /// # Errors
    /// Errors of the operators.
    pub fn is_apart(
        &self,
        direction: Direction,
        new: &[Datum<'_>],
        other: &[Datum<'_>],
    ) -> Result<bool> {
        let Some([before, behind]) = &self.apart else { return Ok(false) };
        let condition = match direction {
            Direction::Backward => before,
            Direction::Forward => behind,
        };
        holds(condition, &self.pair(new, other))
    }

    /// "(room, during)=(1, [2,3))" in the order of the declaration.
    pub fn shown(&self, def: &TableDef, index: &IndexMeta, key: &[Datum<'_>]) -> String {
        let name = |&at: &usize| match index.columns[at].expression() {
            Some(number) => index.terms.expressions[number].definition(),
            None => def.columns[index.columns[at].ordinal].name.clone(),
        };
        let cell = |&at: &usize| match key[at].widened(self.physical[at]).unwrap_or(key[at]) {
            Datum::Null => "null".to_owned(),
            datum => text::format(&datum.to_value(), self.types[at]),
        };
        let order = index.declared();
        let names: Vec<String> = order.iter().map(name).collect();
        let cells: Vec<String> = order.iter().map(cell).collect();
        format!("({})=({})", names.join(", "), cells.join(", "))
    }
}

fn holds(condition: &Evaluator, pair: &Batch) -> Result<bool> {
    Ok(matches!(condition.evaluate(pair)?.value(0), Value::Bool(true)))
}

/// A condition over a row of `columns`, ready to be evaluated.
fn condition(columns: &[ColumnDef], sql: String) -> Result<Evaluator> {
    let (name, validity, scope) = (String::new(), Validity::Valid, CheckScope::Alone);
    let check = CheckDef { name, sql, validity, scope };
    let bound = sql::bind_row_exprs(&[check], "", columns, &Nothing::over(columns))?;
    let bound = bound.first().ok_or_else(|| Error::internal("a condition"))?;
    Evaluator::new(&plan::lower(bound, &|id: ColumnId| Some(id.0 as usize))?)
}

impl TableEntry {
    /// The positions of its indexes that serve EXCLUDE.
    pub fn exclusions(&self) -> impl Iterator<Item = usize> + '_ {
        let indexes = self.def.indexes.iter().enumerate();
        indexes.filter(|(_, index)| index.excludes()).map(|(position, _)| position)
    }

    /// Ordinals of the columns that the index at `position` is made of.
    pub fn columns_of_index(&self, position: usize) -> Vec<usize> {
        let of = self.def.indexes[position].columns.iter();
        let mut columns: Vec<usize> =
            of.filter(|column| column.expression().is_none()).map(|c| c.ordinal).collect();
        columns.extend(self.terms.of(&self.def, position).into_iter().flat_map(|t| t.reads()));
        columns
    }

    /// The comparison for the index at `position`.
    ///
    /// # Errors
    /// XX000 for an index that serves no EXCLUDE.
    pub fn pair_test(&self, position: usize) -> Result<&PairTest> {
        let all = self.terms.pair_tests(&self.def);
        let test = all.get(position).and_then(Option::as_ref);
        test.ok_or_else(|| Error::internal("an index that serves EXCLUDE"))
    }
}
