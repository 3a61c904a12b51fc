//! INSERT of one row whose values are parameters, constants and the next values of sequences.

use catalog::TableEntry;
use plan::PlanOptions;
use plan::physical::{Expr, ExprKind, Operator};
use sql::algebra::{Function, Query};
use sql::statement::Insert;
use types::Value;

use crate::session::point::{NewRow, Output, Values};
use crate::statement::statistics::StoredStatistics;

/// The row of `insert` into `entry`; None when the general way is to be taken.
pub(super) fn new_row(entry: &TableEntry, insert: &Insert) -> Option<NewRow> {
    let is_routed = insert.table.partitions().is_some() || insert.table.partition_of().is_some();
    if insert.on_conflict.is_some() || is_routed {
        return None;
    }
    let schema = entry.storage().schema().columns();
    let (columns, output) = plan::point::returned(insert)?;
    let mut parameters = insert.source.parameters.len();
    let returning = match &insert.returning {
        None => None,
        Some(returning) => {
            parameters = parameters.max(returning.query.parameters.len());
            let row = columns.iter().map(|&c| schema.get(c).map(|c| c.physical()));
            Some((columns.clone(), Output::new(output, row.collect::<Option<_>>()?)?))
        }
    };
    let mut sequences = Vec::new();
    let exprs = inserted(&insert.source, parameters, &mut sequences)?;
    let mut values = Values::new(exprs, Vec::new())?;
    if schema.len() != values.operands.len() {
        return None;
    }
    values.physical = schema.iter().map(|column| column.physical()).collect();
    Some(NewRow { values, parameters, sequences, returning })
}

/// The values of the one row that an INSERT writes, when nothing has to be read for it. The next
/// value of a sequence is a parameter from number `next` on.
fn inserted(source: &Query, next: usize, sequences: &mut Vec<String>) -> Option<Vec<Expr>> {
    let statistics = StoredStatistics::default();
    let plan = plan::plan(source, &statistics, &PlanOptions::default()).ok()?;
    // What is drawn from sequences stays beside the values.
    let (exprs, values) = match plan.root.operator {
        Operator::Project { input, exprs } => (Some(exprs), input.operator),
        values => (None, values),
    };
    let Operator::Values { mut rows } = values else { return None };
    let (Some(row), true, true) = (rows.pop(), rows.is_empty(), plan.preludes.is_empty()) else {
        return None;
    };
    let mut row = match exprs {
        Some(exprs) => exprs.into_iter().map(|e| over(e, &row)).collect::<Option<Vec<_>>>()?,
        None => row,
    };
    row.iter_mut().try_for_each(|expr| take_sequences(expr, next, sequences))?;
    Some(row)
}

/// `expr` with the values of `row` for its columns.
fn over(mut expr: Expr, row: &[Expr]) -> Option<Expr> {
    match &mut expr.kind {
        ExprKind::Column(i) => {
            let value = row.get(*i).filter(|value| value.physical == expr.physical)?;
            expr.kind = value.kind.clone();
        }
        ExprKind::Cast(operand) => **operand = over((**operand).clone(), row)?,
        _ => {}
    }
    Some(expr)
}

/// Puts parameters for the next values of sequences; None when `expr` is more than them, a
/// parameter, or a constant, converted perhaps.
fn take_sequences(expr: &mut Expr, next: usize, sequences: &mut Vec<String>) -> Option<()> {
    let parameter = match &mut expr.kind {
        ExprKind::Literal(_) | ExprKind::Parameter(_) => return Some(()),
        ExprKind::Cast(operand) => return take_sequences(operand, next, sequences),
        ExprKind::Call(Function::NextVal, arguments) => match arguments.as_slice() {
            [Expr { kind: ExprKind::Literal(Value::Str(name)), .. }] => {
                sequences.push(std::str::from_utf8(name).ok()?.to_owned());
                u32::try_from(next + sequences.len() - 1).ok()?
            }
            _ => return None,
        },
        _ => return None,
    };
    expr.kind = ExprKind::Parameter(parameter);
    Some(())
}
