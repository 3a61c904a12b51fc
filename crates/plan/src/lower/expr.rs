//! Expressions over ordinals, each with the physical type of its result.
//!
//! A NUMERIC is held in 64 bits when its proved range allows, whatever its declared precision.
//! Arithmetic takes operands as they are; other functions get NUMERIC arguments as declared.

use sql::algebra::{ColumnId, Expr as Logical, ExprKind as LogicalKind, Function};
use types::{DataType, Error, NumericType, PhysicalType, Result, Value};

use super::{Lowered, Lowering};
use crate::bounds;
use crate::physical::{Expr, ExprKind, OutputColumn};
use crate::properties::Properties;
use crate::range::{self, Range, value_as};

/// Columns that an expression may refer to: those of one input, or of both sides of a join.
pub(crate) struct Scope<'s> {
    sides: [Option<&'s Lowered>; 2],
}

impl<'s> Scope<'s> {
    /// Probe columns, then build columns.
    pub(crate) fn both(probe: &'s Lowered, build: &'s Lowered) -> Self {
        Self { sides: [Some(probe), Some(build)] }
    }

    /// No columns.
    pub(crate) fn none() -> Self {
        Self { sides: [None, None] }
    }

    fn find(&self, id: ColumnId) -> Option<(usize, &OutputColumn)> {
        let mut offset = 0;
        for side in self.sides.iter().flatten() {
            if let Some(i) = side.columns.iter().position(|column| *column == id) {
                return Some((offset + i, &side.node.output[i]));
            }
            offset += side.columns.len();
        }
        None
    }

    fn range(&self, expr: &Logical) -> Option<Range> {
        match self.sides {
            [None, _] => bounds::of(expr, &Properties::default()),
            [Some(side), None] => bounds::of(expr, &side.properties),
            [Some(probe), Some(build)] => {
                let columns = crate::tree::mentioned(expr);
                let mut both = Properties::default();
                for side in [probe, build] {
                    for id in columns.iter() {
                        if let Some(column) = side.properties.column(id) {
                            both.columns.insert(id, column.clone());
                        }
                    }
                }
                bounds::of(expr, &both)
            }
        }
    }
}

impl<'s> From<&'s Lowered> for Scope<'s> {
    fn from(input: &'s Lowered) -> Self {
        Self { sides: [Some(input), None] }
    }
}

/// Reference to a column.
pub(crate) fn column(ordinal: usize, column: &OutputColumn) -> Expr {
    Expr { kind: ExprKind::Column(ordinal), ty: column.ty, physical: column.physical }
}

/// The same value held as `physical`.
pub(crate) fn held_as(expr: Expr, physical: PhysicalType) -> Expr {
    if expr.physical == physical {
        return expr;
    }
    let ty = expr.ty;
    if let ExprKind::Literal(value) = &expr.kind {
        let converted = match value {
            Value::Null => Some(Value::Null),
            other => other.as_integer().and_then(|v| value_as(v, physical)),
        };
        if let Some(value) = converted {
            return Expr { kind: ExprKind::Literal(value), ty, physical };
        }
    }
    Expr { kind: ExprKind::Cast(Box::new(expr)), ty, physical }
}

/// The same value of type `ty`, held as `physical`.
pub(crate) fn converted(expr: Expr, ty: DataType, physical: PhysicalType) -> Expr {
    if range::scale(expr.ty) == range::scale(ty) && range::scale(ty).is_some() {
        let same = Expr { ty, ..expr };
        return held_as(same, physical);
    }
    if let (ExprKind::Literal(value), Some(from), Some(to)) =
        (&expr.kind, range::scale(expr.ty), range::scale(ty))
        && to >= from
        && let Some(number) = value.as_integer()
        && let Some(factor) = 10i128.checked_pow(u32::from(to - from))
        && let Some(value) = number.checked_mul(factor).and_then(|v| value_as(v, physical))
    {
        return Expr { kind: ExprKind::Literal(value), ty, physical };
    }
    Expr { kind: ExprKind::Cast(Box::new(expr)), ty, physical }
}

/// The wider of two physical types of one NUMERIC.
pub(crate) fn wider(a: PhysicalType, b: PhysicalType) -> PhysicalType {
    if a == PhysicalType::I128 || b == PhysicalType::I128 { PhysicalType::I128 } else { a }
}

fn arithmetic(function: Function) -> bool {
    use Function as F;
    matches!(function, F::Add | F::Subtract | F::Multiply | F::Divide | F::Modulo | F::Negate)
}

