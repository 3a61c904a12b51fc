//! Scans: conjuncts that the storage evaluates on stored values, and those left over.

use sql::algebra::{ColumnId, Expr as Logical, ExprKind as LogicalKind, Function, Plan};
use sql::catalog::TID_COLUMN;
use types::{CompareOp, DataType, Result};

use super::expr::Scope;
use super::{Lowered, Lowering};
use crate::cardinality::{self, ARRAY_ELEMENTS};
use crate::column_set::ColumnSet;
use crate::fold::{fold, nearest, widens};
use crate::physical::{
    BoundKind, Expr, ExprKind, FunctionOffer, Operator, OutputColumn, ScanRestriction,
    ScanRestrictionKind, ScanRows,
};
use crate::push_down::nulls;
use crate::tree;

impl Lowering<'_, '_> {
    /// Lowers a table scan under a predicate.
    pub(crate) fn scan(
        &mut self,
        plan: &Plan,
        predicate: Option<&Logical>,
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        let Plan::Scan { table, columns, alias } = plan else {
            return Err(types::Error::internal("a scan of something that is no table"));
        };
        let mut read = needed.clone();
        predicate.iter().for_each(|e| tree::mention(e, &mut read));
        let kept: Vec<(ColumnId, usize)> =
            columns.iter().filter(|(id, _)| read.contains(*id)).copied().collect();
        let narrow =
            Plan::Scan { table: table.clone(), columns: columns.clone(), alias: alias.clone() };
        let estimator = &mut *self.estimator;
        let mut properties = cardinality::derive(self.context, estimator, &narrow, Vec::new());
        let mut output = Vec::with_capacity(kept.len());
        for &(id, ordinal) in &kept {
            let (name, ty) = match table.columns().get(ordinal) {
                Some(definition) => (definition.name.as_str(), definition.ty),
                None => ("tid", DataType::BigInt),
            };
            let name: std::sync::Arc<str> = name.into();
            self.names.entry(id).or_insert_with(|| name.clone());
            output.push(OutputColumn { name, ty, physical: ty.physical() });
        }
        let operator = Operator::Scan {
            table: table.clone(),
            columns: kept.iter().map(|(_, ordinal)| *ordinal).collect(),
            restrictions: Vec::new(),
            residual: None,
            rows: ScanRows::All,
            alias: alias.clone(),
        };
        let rows = properties.rows;
        let ids = kept.iter().map(|(id, _)| *id).collect();
        let node = self.node(operator, output, rows);
        let mut lowered = Lowered { node, columns: ids, properties: Default::default() };
        let mut rest = Vec::new();
        if let Some(predicate) = predicate {
            lowered.properties = properties.clone();
            let found;
            (found, rest) = self.restrictions(predicate, &lowered)?;
            let residual = (!rest.is_empty()).then(|| tree::and_all(rest.clone()));
            let residual = residual.map(|rest| self.expr(&rest, &lowered)).transpose()?;
            if let Operator::Scan { restrictions, residual: slot, .. } = &mut lowered.node.operator
            {
                *restrictions = found;
                *slot = residual;
            }
            properties =
                cardinality::filtered(self.context, self.estimator, &narrow, predicate, properties);
        }
        lowered.node.rows = properties.rows;
        lowered.properties = properties;
        match predicate {
            Some(predicate) => self.index_scan(lowered, &narrow, predicate, &rest),
            None => Ok(lowered),
        }
    }

    /// The conjuncts that are restrictions of one column, and the rest.
    fn restrictions(
        &mut self,
        predicate: &Logical,
        scan: &Lowered,
    ) -> Result<(Vec<ScanRestriction>, Vec<Logical>)> {
        let (mut found, mut rest) = (Vec::new(), Vec::new());
        for part in tree::conjuncts(predicate.clone()) {
            match self.restriction(&part, scan)? {
                Some(restriction) => found.push(restriction),
                None => rest.push(part),
            }
        }
        merge_ranges(&mut found);
        found.sort_by_key(|restriction| cost(&restriction.kind));
        rest.sort_by_key(expr_cost);
        Ok((found, rest))
    }

