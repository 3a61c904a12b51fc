//! AND, OR, CASE, COALESCE, GREATEST, LEAST: what looks at an operand only where it matters.

use kernels::compare::{compare, true_bits};
use kernels::select::compose;
use kernels::{Batch, Bitmap, Column, Vector, VectorBuilder, VectorData, blend, logic, wide};
use types::{CompareOp, DataType, PhysicalType, Result};

use super::evaluate::{null, operand, restrict};
use super::node::{Node, column_of};

/// AND or OR.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
}

impl Logic {
    fn combine(self, a: &Vector, b: &Vector) -> Vector {
        match self {
            Self::And => logic::and(a, b),
            Self::Or => logic::or(a, b),
        }
    }

    /// Rows whose result further operands can change: not false (AND), not true (OR).
    fn open(self, result: &Vector) -> Bitmap {
        match self {
            Self::Or => true_bits(result).not(),
            Self::And => {
                let zeros = logic::pack_bits(result.as_bool()).not();
                let falses = match &result.validity {
                    Some(valid) => zeros.and(valid),
                    None => zeros,
                };
                falses.not()
            }
        }
    }
}

/// The conjunction or disjunction of `parts`. A part that can fail is evaluated only on rows that
/// the parts before left open.
pub(super) fn connect(parts: &[Node], batch: &Batch, logic: Logic) -> Result<Column> {
    let Some((first, rest)) = parts.split_first() else {
        let value = VectorData::Bool(vec![u8::from(logic == Logic::And)]);
        return Ok(column_of(Vector::new(value), batch.rows));
    };
    let mut result = operand(&first.evaluate(batch)?).into_owned();
    for part in rest {
        if !part.traits.fallible {
            let column = part.evaluate(batch)?;
            result = logic.combine(&result, &operand(&column));
            continue;
        }
        result = column_of(result, batch.rows).to_vector().into_owned();
        let open = logic.open(&result).ones();
        if open.len() == batch.rows {
            let column = part.evaluate(batch)?;
            result = logic.combine(&result, &operand(&column));
        } else if !open.is_empty() {
            let column = part.evaluate(&restrict(batch, &part.columns, &open))?;
            let combined = logic.combine(&result.gather(&open), &operand(&column));
            overwrite(&mut result, &open, &combined);
        }
    }
    Ok(column_of(result, batch.rows))
}

/// Rows `positions` of `target` become those of `source`, Bool both.
fn overwrite(target: &mut Vector, positions: &[u32], source: &Vector) {
    let rows = target.len();
    let mut valid = target.validity.take().unwrap_or_else(|| Bitmap::filled(rows, true));
    if let VectorData::Bool(values) = &mut target.data {
        for (i, &position) in positions.iter().enumerate() {
            values[position as usize] = source.as_bool()[i];
            valid.set(position as usize, !source.is_null(i));
        }
    }
    target.validity = (!valid.all()).then_some(valid);
}

/// Values for some rows of a batch.
struct Piece {
    rows: Vec<u32>,
    column: Column,
}

/// The column whose rows the pieces give, each row in exactly one.
fn assemble(mut pieces: Vec<Piece>, rows: usize, physical: PhysicalType) -> Column {
    pieces.retain(|p| !p.rows.is_empty());
    if let [only] = &pieces[..]
        && only.rows.len() == rows
    {
        return only.column.clone();
    }
    let mut values = VectorBuilder::with_capacity(physical, rows);
    let mut sources = vec![0u32; rows];
    for piece in &pieces {
        let start = values.len() as u32;
        match &piece.column {
            Column::Constant(vector, _) => {
                values.append(vector, Some(&[0]));
                piece.rows.iter().for_each(|&row| sources[row as usize] = start);
            }
            other => {
                values.append(&other.to_vector(), None);
                for (i, &row) in piece.rows.iter().enumerate() {
                    sources[row as usize] = start + i as u32;
                }
            }
        }
    }
    Column::plain(values.finish().gather(&sources))
}

fn all_rows(batch: &Batch) -> Vec<u32> {
    (0..batch.rows as u32).collect()
}

/// Evaluates `node` on `rows` of `batch`.
fn evaluate_at(node: &Node, batch: &Batch, rows: &[u32]) -> Result<Column> {
    if rows.len() == batch.rows {
        return node.evaluate(batch);
    }
    node.evaluate(&restrict(batch, &node.columns, rows))
}

/// The rows of `rows` that are not in `taken`, both ascending.
fn without(rows: &[u32], taken: &[u32]) -> Vec<u32> {
    let mut taken = taken.iter().peekable();
    let open = |row: &u32| taken.next_if(|t| *t == row).is_none();
    rows.iter().copied().filter(open).collect()
}

