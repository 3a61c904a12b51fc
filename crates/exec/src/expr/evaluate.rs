//! Whole batches to columns.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use kernels::compare::compare;
use kernels::{Batch, Column, Vector, VectorData, like, logic};
use types::{CompareOp, Error, PhysicalType, Result};

use super::node::{Node, NodeKind, column_of};

static PLACEHOLDER: LazyLock<Arc<Vector>> =
    LazyLock::new(|| Arc::new(Vector::new(VectorData::Bool(vec![0]))));

/// The rows of `batch` at `positions`; only `columns` (sorted) have their values.
pub(crate) fn restrict(batch: &Batch, columns: &[usize], positions: &[u32]) -> Batch {
    let pick = |(ordinal, column): (usize, &Column)| match columns.binary_search(&ordinal) {
        Ok(_) => column.gather(positions),
        Err(_) => Column::Constant(Arc::clone(&PLACEHOLDER), positions.len()),
    };
    Batch::new(batch.columns.iter().enumerate().map(pick).collect(), positions.len())
}

/// A column as an operand of kernels: all rows, or one row for all.
pub(super) fn operand(column: &Column) -> Cow<'_, Vector> {
    match column {
        Column::Constant(vector, _) if vector.len() == 1 => Cow::Borrowed(vector),
        Column::Constant(vector, _) => Cow::Owned(vector.slice(0, 1)),
        other => other.to_vector(),
    }
}

impl Node {
    /// The value for every row of `batch`.
    pub(super) fn evaluate(&self, batch: &Batch) -> Result<Column> {
        match &self.kind {
            NodeKind::Column(ordinal) => {
                let column = batch.columns.get(*ordinal);
                return column.cloned().ok_or_else(|| Error::internal("no such column"));
            }
            NodeKind::Constant(vector) => {
                return Ok(Column::Constant(Arc::clone(vector), batch.rows));
            }
            _ => {}
        }
        if batch.rows == 0 {
            return Ok(Column::plain(Vector::empty(self.physical)));
        }
        if let Some(column) = self.evaluate_dictionary(batch)? {
            return Ok(column);
        }
        let column = self.evaluate_rows(batch)?;
        debug_assert_eq!(column.len(), batch.rows, "a value per row");
        Ok(column)
    }

    /// Evaluates on the dictionary when the node's only column is one, no longer than the batch.
    pub(super) fn evaluate_dictionary(&self, batch: &Batch) -> Result<Option<Column>> {
        let [ordinal] = self.columns[..] else {
            return Ok(None);
        };
        let Some(Column::Dictionary(codes, dictionary)) = batch.columns.get(ordinal) else {
            return Ok(None);
        };
        if self.traits.volatile {
            return Ok(None);
        }
        let result = match self.memory.get(dictionary) {
            Some(result) => result,
            None if dictionary.len() > batch.rows || dictionary.is_empty() => return Ok(None),
            None => {
                let mut columns = batch.columns.clone();
                let entries = dictionary.len();
                for (i, column) in columns.iter_mut().enumerate() {
                    *column = if i == ordinal {
                        Column::Plain(Arc::clone(dictionary))
                    } else {
                        Column::Constant(Arc::clone(&PLACEHOLDER), entries)
                    };
                }
                // An entry that no row has may fail: then rows decide.
                let Ok(column) = self.evaluate_rows(&Batch::new(columns, entries)) else {
                    return Ok(None);
                };
                let result = column.to_plain();
                self.memory.put(dictionary, &result);
                result
            }
        };
        Ok(Some(Column::Dictionary(Arc::clone(codes), result)))
    }

    fn evaluate_rows(&self, batch: &Batch) -> Result<Column> {
        types::stack::deep(|| self.evaluate_rows_here(batch))
    }

    fn evaluate_rows_here(&self, batch: &Batch) -> Result<Column> {
        match &self.kind {
            NodeKind::Column(_) | NodeKind::Constant(_) => self.evaluate(batch),
            NodeKind::Call(kernel, nodes) => {
                let columns =
                    nodes.iter().map(|n| n.evaluate(batch)).collect::<Result<Vec<_>>>()?;
                let operands: Vec<Cow<Vector>> = columns.iter().map(operand).collect();
                let operands: Vec<&Vector> = operands.iter().map(|o| &**o).collect();
                Ok(column_of(kernel(&operands, batch.rows)?, batch.rows))
            }
            NodeKind::Compare(op, a, b) => Self::binary(a, b, batch, |a, b| compare(*op, a, b)),
            NodeKind::And(parts) => super::branch::connect(parts, batch, super::branch::Logic::And),
            NodeKind::Or(parts) => super::branch::connect(parts, batch, super::branch::Logic::Or),
            NodeKind::Not(inner) => Self::unary(inner, batch, logic::not),
            NodeKind::IsNull(inner) => Self::unary(inner, batch, logic::is_null),
            NodeKind::Case { branches, otherwise } => {
                super::branch::case(branches, otherwise, batch, self.physical)
            }
            NodeKind::Coalesce(parts) => super::branch::coalesce(parts, batch, self.physical),
            NodeKind::NullIf(a, b) => null_if(a, b, batch),
            NodeKind::Best(replaced_when, parts) => {
                super::branch::best(*replaced_when, parts, batch)
            }
            NodeKind::Member(inner, members) => Self::unary(inner, batch, |v| members.test(v)),
            NodeKind::Like(inner, pattern) => Self::unary(inner, batch, |v| {
                let values = like::like(v.as_str(), pattern);
                Vector::with_validity(VectorData::Bool(values), v.validity.clone())
            }),
        }
    }

    fn unary(inner: &Node, batch: &Batch, f: impl Fn(&Vector) -> Vector) -> Result<Column> {
        let column = inner.evaluate(batch)?;
        if let Column::Dictionary(codes, dictionary) = &column
            && dictionary.len() <= codes.len()
            && !dictionary.is_empty()
        {
            return Ok(Column::Dictionary(Arc::clone(codes), Arc::new(f(dictionary))));
        }
        Ok(column_of(f(&operand(&column)), batch.rows))
    }

    fn binary(
        a: &Node,
        b: &Node,
        batch: &Batch,
        f: impl Fn(&Vector, &Vector) -> Vector,
    ) -> Result<Column> {
        let (a, b) = (a.evaluate(batch)?, b.evaluate(batch)?);
        Ok(column_of(f(&operand(&a), &operand(&b)), batch.rows))
    }
}

/// NULL where `a = b`, else `a`.
fn null_if(a: &Node, b: &Node, batch: &Batch) -> Result<Column> {
    let (a, b) = (a.evaluate(batch)?, b.evaluate(batch)?);
    let equal = compare(CompareOp::Equal, &operand(&a), &operand(&b));
    let equal = column_of(equal, batch.rows).to_plain();
    let different = kernels::compare::true_bits(&equal).not();
    let values = a.to_vector().into_owned();
    let valid = match &values.validity {
        Some(valid) => valid.and(&different),
        None => different,
    };
    Ok(Column::plain(Vector::with_validity(values.data, Some(valid))))
}

/// NULL of type `physical`, for all rows.
pub(super) fn null(physical: PhysicalType) -> Vector {
    Vector::repeat(physical, &types::Value::Null, 1)
}