    /// Tells a table function, which has these columns, which rows nobody needs: `predicate` is
    /// tested above it.
    pub(crate) fn restrict_function(
        &mut self,
        scan: &mut Lowered,
        columns: &[(ColumnId, usize)],
        predicate: &Logical,
    ) -> Result<()> {
        let (mut found, _) = self.restrictions(predicate, scan)?;
        found.retain(|restriction| !matches!(restriction.kind, ScanRestrictionKind::Predicate(_)));
        let Operator::FunctionScan { function, restrictions, offers, .. } = &mut scan.node.operator
        else {
            return Ok(());
        };
        *restrictions = found;
        let (conjuncts, mut offered) = (tree::conjuncts(predicate.clone()), Vec::new());
        for (index, known) in function.0.indexes().iter().enumerate() {
            if let Some(offer) = self.offer_of(&known.terms, columns, &conjuncts)? {
                offered.push(FunctionOffer { index, restrictions: offer.restrictions });
            }
        }
        *offers = offered;
        Ok(())
    }

    pub(super) fn restriction(
        &mut self,
        part: &Logical,
        scan: &Lowered,
    ) -> Result<Option<ScanRestriction>> {
        let columns = tree::mentioned(part);
        if columns.len() != 1 || tree::is_volatile(part) {
            return Ok(None);
        }
        let Some(id) = columns.iter().next() else {
            return Ok(None);
        };
        let (column, output) = scan.find(id)?;
        if let Operator::Scan { columns, .. } = &scan.node.operator
            && columns[column] == TID_COLUMN
        {
            // It is no stored column.
            return Ok(None);
        }
        let ty = output.ty;
        if let Some(kind) = self.direct(part, ty)? {
            return Ok(Some(ScanRestriction { column, kind }));
        }
        let nullable = scan.properties.column(id).is_none_or(|c| c.nullable);
        if nullable && !nulls::rejects(part, &columns) {
            return Ok(None);
        }
        let mut expr = self.expr(part, scan)?;
        move_columns(&mut expr, &|_| 0);
        Ok(Some(ScanRestriction { column, kind: ScanRestrictionKind::Predicate(expr) }))
    }

    /// A restriction of one of the simple kinds.
    pub(super) fn direct(
        &mut self,
        part: &Logical,
        ty: DataType,
    ) -> Result<Option<ScanRestrictionKind>> {
        let none = Scope::none();
        let is_column = |e: &Logical| tree::as_column(e).is_some();
        match &part.kind {
            LogicalKind::IsNull(operand) if is_column(operand) => {
                Ok(Some(ScanRestrictionKind::IsNull))
            }
            LogicalKind::Not(inner) => match &inner.kind {
                LogicalKind::IsNull(operand) if is_column(operand) => {
                    Ok(Some(ScanRestrictionKind::IsNotNull))
                }
                _ => Ok(None),
            },
            LogicalKind::Compare(op, left, right) => {
                let (op, operand, constant) = if tree::is_constant(right) {
                    (*op, left, right)
                } else {
                    (op.exchanged(), right, left)
                };
                if !tree::is_constant(constant) {
                    return Ok(None);
                }
                let compared = fitted(op, operand, (**constant).clone(), ty);
                let Some((op, mut constant)) = compared else { return Ok(None) };
                fold(self.context.statistics, &mut constant);
                let constant = self.expr_in(&constant, &none)?;
                Ok(of_column_type(constant, ty).map(|c| ScanRestrictionKind::Compare(op, c)))
            }
            LogicalKind::InList(operand, list) => {
                let mut items = Vec::with_capacity(list.len());
                for item in list {
                    let equal = Some(item).filter(|item| tree::is_constant(item));
                    let equal =
                        equal.and_then(|e| fitted(CompareOp::Equal, operand, e.clone(), ty));
                    let Some((_, mut item)) = equal else { return Ok(None) };
                    fold(self.context.statistics, &mut item);
                    let item = self.expr_in(&item, &none)?;
                    let Some(item) = of_column_type(item, ty) else {
                        return Ok(None);
                    };
                    items.push(item);
                }
                Ok(Some(ScanRestrictionKind::InList(items)))
            }
            LogicalKind::Call(Function::AnyElement(CompareOp::Equal), list) => {
                let [operand, array] = list.as_slice() else {
                    return Ok(None);
                };
                // The planner makes lists of arrays that it knows.
                let array = uncast_array(array);
                if !simple_constant(array) || !takes_elements(operand, array.ty, ty) {
                    return Ok(None);
                }
                Ok(Some(ScanRestrictionKind::InArray(self.expr_in(array, &none)?)))
            }
            _ => Ok(None),
        }
    }
}