impl Lowering<'_, '_> {
    /// Lowers `expr` over `scope`.
    pub(crate) fn expr<'s>(&mut self, expr: &Logical, scope: impl Into<Scope<'s>>) -> Result<Expr> {
        self.expr_in(expr, &scope.into())
    }

    /// Lowers `expr` over `scope`.
    pub(crate) fn expr_in(&mut self, expr: &Logical, scope: &Scope<'_>) -> Result<Expr> {
        types::stack::deep(|| self.expr_in_here(expr, scope))
    }

    fn expr_in_here(&mut self, expr: &Logical, scope: &Scope<'_>) -> Result<Expr> {
        let ty = expr.ty;
        match &expr.kind {
            LogicalKind::Column(id) => {
                let found = scope.find(*id).map(|(ordinal, output)| column(ordinal, output));
                let found = found.ok_or_else(|| {
                    Error::internal(format!("column {} is not in the input of its reader", id.0))
                })?;
                Ok(found)
            }
            LogicalKind::Literal(value) => Ok(literal(value, ty)),
            LogicalKind::Parameter(number) => self.parameter(*number, ty),
            LogicalKind::Call(function, arguments) => self.call(expr, *function, arguments, scope),
            LogicalKind::Compare(op, left, right) => {
                let left = self.expr_in(left, scope)?;
                let right = self.expr_in(right, scope)?;
                let (left, right) = comparable(left, right);
                Ok(boolean(ExprKind::Compare(*op, Box::new(left), Box::new(right))))
            }
            LogicalKind::And(parts) => Ok(boolean(ExprKind::And(self.list(parts, scope)?))),
            LogicalKind::Or(parts) => Ok(boolean(ExprKind::Or(self.list(parts, scope)?))),
            LogicalKind::Not(inner) => {
                Ok(boolean(ExprKind::Not(Box::new(self.expr_in(inner, scope)?))))
            }
            LogicalKind::IsNull(inner) => {
                Ok(boolean(ExprKind::IsNull(Box::new(self.expr_in(inner, scope)?))))
            }
            LogicalKind::Case { branches, otherwise } => {
                self.case(expr, branches, otherwise, scope)
            }
            LogicalKind::Cast(inner) => {
                let physical = range::physical(ty, scope.range(expr));
                let inner = self.expr_in(inner, scope)?;
                let exact = matches!(ty, DataType::Numeric(_)) && range::scale(inner.ty).is_some();
                let physical = if exact { physical } else { ty.physical() };
                Ok(Expr { kind: ExprKind::Cast(Box::new(inner)), ty, physical })
            }
            LogicalKind::InList(operand, list) => {
                let operand = self.expr_in(operand, scope)?;
                let mut items = self.list(list, scope)?;
                let finest = items.iter().map(|e| e.ty).fold(operand.ty, finer);
                let mut physical = operand.physical;
                items.iter().for_each(|e| physical = wider(physical, e.physical));
                let fit = |e: Expr| match range::scale(e.ty) {
                    Some(_) if matches!(finest, DataType::Numeric(_)) => {
                        converted(e, finest, physical)
                    }
                    _ => e,
                };
                items = items.into_iter().map(fit).collect();
                Ok(boolean(ExprKind::InList(Box::new(fit(operand)), items)))
            }
            LogicalKind::Like { operand, pattern, escape, case } => {
                let operand = Box::new(self.expr_in(operand, scope)?);
                let pattern = Box::new(self.expr_in(pattern, scope)?);
                let (escape, case) = (*escape, *case);
                Ok(boolean(ExprKind::Like { operand, pattern, escape, case }))
            }
            LogicalKind::ScalarSubquery(_)
            | LogicalKind::Exists(_)
            | LogicalKind::Quantified { .. } => {
                Err(Error::internal("a sub-query that was not unnested"))
            }
        }
    }

    fn list(&mut self, list: &[Logical], scope: &Scope<'_>) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.expr_in(e, scope)).collect()
    }

    fn parameter(&mut self, number: u32, ty: DataType) -> Result<Expr> {
        let Some(index) = self.context.scalar_index(number) else {
            return Ok(Expr { kind: ExprKind::Parameter(number), ty, physical: ty.physical() });
        };
        let (prelude, physical) = self.scalar(index)?;
        Ok(Expr { kind: ExprKind::Scalar(prelude), ty, physical })
    }

    fn call(
        &mut self,
        whole: &Logical,
        function: Function,
        arguments: &[Logical],
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let ty = whole.ty;
        let numeric = matches!(ty, DataType::Numeric(_));
        let choice = matches!(
            function,
            Function::Coalesce | Function::NullIf | Function::Greatest | Function::Least
        );
        let mut list = self.list(arguments, scope)?;
        let mut physical = ty.physical();
        if choice {
            if numeric {
                physical = range::physical(ty, scope.range(whole));
                list.iter().for_each(|e| physical = wider(physical, e.physical));
                list = list.into_iter().map(|e| converted(e, ty, physical)).collect();
            }
        } else if arithmetic(function) {
            if numeric && !matches!(function, Function::Divide | Function::Modulo) {
                physical = range::physical(ty, scope.range(whole));
            }
        } else {
            list = list.into_iter().map(declared).collect();
        }
        let call = Expr { kind: ExprKind::Call(function, list), ty, physical };
        if function == Function::Extract {
            return Ok(held_as(call, range::physical(ty, scope.range(whole))));
        }
        Ok(call)
    }

    fn case(
        &mut self,
        whole: &Logical,
        branches: &[(Logical, Logical)],
        otherwise: &Logical,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let ty = whole.ty;
        let mut lowered = Vec::with_capacity(branches.len());
        for (condition, result) in branches {
            lowered.push((self.expr_in(condition, scope)?, self.expr_in(result, scope)?));
        }
        let mut otherwise = self.expr_in(otherwise, scope)?;
        let mut physical = ty.physical();
        if matches!(ty, DataType::Numeric(_)) {
            physical = range::physical(ty, scope.range(whole));
            let fit = |e: Expr| converted(e, ty, physical);
            lowered = lowered.into_iter().map(|(c, r)| (c, fit(r))).collect();
            otherwise = fit(otherwise);
        }
        let kind = ExprKind::Case { branches: lowered, otherwise: Box::new(otherwise) };
        Ok(Expr { kind, ty, physical })
    }
}

