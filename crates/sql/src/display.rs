//! Plans and expressions as text: an indented tree, and SQL-like expressions.
//!
//! ```text
//! Project #5 = (#1 + 1)
//!   Filter (#1 > 10)
//!     Scan t [#1 = a, #2 = b]
//! ```
//! [`Plan`] and [`Expr`] print columns as `#id`; [`expr_text`] prints whatever names its caller
//! has.

mod plan;
mod function;

use std::fmt::{self, Write};

use types::{DataType, Value};

use crate::algebra::{
    AggregateCall, AggregateFunction, ColumnId, Duplicates, Expr, ExprKind, FrameBound,
    FrameExclusion, FrameUnits, Function, LikeCase, Quantifier, SortKey, WindowCall, WindowFrame,
    WindowFunction,
};
use crate::algebra::{Direction, NullsOrder};

pub use function::{aggregate_name, function_name, window_name};

/// How columns are shown.
type Names<'a> = &'a dyn Fn(ColumnId) -> String;

/// `expr` as SQL-like text, columns called what `names` says; sub-queries are shown as
/// `(subquery)`.
pub fn expr_text(expr: &Expr, names: &dyn Fn(ColumnId) -> String) -> String {
    let mut out = String::new();
    write_expr(&mut out, expr, names);
    out
}

/// An aggregate call as text.
pub fn aggregate_text(call: &AggregateCall, names: &dyn Fn(ColumnId) -> String) -> String {
    let mut out = String::new();
    out.push_str(aggregate_name(call.function));
    out.push('(');
    if call.function == AggregateFunction::CountRows {
        out.push('*');
    }
    if call.duplicates == Duplicates::Remove {
        out.push_str("DISTINCT ");
    }
    write_list(&mut out, &call.arguments, names);
    if !call.order_by.is_empty() {
        if !call.arguments.is_empty() {
            out.push(' ');
        }
        out.push_str("ORDER BY ");
        out.push_str(&keys_text(&call.order_by, names));
    }
    out.push(')');
    write_filter(&mut out, call.filter.as_ref(), names);
    out
}

/// A window call as text.
pub fn window_text(call: &WindowCall, names: &dyn Fn(ColumnId) -> String) -> String {
    let mut out = String::new();
    out.push_str(window_name(call.function));
    out.push('(');
    if call.function == WindowFunction::Aggregate(AggregateFunction::CountRows) {
        out.push('*');
    }
    write_list(&mut out, &call.arguments, names);
    out.push(')');
    write_filter(&mut out, call.filter.as_ref(), names);
    out.push_str(" OVER (");
    let mut parts = Vec::new();
    if !call.partition_by.is_empty() {
        let mut list = String::from("PARTITION BY ");
        write_list(&mut list, &call.partition_by, names);
        parts.push(list);
    }
    if !call.order_by.is_empty() {
        parts.push(format!("ORDER BY {}", keys_text(&call.order_by, names)));
    }
    parts.push(frame_text(&call.frame, names));
    out.push_str(&parts.join(" "));
    out.push(')');
    out
}

/// Sort keys as text, comma-separated.
pub fn keys_text(keys: &[SortKey], names: &dyn Fn(ColumnId) -> String) -> String {
    let key = |key: &SortKey| {
        let mut out = expr_text(&key.expr, names);
        match (key.direction, key.nulls) {
            (Direction::Ascending, NullsOrder::Last) => {}
            (Direction::Ascending, NullsOrder::First) => out.push_str(" NULLS FIRST"),
            (Direction::Descending, NullsOrder::First) => out.push_str(" DESC"),
            (Direction::Descending, NullsOrder::Last) => out.push_str(" DESC NULLS LAST"),
        }
        out
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn frame_text(frame: &WindowFrame, names: Names<'_>) -> String {
    let units = match frame.units {
        FrameUnits::Rows => "ROWS",
        FrameUnits::Range => "RANGE",
        FrameUnits::Groups => "GROUPS",
    };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        FrameBound::Preceding(expr) => format!("{} PRECEDING", expr_text(expr, names)),
        FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        FrameBound::Following(expr) => format!("{} FOLLOWING", expr_text(expr, names)),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        FrameBound::Key(expr) => format!("KEY {}", expr_text(expr, names)),
    };
    let exclusion = match frame.exclusion {
        FrameExclusion::NoOthers => "",
        FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
        FrameExclusion::Group => " EXCLUDE GROUP",
        FrameExclusion::Ties => " EXCLUDE TIES",
    };
    format!("{units} BETWEEN {} AND {}{exclusion}", bound(&frame.start), bound(&frame.end))
}

fn write_filter(out: &mut String, filter: Option<&Expr>, names: Names<'_>) {
    if let Some(filter) = filter {
        out.push_str(" FILTER (WHERE ");
        write_expr(out, filter, names);
        out.push(')');
    }
}

fn write_list(out: &mut String, list: &[Expr], names: Names<'_>) {
    for (at, expr) in list.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write_expr(out, expr, names);
    }
}

fn write_joined(out: &mut String, list: &[Expr], separator: &str, names: Names<'_>) {
    out.push('(');
    for (at, expr) in list.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        write_expr(out, expr, names);
    }
    out.push(')');
}

fn write_expr(out: &mut String, expr: &Expr, names: Names<'_>) {
    types::stack::deep(|| write_expr_here(out, expr, names))
}

