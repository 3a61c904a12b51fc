//! A statement on one row by its key, as a prepared statement keeps it: how the row is found, and
//! the values that are written or given.
//!
//! Elsewhere: which statements these are (`plan::point`), how they are made (`statement::point`)
//! and run (`write::point`).

pub(crate) mod simple;

use std::sync::Arc;

use catalog::TableEntry;
use catalog::rows::push;
use exec::ResultSet;
use exec::expr::{Evaluator, children_mut, fit};
use kernels::{Batch, Column, Vector, VectorBuilder};
use parking_lot::Mutex;
use plan::physical::{Expr, ExprKind};
use plan::point::PointOutput;
use sql::catalog::TableRef;
use storage::{Datum, KeyBuffer, RowBuffer, Table, TableIndex};
use types::{DataType, Error, PhysicalType, Result, Value};

use simple::Simple;

/// A statement on one row.
pub(crate) struct Point {
    pub(crate) table: TableRef,
    pub(crate) storage: Arc<Table>,
    /// The table in the catalog of `version`.
    pub(crate) entry: Arc<TableEntry>,
    /// Version of the catalog in which its constraints were looked at.
    pub(crate) version: u64,
    pub(crate) action: Action,
    pub(crate) memory: Mutex<Memory>,
}

pub(crate) enum Action {
    Select(Find, Output),
    Update(Find, Vec<usize>, Values, Option<Output>),
    Delete(Find, Option<Output>),
    Insert(NewRow),
}

/// Result columns: of SELECT, or of RETURNING over the row after an update or before a delete.
pub(crate) struct Output {
    pub(crate) columns: Arc<[(String, DataType)]>,
    pub(crate) values: Values,
}

impl Output {
    pub(crate) fn new(output: Vec<PointOutput>, row: Vec<PhysicalType>) -> Option<Self> {
        let columns = output.iter().map(|o| (o.name.clone(), o.ty)).collect();
        let values = Values::new(output.into_iter().map(|o| o.expr).collect(), row)?;
        Some(Self { columns, values })
    }

    /// Output of RETURNING: the outer None when it cannot be computed here, the inner without one.
    pub(crate) fn returning(
        output: Vec<PointOutput>,
        row: Vec<PhysicalType>,
    ) -> Option<Option<Self>> {
        if output.is_empty() { Some(None) } else { Self::new(output, row).map(Some) }
    }

    pub(crate) fn rows(&self, row: Option<&RowBuffer>, parameters: &[Value]) -> Result<ResultSet> {
        let batch = self.values.batch(row, parameters)?;
        Ok(ResultSet::from_batches(Arc::clone(&self.columns), vec![batch]))
    }
}

/// How the row is found.
pub(crate) struct Find {
    pub(crate) index: Arc<TableIndex>,
    pub(crate) keys: Values,
    /// Ordinals that expressions read.
    pub(crate) columns: Vec<usize>,
    pub(crate) residual: Option<Values>,
}

/// A value that expressions make.
pub(crate) enum Operand {
    /// Column read, by position.
    Column(usize),
    Parameter(usize),
    Constant(Value),
    /// Over the columns read, then `Values::parameters`; simple ones are told without evaluation.
    Computed(Evaluator, Option<Simple>),
}

/// Some values over the row and the parameters.
pub(crate) struct Values {
    pub(crate) operands: Vec<Operand>,
    /// Physical forms of the values.
    pub(crate) physical: Vec<PhysicalType>,
    /// Forms of the columns read.
    pub(crate) row: Vec<PhysicalType>,
    /// Parameters that computations read, in these forms.
    pub(crate) parameters: Vec<(usize, PhysicalType)>,
}

/// Memory that is used again.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) key: KeyBuffer,
    pub(crate) row: RowBuffer,
}

impl Values {
    /// `exprs` over a row of columns in these forms; None when one is held otherwise.
    pub(crate) fn new(exprs: Vec<Expr>, row: Vec<PhysicalType>) -> Option<Self> {
        let physical = exprs.iter().map(|expr| expr.physical).collect();
        let mut values = Self { operands: Vec::new(), physical, row, parameters: Vec::new() };
        for expr in exprs {
            let operand = values.operand(expr)?;
            values.operands.push(operand);
        }
        Some(values)
    }

    /// One value that is computed, however simple it is.
    pub(crate) fn computed(expr: Expr, row: Vec<PhysicalType>) -> Option<Self> {
        let mut values = Self::new(Vec::new(), row)?;
        values.physical.push(expr.physical);
        let operand = values.compile(expr)?;
        values.operands.push(operand);
        Some(values)
    }

    pub(crate) fn operand(&mut self, expr: Expr) -> Option<Operand> {
        match expr.kind {
            ExprKind::Column(i) => {
                (self.row.get(i) == Some(&expr.physical)).then_some(Operand::Column(i))
            }
            ExprKind::Parameter(i) => Some(Operand::Parameter(i as usize)),
            ExprKind::Literal(value) => Some(Operand::Constant(fit(value, expr.physical))),
            _ => self.compile(expr),
        }
    }