fn boolean(kind: ExprKind) -> Expr {
    Expr { kind, ty: DataType::Boolean, physical: PhysicalType::Bool }
}

fn literal(value: &Value, ty: DataType) -> Expr {
    let physical = match value.as_integer() {
        Some(number) => range::physical(ty, Range::new(number, number)),
        None => range::physical(ty, Range::new(0, 0)),
    };
    let fitted = value.as_integer().and_then(|number| value_as(number, physical));
    Expr { kind: ExprKind::Literal(fitted.unwrap_or_else(|| value.clone())), ty, physical }
}

/// A NUMERIC held as its declared type says.
fn declared(expr: Expr) -> Expr {
    match expr.ty {
        DataType::Numeric(_) => {
            let physical = expr.ty.physical();
            held_as(expr, physical)
        }
        _ => expr,
    }
}

/// The type with more digits after the point; for anything but NUMERIC the first.
fn finer(a: DataType, b: DataType) -> DataType {
    match (a, b) {
        (DataType::Numeric(x), DataType::Numeric(y)) if y.scale > x.scale => {
            let digits = (x.precision - x.scale).max(y.precision - y.scale);
            let precision = (digits + y.scale).min(NumericType::PRECISION_MAX);
            DataType::Numeric(NumericType { precision, ..y })
        }
        _ => a,
    }
}

/// Brings both operands to one scale.
pub(crate) fn comparable(left: Expr, right: Expr) -> (Expr, Expr) {
    let (DataType::Numeric(a), DataType::Numeric(b)) = (left.ty, right.ty) else {
        return (left, right);
    };
    if a.scale == b.scale {
        return (left, right);
    }
    let ty = if a.scale > b.scale { finer(right.ty, left.ty) } else { finer(left.ty, right.ty) };
    let fit = |e: Expr| {
        if range::scale(e.ty) == range::scale(ty) {
            return e;
        }
        let physical = match &e.kind {
            ExprKind::Literal(value) => {
                let number = value.as_integer().unwrap_or(0);
                let from = range::scale(e.ty).unwrap_or(0);
                let to = range::scale(ty).unwrap_or(0);
                let scaled = 10i128
                    .checked_pow(u32::from(to.saturating_sub(from)))
                    .and_then(|factor| number.checked_mul(factor));
                range::physical(ty, scaled.and_then(|v| Range::new(v, v)))
            }
            _ => ty.physical(),
        };
        converted(e, ty, physical)
    };
    (fit(left), fit(right))
}

/// Brings both join keys to one scale and one physical type.
pub(crate) fn unified(left: Expr, right: Expr) -> (Expr, Expr) {
    let (left, right) = comparable(left, right);
    if !matches!(left.ty, DataType::Numeric(_)) {
        return (left, right);
    }
    let physical = wider(left.physical, right.physical);
    (held_as(left, physical), held_as(right, physical))
}

/// Stands in while an expression is moved.
pub(crate) fn placeholder() -> Expr {
    boolean(ExprKind::Literal(Value::Null))
}