/// CASE.
pub(super) fn case(
    branches: &[(Node, Node)],
    otherwise: &Node,
    batch: &Batch,
    physical: PhysicalType,
) -> Result<Column> {
    if let [(condition, result)] = branches
        && !result.traits.fallible
        && !otherwise.traits.fallible
        && (result.is_leaf() && otherwise.is_leaf() || physical != PhysicalType::Str)
    {
        return choose(condition, result, otherwise, batch);
    }
    let mut open = all_rows(batch);
    let mut pieces = Vec::with_capacity(branches.len() + 1);
    for (condition, result) in branches {
        if open.is_empty() {
            break;
        }
        let mut rows = open.clone();
        condition.select(batch, &mut rows)?;
        if rows.is_empty() {
            continue;
        }
        open = without(&open, &rows);
        let column = evaluate_at(result, batch, &rows)?;
        pieces.push(Piece { rows, column });
    }
    if !open.is_empty() {
        let column = evaluate_at(otherwise, batch, &open)?;
        pieces.push(Piece { rows: open, column });
    }
    Ok(assemble(pieces, batch.rows, physical))
}

/// CASE with one branch, where evaluating both results on all rows does no harm.
fn choose(condition: &Node, result: &Node, otherwise: &Node, batch: &Batch) -> Result<Column> {
    let condition = condition.evaluate(batch)?;
    let (a, b) = (result.evaluate(batch)?, otherwise.evaluate(batch)?);
    match &condition {
        Column::Constant(vector, _) => {
            let is_true = vector.as_bool()[0] != 0 && !vector.is_null(0);
            return Ok(if is_true { a } else { b });
        }
        Column::Dictionary(codes, entries)
            if matches!((&a, &b), (Column::Constant(..), Column::Constant(..)))
                && entries.len() <= codes.len() =>
        {
            let chosen = blend::choose(&true_bytes(entries), &operand(&a), &operand(&b));
            return Ok(Column::Dictionary(std::sync::Arc::clone(codes), chosen.into()));
        }
        _ => {}
    }
    let condition = condition.to_vector();
    let mask = true_bytes(&condition);
    Ok(Column::plain(blend::choose(&mask, &operand(&a), &operand(&b))))
}

/// 1 where the row is true, 0 where it is false or NULL.
fn true_bytes(condition: &Vector) -> std::borrow::Cow<'_, [u8]> {
    match condition.validity {
        None => condition.as_bool().into(),
        Some(_) => logic::unpack_bits(&true_bits(condition)).into(),
    }
}

/// COALESCE: each part on the rows where those before are NULL.
pub(super) fn coalesce(parts: &[Node], batch: &Batch, physical: PhysicalType) -> Result<Column> {
    let mut open = all_rows(batch);
    let mut pieces = Vec::with_capacity(parts.len() + 1);
    for part in parts {
        if open.is_empty() {
            break;
        }
        let column = evaluate_at(part, batch, &open)?;
        let nulls = null_rows(&column);
        if nulls.is_empty() {
            pieces.push(Piece { rows: std::mem::take(&mut open), column });
            break;
        }
        let valid = without(&(0..open.len() as u32).collect::<Vec<_>>(), &nulls);
        let mut rows = open.clone();
        compose(&mut rows, &valid);
        compose(&mut open, &nulls);
        pieces.push(Piece { rows, column: column.gather(&valid) });
    }
    let rows = open.len();
    pieces.push(Piece { rows: open, column: column_of(null(physical), rows) });
    Ok(assemble(pieces, batch.rows, physical))
}

/// Rows of `column` that are NULL.
fn null_rows(column: &Column) -> Vec<u32> {
    match column {
        Column::Plain(v) => v.validity.as_ref().map_or_else(Vec::new, |v| v.not().ones()),
        Column::Constant(v, rows) if v.is_null(0) => (0..*rows as u32).collect(),
        Column::Constant(..) => Vec::new(),
        Column::Dictionary(_, v) if v.validity.is_none() => Vec::new(),
        Column::Dictionary(codes, v) => {
            (0..codes.len() as u32).filter(|&i| v.is_null(codes[i as usize] as usize)).collect()
        }
    }
}

/// GREATEST and LEAST: the best so far gives way when it compares so with the next, or is NULL.
pub(super) fn best(
    (replaced_when, ty): (CompareOp, DataType),
    parts: &[Node],
    batch: &Batch,
) -> Result<Column> {
    let mut best: Option<Vector> = None;
    for part in parts {
        let column = part.evaluate(batch)?;
        let next = column.to_vector();
        best = Some(match best {
            None => next.into_owned(),
            Some(old) => {
                let worse = if ty.has_wide() {
                    let (old, next) = (wide::key(&old, ty)?, wide::key(&next, ty)?);
                    true_bits(&compare(replaced_when, &old, &next))
                } else {
                    true_bits(&compare(replaced_when, &old, &next))
                };
                let replace = match &old.validity {
                    Some(valid) => worse.or(&valid.not()),
                    None => worse,
                };
                blend::choose(&logic::unpack_bits(&replace), &next, &old)
            }
        });
    }
    let best = best.ok_or_else(|| types::Error::internal("GREATEST without arguments"))?;
    Ok(Column::plain(best))
}