fn write_expr_here(out: &mut String, expr: &Expr, names: Names<'_>) {
    match &expr.kind {
        ExprKind::Column(id) => out.push_str(&names(*id)),
        ExprKind::Literal(value) => write_literal(out, value, expr.ty),
        // Writing to a String cannot fail.
        ExprKind::Parameter(number) => {
            let _ = write!(out, "${}", number + 1);
        }
        ExprKind::Call(function, arguments) => write_call(out, *function, arguments, names),
        ExprKind::Compare(op, left, right) => {
            out.push('(');
            write_expr(out, left, names);
            let _ = write!(out, " {} ", op.as_str());
            write_expr(out, right, names);
            out.push(')');
        }
        ExprKind::And(list) => write_joined(out, list, " AND ", names),
        ExprKind::Or(list) => write_joined(out, list, " OR ", names),
        ExprKind::Not(inner) => {
            out.push_str("NOT ");
            write_expr(out, inner, names);
        }
        ExprKind::IsNull(inner) => {
            out.push('(');
            write_expr(out, inner, names);
            out.push_str(" IS NULL)");
        }
        ExprKind::Case { branches, otherwise } => write_case(out, branches, otherwise, names),
        ExprKind::Cast(inner) => {
            write_expr(out, inner, names);
            let _ = write!(out, "::{}", TypeText(expr.ty));
        }
        ExprKind::InList(operand, list) => {
            out.push('(');
            write_expr(out, operand, names);
            out.push_str(" IN (");
            write_list(out, list, names);
            out.push_str("))");
        }
        ExprKind::Like { .. } => write_like(out, expr, names),
        ExprKind::ScalarSubquery(_) => out.push_str("(subquery)"),
        ExprKind::Exists(_) => out.push_str("EXISTS (subquery)"),
        ExprKind::Quantified { left, op, quantifier, .. } => {
            match left.as_slice() {
                [only] => write_expr(out, only, names),
                several => write_joined(out, several, ", ", names),
            }
            let quantifier = if *quantifier == Quantifier::Any { "ANY" } else { "ALL" };
            let _ = write!(out, " {} {quantifier} (subquery)", op.as_str());
        }
    }
}

fn write_case(out: &mut String, branches: &[(Expr, Expr)], otherwise: &Expr, names: Names<'_>) {
    out.push_str("CASE");
    for (condition, result) in branches {
        out.push_str(" WHEN ");
        write_expr(out, condition, names);
        out.push_str(" THEN ");
        write_expr(out, result, names);
    }
    out.push_str(" ELSE ");
    write_expr(out, otherwise, names);
    out.push_str(" END");
}

fn write_like(out: &mut String, expr: &Expr, names: Names<'_>) {
    let ExprKind::Like { operand, pattern, escape, case } = &expr.kind else {
        return;
    };
    out.push('(');
    write_expr(out, operand, names);
    out.push_str(if *case == LikeCase::Sensitive { " LIKE " } else { " ILIKE " });
    write_expr(out, pattern, names);
    match escape {
        Some('\\') => {}
        Some(escape) => {
            let _ = write!(out, " ESCAPE '{escape}'");
        }
        None => out.push_str(" ESCAPE ''"),
    }
    out.push(')');
}

fn write_call(out: &mut String, function: Function, arguments: &[Expr], names: Names<'_>) {
    match (function::infix(function), arguments) {
        (Some(operator), [left, right]) => {
            out.push('(');
            write_expr(out, left, names);
            let _ = write!(out, " {operator} ");
            write_expr(out, right, names);
            out.push(')');
        }
        _ => {
            out.push_str(function_name(function));
            out.push('(');
            write_list(out, arguments, names);
            out.push(')');
        }
    }
}

fn write_literal(out: &mut String, value: &Value, ty: DataType) {
    match (value, ty) {
        (Value::Null, _) => out.push_str("NULL"),
        (Value::Bool(value), _) => out.push_str(if *value { "true" } else { "false" }),
        (_, ty) if ty.is_number() => types::text::format_into(out, value, ty),
        (_, ty) => {
            // CHAR is shown without its padding.
            let shown = types::text::format(value, if ty.is_text() { DataType::Text } else { ty });
            out.push('\'');
            out.push_str(&shown.replace('\'', "''"));
            out.push('\'');
            if !ty.is_text() {
                let _ = write!(out, "::{}", TypeText(ty));
            }
        }
    }
}

/// A type as SQL writes it, with its modifiers.
struct TypeText(DataType);

impl fmt::Display for TypeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DataType::WideNumeric(_) => write!(f, "{}", self.0),
            DataType::Numeric(n) => write!(f, "numeric({},{})", n.precision, n.scale),
            DataType::Char(0) => f.write_str("bpchar"),
            DataType::Char(n) => write!(f, "char({n})"),
            DataType::Varchar(Some(n)) => write!(f, "varchar({n})"),
            DataType::Varchar(None) => f.write_str("varchar"),
            DataType::Timestamp(Some(digits)) => write!(f, "timestamp({digits})"),
            DataType::TimestampTz(Some(digits)) => write!(f, "timestamptz({digits})"),
            DataType::Timestamp(None) => f.write_str("timestamp"),
            DataType::TimestampTz(None) => f.write_str("timestamptz"),
            DataType::Time(Some(digits)) => write!(f, "time({digits})"),
            DataType::Time(None) => f.write_str("time"),
            DataType::Interval(_) => write!(f, "{}", self.0),
            DataType::Double => f.write_str("double"),
            other => f.write_str(other.name()),
        }
    }
}

/// The type as SQL writes it, with its modifiers: `numeric(15,2)`.
pub fn type_text(ty: DataType) -> String {
    TypeText(ty).to_string()
}

fn numbered(id: ColumnId) -> String {
    format!("#{}", id.0)
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&expr_text(self, &numbered))
    }
}
