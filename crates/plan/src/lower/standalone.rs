//! Lowering of one expression outside a plan: over sampled rows, or without any columns.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr as Logical, ExprKind as LogicalKind, Query};
use sql::catalog::TableRef;
use types::{DataType, Error, PhysicalType, Result, Value};

use super::{Lowered, Lowering, held_as};
use crate::cardinality::Estimator;
use crate::context::Context;
use crate::physical::{Expr, Node, Operator, OperatorId, OutputColumn};
use crate::properties::Properties;
use crate::{PlanOptions, SampleMatch, Statistics, TableStatistics, tree};

/// Knows nothing: an expression alone reads no table.
struct Nothing;

impl Statistics for Nothing {
    fn table(&self, _: &TableRef) -> TableStatistics {
        TableStatistics::default()
    }

    fn sample(&self, _: &TableRef, _: &[(ColumnId, usize)], _: &Logical) -> Option<SampleMatch> {
        None
    }

    fn fold(&self, _: &Logical) -> Result<Value> {
        Err(Error::internal("an expression alone is not folded"))
    }
}

/// Calls `visit` with `expr` and everything in it.
fn each_node(expr: &Logical, visit: &mut dyn FnMut(&Logical)) {
    visit(expr);
    expr.each_child(&mut |child| each_node(child, visit));
}

/// The physical form of `expr`, whose columns are at the ordinals that `position` gives, each held
/// as its type says.
///
/// # Errors
/// XX000 for a column without position, a parameter or a sub-query.
pub fn lower(expr: &Logical, position: &dyn Fn(ColumnId) -> Option<usize>) -> Result<Expr> {
    lower_with(expr, &[], position)
}

/// As [`lower`], held itself as its type says: a column's value.
///
/// # Errors
/// As [`lower`].
pub fn lower_held(expr: &Logical, position: &dyn Fn(ColumnId) -> Option<usize>) -> Result<Expr> {
    lower(expr, position).map(|lowered| held_as(lowered, expr.ty.physical()))
}

/// As [`lower`], with parameters of these types.
pub(crate) fn lower_with(
    expr: &Logical,
    parameters: &[DataType],
    position: &dyn Fn(ColumnId) -> Option<usize>,
) -> Result<Expr> {
    let mut output: Vec<OutputColumn> = Vec::new();
    let mut columns: Vec<ColumnId> = Vec::new();
    let mut open = false;
    each_node(expr, &mut |e| match &e.kind {
        LogicalKind::Column(id) => {
            let Some(ordinal) = position(*id) else {
                open = true;
                return;
            };
            let unused = || OutputColumn {
                name: "".into(),
                ty: DataType::Boolean,
                physical: PhysicalType::Bool,
            };
            while output.len() <= ordinal {
                columns.push(ColumnId(u32::MAX - output.len() as u32));
                output.push(unused());
            }
            columns[ordinal] = *id;
            output[ordinal] = OutputColumn { ty: e.ty, physical: e.ty.physical(), ..unused() };
        }
        LogicalKind::Parameter(number) => open |= *number as usize >= parameters.len(),
        LogicalKind::ScalarSubquery(_)
        | LogicalKind::Exists(_)
        | LogicalKind::Quantified { .. } => open = true,
        _ => {}
    });
    if open {
        return Err(Error::internal("the expression depends on more than its columns"));
    }
    let query = Query {
        plan: tree::one_row(),
        columns: Vec::new(),
        parameters: parameters.to_vec(),
        next_column: 0,
        next_cte: 0,
    };
    let mut context = Context::new(&query, &Nothing, PlanOptions::default());
    let mut estimator = Estimator::default();
    let mut lowering = Lowering {
        context: &mut context,
        estimator: &mut estimator,
        preludes: Vec::new(),
        operators: 0,
        recursions: 0,
        scalars: HashMap::new(),
        ctes: HashMap::new(),
        read: HashMap::new(),
        names: HashMap::new(),
        untaken: HashMap::new(),
        considered: Vec::new(),
    };
    let operator = Operator::Values { rows: Vec::new() };
    let node = Node { id: OperatorId(0), operator, output, rows: 1.0 };
    let input = Lowered { node, columns, properties: Properties::default() };
    lowering.expr(expr, &input)
}