/// `operand op constant` as a comparison of the column of type `ty` that `operand` is, or is made
/// of, with a constant that is held as the column is; None when the two do not decide alike.
pub(crate) fn fitted(
    op: CompareOp,
    operand: &Logical,
    constant: Logical,
    ty: DataType,
) -> Option<(CompareOp, Logical)> {
    if matches!(op, CompareOp::Distinct | CompareOp::NotDistinct) {
        return None;
    }
    let is_same = match &operand.kind {
        LogicalKind::Column(_) => true,
        LogicalKind::Cast(inner) if tree::as_column(inner).is_some() => {
            if !keeps_order(ty, operand.ty) {
                return None;
            }
            same_values(operand.ty, ty)
        }
        _ => return None,
    };
    if is_same && same_values(constant.ty, ty) && fits(&constant, ty) {
        return Some((op, constant));
    }
    if op == CompareOp::NotEqual || !types::has_nearest(op, constant.ty, ty) {
        return None;
    }
    Some(nearest(op, constant, ty))
}

/// True when a constant of the column's values is held as the column is, too.
fn fits(constant: &Logical, ty: DataType) -> bool {
    let held = |ty: DataType| ty.physical();
    held(constant.ty) == held(ty) || matches!(constant.kind, LogicalKind::Literal(_))
}

/// True when values of `from` are compared as values of `to` as they are as their own.
fn keeps_order(from: DataType, to: DataType) -> bool {
    let exact = match from {
        DataType::SmallInt | DataType::Integer => to == DataType::Double,
        DataType::Real => to == DataType::Double,
        _ => false,
    };
    exact || widens(from, to)
}

/// True when a column of type `ty`, which `operand` is or widens, is compared with the elements of
/// an array of type `array` by the values that it holds.
fn takes_elements(operand: &Logical, array: DataType, ty: DataType) -> bool {
    let Some(element) = array.element() else {
        return false;
    };
    match &operand.kind {
        LogicalKind::Column(_) if ty.is_integer() => element.is_integer(),
        LogicalKind::Column(_) => same_values(element, ty),
        LogicalKind::Cast(inner) => {
            tree::as_column(inner).is_some()
                && ty.is_integer()
                && operand.ty.is_integer()
                && element.is_integer()
        }
        _ => false,
    }
}

/// An array of integers before it was made one of other integers: a column of integers is compared
/// with any of them.
fn uncast_array(array: &Logical) -> &Logical {
    let integers = |ty: DataType| ty.element().is_some_and(DataType::is_integer);
    match &array.kind {
        LogicalKind::Cast(inner) if integers(array.ty) && integers(inner.ty) => uncast_array(inner),
        _ => array,
    }
}

fn simple_constant(expr: &Logical) -> bool {
    matches!(expr.kind, LogicalKind::Literal(_) | LogicalKind::Parameter(_))
}

/// True when values of both types compare as stored.
pub(crate) fn same_values(a: DataType, b: DataType) -> bool {
    match (a, b) {
        (DataType::Char(1..), DataType::Char(1..)) => true,
        (DataType::Char(_), _) | (_, DataType::Char(_)) => false,
        (a, b) if a.is_text() && b.is_text() => true,
        (DataType::Numeric(x), DataType::Numeric(y)) => x.scale == y.scale,
        (a, b) => a.of_all_digits() == b.of_all_digits(),
    }
}