    pub(crate) fn compile(&mut self, mut expr: Expr) -> Option<Operand> {
        let simple = Simple::new(&expr);
        self.number(&mut expr)?;
        Some(Operand::Computed(Evaluator::new(&expr).ok()?, simple))
    }

    /// Makes parameters columns behind those of the row.
    pub(crate) fn number(&mut self, expr: &mut Expr) -> Option<()> {
        match &mut expr.kind {
            ExprKind::Column(i) => (self.row.get(*i) == Some(&expr.physical)).then_some(()),
            ExprKind::Scalar(_) | ExprKind::Sequence(..) | ExprKind::Failure(_) => None,
            ExprKind::Parameter(i) => {
                let wanted = (*i as usize, expr.physical);
                let known = self.parameters.iter().position(|known| *known == wanted);
                let place = known.unwrap_or(self.parameters.len());
                if known.is_none() {
                    self.parameters.push(wanted);
                }
                expr.kind = ExprKind::Column(self.row.len() + place);
                Some(())
            }
            kind => children_mut(kind).into_iter().try_for_each(|child| self.number(child)),
        }
    }

    /// One row of what computations read. Without a row its columns are NULL.
    pub(crate) fn input(&self, row: &RowBuffer, parameters: &[Value]) -> Batch {
        let one = |physical, value: &Value| Column::plain(Vector::repeat(physical, value, 1));
        let value = |i: usize| if i < row.len() { row.get(i).to_value() } else { Value::Null };
        let mut columns: Vec<Column> =
            self.row.iter().enumerate().map(|(i, &physical)| one(physical, &value(i))).collect();
        for &(i, physical) in &self.parameters {
            columns.push(one(physical, &fit(parameters[i].clone(), physical)));
        }
        Batch::new(columns, 1)
    }

    /// The values of computed operands, NULL in the places of others; nothing when there are none.
    pub(crate) fn compute(&self, row: &RowBuffer, parameters: &[Value]) -> Result<Vec<Value>> {
        if !self.operands.iter().any(|operand| matches!(operand, Operand::Computed(..))) {
            return Ok(Vec::new());
        }
        let mut batch = None;
        let mut values = Vec::with_capacity(self.operands.len());
        for (operand, &physical) in self.operands.iter().zip(&self.physical) {
            let Operand::Computed(evaluator, simple) = operand else {
                values.push(Value::Null);
                continue;
            };
            let told = simple.as_ref().and_then(|simple| simple.value(row, parameters));
            values.push(match told.and_then(|told| told.held(physical)) {
                Some(value) => value,
                None => {
                    let batch = batch.get_or_insert_with(|| self.input(row, parameters));
                    evaluator.evaluate(batch)?.value(0)
                }
            });
        }
        Ok(values)
    }

    /// Value number `i` in its form.
    pub(crate) fn datum<'v>(
        &'v self,
        i: usize,
        row: &'v RowBuffer,
        parameters: &'v [Value],
        computed: &'v [Value],
    ) -> Result<Datum<'v>> {
        let datum = match &self.operands[i] {
            Operand::Column(column) => row.get(*column),
            Operand::Parameter(number) => Datum::from(&parameters[*number]),
            Operand::Constant(value) => Datum::from(value),
            Operand::Computed(..) => Datum::from(&computed[i]),
        };
        let narrow = |v: i128| Some(Datum::I64(i64::try_from(v).ok()?));
        let held = match (datum, self.physical[i]) {
            (Datum::I128(v), PhysicalType::I64) => narrow(v),
            (datum, physical) => datum.widened(physical),
        };
        held.ok_or_else(|| Error::internal("a value of another type than its place"))
    }

    /// The values as columns: of one row, or of none.
    pub(crate) fn batch(&self, row: Option<&RowBuffer>, parameters: &[Value]) -> Result<Batch> {
        let mut columns: Vec<VectorBuilder> =
            self.physical.iter().map(|&p| VectorBuilder::with_capacity(p, 1)).collect();
        if let Some(row) = row {
            let computed = self.compute(row, parameters)?;
            for (i, column) in columns.iter_mut().enumerate() {
                push(column, self.datum(i, row, parameters, &computed)?);
            }
        }
        let columns = columns.into_iter().map(|b| Column::plain(b.finish())).collect();
        Ok(Batch::new(columns, usize::from(row.is_some())))
    }
}

/// The row that is inserted.
pub(crate) struct NewRow {
    pub(crate) values: Values,
    /// Parameters of the statement.
    pub(crate) parameters: usize,
    /// Behind them, as further ones, the next values of these sequences.
    pub(crate) sequences: Vec<String>,
    /// Columns that RETURNING reads, and what it says of them.
    pub(crate) returning: Option<(Vec<usize>, Output)>,
}

impl NewRow {
    /// The columns that RETURNING reads, if there is one.
    pub(crate) fn returned(&self) -> Option<&Vec<usize>> {
        self.returning.as_ref().map(|(columns, _)| columns)
    }
}

impl Point {
    /// True when the statement only reads.
    pub(crate) fn is_select(&self) -> bool {
        matches!(self.action, Action::Select(..))
    }
}