/// The constant held as the column is; None when it may not fit.
pub(super) fn of_column_type(constant: Expr, ty: DataType) -> Option<Expr> {
    let constant = Expr { ty, ..constant };
    if constant.physical == ty.physical() {
        return Some(constant);
    }
    let narrowed = super::expr::held_as(constant, ty.physical());
    matches!(narrowed.kind, ExprKind::Literal(_)).then_some(narrowed)
}

/// Gives every column the ordinal that `moved` makes of its own.
pub(super) fn move_columns(expr: &mut Expr, moved: &dyn Fn(usize) -> usize) {
    let each = |expr: &mut Expr| move_columns(expr, moved);
    match &mut expr.kind {
        ExprKind::Column(i) => *i = moved(*i),
        ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Scalar(_)
        | ExprKind::Failure(_) => {}
        ExprKind::Call(_, list)
        | ExprKind::Sequence(_, _, list)
        | ExprKind::And(list)
        | ExprKind::Or(list) => {
            list.iter_mut().for_each(each);
        }
        ExprKind::Compare(_, a, b) => {
            each(a);
            each(b);
        }
        ExprKind::Not(e) | ExprKind::IsNull(e) | ExprKind::Cast(e) => each(e),
        ExprKind::Case { branches, otherwise } => {
            for (condition, result) in branches {
                each(condition);
                each(result);
            }
            each(otherwise);
        }
        ExprKind::InList(operand, list) => {
            each(operand);
            list.iter_mut().for_each(each);
        }
        ExprKind::Like { operand, pattern, .. } => {
            each(operand);
            each(pattern);
        }
    }
}

/// Turns a lower and an upper bound of one column into one range.
pub(super) fn merge_ranges(found: &mut Vec<ScanRestriction>) {
    let is_low = |op: &CompareOp| matches!(op, CompareOp::Greater | CompareOp::GreaterEqual);
    let is_high = |op: &CompareOp| matches!(op, CompareOp::Less | CompareOp::LessEqual);
    let mut i = 0;
    while i < found.len() {
        let column = found[i].column;
        let low = match &found[i].kind {
            ScanRestrictionKind::Compare(op, bound) if is_low(op) => (bound.clone(), kind(*op)),
            _ => {
                i += 1;
                continue;
            }
        };
        let partner = found.iter().position(|other| {
            other.column == column
                && matches!(&other.kind, ScanRestrictionKind::Compare(op, _) if is_high(op))
        });
        let Some(partner) = partner else {
            i += 1;
            continue;
        };
        if let ScanRestrictionKind::Compare(op, bound) = &found[partner].kind {
            let high = (bound.clone(), kind(*op));
            found[i].kind = ScanRestrictionKind::Between { low, high };
            found.remove(partner);
            i = 0;
        }
    }
}

fn kind(op: CompareOp) -> BoundKind {
    match op {
        CompareOp::GreaterEqual | CompareOp::LessEqual => BoundKind::Inclusive,
        _ => BoundKind::Exclusive,
    }
}

/// Cheap and selective restrictions come first.
fn cost(kind: &ScanRestrictionKind) -> u32 {
    match kind {
        ScanRestrictionKind::Compare(CompareOp::Equal, _) => 0,
        ScanRestrictionKind::Between { .. } => 1,
        ScanRestrictionKind::InList(list) => 2 + list.len().min(1000) as u32,
        ScanRestrictionKind::InArray(_) => 2 + ARRAY_ELEMENTS as u32,
        ScanRestrictionKind::Compare(..) => 1500,
        ScanRestrictionKind::IsNull | ScanRestrictionKind::IsNotNull => 1600,
        ScanRestrictionKind::Predicate(_) => 2000,
    }
}

fn expr_cost(expr: &Logical) -> u32 {
    let mut total = match expr.kind {
        LogicalKind::Column(_) | LogicalKind::Literal(_) => 0,
        LogicalKind::Like { .. } => 50,
        _ => 1,
    };
    tree::operands(expr, &mut |operand| total += expr_cost(operand));
    total
}
