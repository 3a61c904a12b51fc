//! Expressions as SQL-like text with column names.

use std::fmt::Write;

use sql::algebra::{Direction, Duplicates, Function, LikeCase, NullsOrder, WindowFunction};
use types::wide::{self, Wide};
use types::{DataType, Value, text};

use crate::physical::{
    Aggregate, BoundKind, Expr, ExprKind, OutputColumn, ScanRestriction, ScanRestrictionKind,
    SortKey, Window,
};

/// Names of computed columns are cut after so many characters.
const NAME_CHARS: usize = 48;
/// Digits behind the point of a bound that stands for numbers of all scales.
const BOUND_DIGITS: u8 = 40;
/// Items of a list that are shown; longer lists are cut.
const LIST_ITEMS: usize = 8;

/// The expression as text over the columns of its input.
pub(crate) fn expr_text(expr: &Expr, columns: &[OutputColumn]) -> String {
    let mut out = String::new();
    write_expr(expr, columns, &mut out);
    out
}

/// The expression as the name of a column.
pub(crate) fn short_text(expr: &Expr, columns: &[OutputColumn]) -> String {
    let text = expr_text(expr, columns);
    match text.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Expressions, with commas between.
pub(crate) fn list_text(list: &[Expr], columns: &[OutputColumn]) -> String {
    let mut out = String::new();
    write_list(list, columns, usize::MAX, &mut out);
    out
}

fn write_list(list: &[Expr], columns: &[OutputColumn], most: usize, out: &mut String) {
    for (i, expr) in list.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        if i == most {
            let _ = write!(out, "... {} more", list.len() - most);
            return;
        }
        write_expr(expr, columns, out);
    }
}

fn write_expr(expr: &Expr, columns: &[OutputColumn], out: &mut String) {
    types::stack::deep(|| write_expr_here(expr, columns, out))
}

fn write_expr_here(expr: &Expr, columns: &[OutputColumn], out: &mut String) {
    match &expr.kind {
        ExprKind::Column(i) => match columns.get(*i) {
            Some(column) => out.push_str(&column.name),
            None => drop(write!(out, "#{i}")),
        },
        ExprKind::Literal(value) => write_value(value, expr.ty, out),
        ExprKind::Parameter(number) => drop(write!(out, "parameter {}", number + 1)),
        ExprKind::Failure(error) => out.push_str(error.message()),
        ExprKind::Scalar(index) => drop(write!(out, "${index}")),
        ExprKind::Call(function, arguments) | ExprKind::Sequence(_, function, arguments) => {
            write_call(*function, arguments, columns, out);
        }
        ExprKind::Compare(op, left, right) => {
            write_operand(left, columns, out);
            let _ = write!(out, " {} ", op.as_str().to_ascii_lowercase());
            match key_bound(left, right) {
                Some(number) => drop(write!(out, "{number}")),
                None => write_operand(right, columns, out),
            }
        }
        ExprKind::And(parts) => write_joined(parts, " and ", columns, out),
        ExprKind::Or(parts) => write_joined(parts, " or ", columns, out),
        ExprKind::Not(inner) => {
            out.push_str("not ");
            write_operand(inner, columns, out);
        }
        ExprKind::IsNull(inner) => {
            write_operand(inner, columns, out);
            out.push_str(" is null");
        }
        ExprKind::Case { branches, otherwise } => {
            out.push_str("case");
            for (condition, result) in branches {
                out.push_str(" when ");
                write_expr(condition, columns, out);
                out.push_str(" then ");
                write_expr(result, columns, out);
            }
            out.push_str(" else ");
            write_expr(otherwise, columns, out);
            out.push_str(" end");
        }
        ExprKind::Cast(inner) => {
            write_operand(inner, columns, out);
            let _ = write!(out, "::{}", type_name(expr.ty));
        }
        ExprKind::InList(operand, list) => {
            write_operand(operand, columns, out);
            out.push_str(" in (");
            write_list(list, columns, LIST_ITEMS, out);
            out.push(')');
        }
        ExprKind::Like { operand, pattern, case, .. } => {
            write_operand(operand, columns, out);
            out.push_str(match case {
                LikeCase::Sensitive => " like ",
                LikeCase::Insensitive => " ilike ",
            });
            write_operand(pattern, columns, out);
        }
    }
}

/// The number in bytes that decimals of any scale are compared with: the order of bytes is that of
/// the numbers, and the last ones stand for all scales.
fn key_bound(left: &Expr, right: &Expr) -> Option<String> {
    let ExprKind::Literal(Value::Str(bytes)) = &right.kind else { return None };
    let is_bound = matches!(left.ty, DataType::WideNumeric(_)) && right.ty == DataType::Bytea;
    is_bound.then(|| {
        let text = Wide::decode(&[wide::key(bytes), &[BOUND_DIGITS]].concat()).to_string();
        match text.split_once('.') {
            Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            None => text,
        }
    })
}

fn write_operand(expr: &Expr, columns: &[OutputColumn], out: &mut String) {
    let atom = match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Scalar(_)
        | ExprKind::Case { .. }
        | ExprKind::Cast(_) => true,
        ExprKind::Call(function, _) => symbol(*function).is_none(),
        _ => false,
    };
    if atom {
        return write_expr(expr, columns, out);
    }
    out.push('(');
    write_expr(expr, columns, out);
    out.push(')');
}

fn write_joined(parts: &[Expr], between: &str, columns: &[OutputColumn], out: &mut String) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(between);
        }
        write_operand(part, columns, out);
    }
}

fn write_call(function: Function, list: &[Expr], columns: &[OutputColumn], out: &mut String) {
    if let (Some(symbol), [left, right]) = (symbol(function), list) {
        write_operand(left, columns, out);
        let _ = write!(out, " {symbol} ");
        write_operand(right, columns, out);
        return;
    }
    if let (Function::Negate, [operand]) = (function, list) {
        out.push('-');
        return write_operand(operand, columns, out);
    }
    match function {
        Function::Json(json) => out.push_str(json.name()),
        Function::Packed(_) | Function::Routine(_) => {
            out.push_str(sql::display::function_name(function))
        }
        other => out.push_str(&function_name(other)),
    }
    out.push('(');
    write_list(list, columns, usize::MAX, out);
    out.push(')');
}

fn symbol(function: Function) -> Option<&'static str> {
    use Function as F;
    Some(match function {
        F::Add | F::DateAddDays | F::TimestampAdd | F::TimeAdd | F::IntervalAdd => "+",
        F::DateTimeAdd => "+",
        F::Subtract | F::DateSubtractDays | F::DateDifference | F::TimestampSubtract => "-",
        F::TimestampDifference | F::TimeSubtract | F::TimeDifference | F::IntervalSubtract => "-",
        F::Multiply | F::IntervalMultiply => "*",
        F::Divide | F::IntervalDivide => "/",
        F::Modulo => "%",
        F::ConcatOperator => "||",
        F::BitAnd => "&",
        F::BitOr => "|",
        F::BitXor => "#",
        F::ShiftLeft => "<<",
        F::ShiftRight => ">>",
        F::RegexpMatch => "~",
        F::RegexpMatchInsensitive => "~*",
        F::Packed(call) => {
            return Some(call.function().operator).filter(|symbol| !symbol.is_empty());
        }
        _ => return None,
    })
}

/// The name in lower case with underscores.
pub(crate) fn function_name(function: impl std::fmt::Debug) -> String {
    let debug = format!("{function:?}");
    let mut out = String::with_capacity(debug.len() + 4);
    for (i, c) in debug.chars().filter(|c| !matches!(c, '(' | ')')).enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn type_name(ty: DataType) -> String {
    match ty {
        DataType::Numeric(n) => format!("numeric({},{})", n.precision, n.scale),
        DataType::WideNumeric(_) => ty.to_string(),
        DataType::Char(0) => "bpchar".into(),
        DataType::Char(n) => format!("char({n})"),
        DataType::Varchar(Some(n)) => format!("varchar({n})"),
        DataType::Varchar(None) => "varchar".into(),
        DataType::Double => "double precision".into(),
        DataType::Packed(_) | DataType::Interval(_) => ty.to_string(),
        other => format!("{other:?}").to_ascii_lowercase(),
    }
}

fn write_value(value: &Value, ty: DataType, out: &mut String) {
    match (value, ty) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Bool(v), _) => drop(write!(out, "{v}")),
        (Value::F64(v), _) => drop(write!(out, "{v}")),
        (Value::Str(bytes), DataType::WideNumeric(_)) => {
            let _ = write!(out, "{}", Wide::decode(bytes));
        }
        (number, DataType::Numeric(n)) => write_decimal(number, n.scale, out),
        (value, ty) => match literal_name(ty) {
            Literal::Plain => drop(write!(out, "{}", text::format(value, ty))),
            Literal::Quoted => write_quoted(&text::format(value, ty), out),
            Literal::Typed(name) => {
                let _ = write!(out, "{name} ");
                write_quoted(&text::format(value, ty), out);
            }
        },
    }
}

/// How SQL writes a constant.
enum Literal {
    /// `1`
    Plain,
    /// `'a'`
    Quoted,
    /// `date '2024-02-29'`
    Typed(&'static str),
}

fn literal_name(ty: DataType) -> Literal {
    use DataType as D;
    match ty {
        D::SmallInt | D::Integer | D::BigInt | D::Oid | D::Xid | D::Real | D::Double => {
            Literal::Plain
        }
        D::Date => Literal::Typed("date"),
        D::Time(_) => Literal::Typed("time"),
        D::Timestamp(_) => Literal::Typed("timestamp"),
        D::TimestampTz(_) => Literal::Typed("timestamptz"),
        D::Interval(_) => Literal::Typed("interval"),
        D::Uuid => Literal::Typed("uuid"),
        D::Bytea => Literal::Typed("bytea"),
        D::Json => Literal::Typed("json"),
        D::Jsonb => Literal::Typed("jsonb"),
        D::JsonPath => Literal::Typed("jsonpath"),
        _ => Literal::Quoted,
    }
}

fn write_quoted(text: &str, out: &mut String) {
    let _ = write!(out, "'{}'", text.replace('\'', "''"));
}

fn write_decimal(number: &Value, scale: u8, out: &mut String) {
    let value = number.as_integer().unwrap_or(0);
    let digits = value.unsigned_abs().to_string();
    let scale = usize::from(scale);
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    let sign = if value < 0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    let _ = write!(out, "{sign}{whole}{point}{fraction}");
}

/// A restriction of a scan.
pub(crate) fn restriction_text(restriction: &ScanRestriction, columns: &[OutputColumn]) -> String {
    let column = columns.get(restriction.column);
    values_text(&restriction.kind, column.map_or("?", |column| &*column.name), column)
}

/// A condition on the column `name`.
pub(crate) fn values_text(
    kind: &ScanRestrictionKind,
    name: &str,
    column: Option<&OutputColumn>,
) -> String {
    match kind {
        ScanRestrictionKind::IsNull => format!("{name} is null"),
        ScanRestrictionKind::IsNotNull => format!("{name} is not null"),
        ScanRestrictionKind::Compare(op, e) => {
            format!("{name} {} {}", op.as_str().to_ascii_lowercase(), expr_text(e, &[]))
        }
        ScanRestrictionKind::Between { low, high } => {
            let sign = |kind| {
                if kind == BoundKind::Inclusive { "<=" } else { "<" }
            };
            let (a, b) = (expr_text(&low.0, &[]), expr_text(&high.0, &[]));
            format!("{a} {} {name} {} {b}", sign(low.1), sign(high.1))
        }
        ScanRestrictionKind::InList(list) => {
            let mut out = format!("{name} in (");
            write_list(list, &[], LIST_ITEMS, &mut out);
            out + ")"
        }
        ScanRestrictionKind::InArray(e) => format!("{name} = any ({})", expr_text(e, &[])),
        ScanRestrictionKind::Predicate(e) => {
            format!("({})", expr_text(e, column.map_or(&[], std::slice::from_ref)))
        }
    }
}

/// Sort keys.
pub(crate) fn sort_text(keys: &[SortKey], columns: &[OutputColumn]) -> String {
    let text = |key: &SortKey| {
        let mut out = expr_text(&key.expr, columns);
        match (key.direction, key.nulls) {
            (Direction::Ascending, NullsOrder::Last) => {}
            (Direction::Ascending, NullsOrder::First) => out.push_str(" nulls first"),
            (Direction::Descending, NullsOrder::First) => out.push_str(" desc"),
            (Direction::Descending, NullsOrder::Last) => out.push_str(" desc nulls last"),
        }
        out
    };
    keys.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// An aggregate.
pub(crate) fn aggregate_text(call: &Aggregate, columns: &[OutputColumn]) -> String {
    let mut out = function_name(call.function);
    if out == "count_rows" {
        out = "count".into();
    }
    out.push('(');
    if call.duplicates == Duplicates::Remove {
        out.push_str("distinct ");
    }
    if call.arguments.is_empty() {
        out.push('*');
    }
    out.push_str(&list_text(&call.arguments, columns));
    if !call.order_by.is_empty() {
        let _ = write!(out, " order by {}", sort_text(&call.order_by, columns));
    }
    out.push(')');
    if let Some(filter) = &call.filter {
        let _ = write!(out, " filter ({})", expr_text(filter, columns));
    }
    out
}

/// A window function.
pub(crate) fn window_text(call: &Window, columns: &[OutputColumn]) -> String {
    let name = match call.function {
        WindowFunction::Aggregate(function) => function_name(function),
        other => function_name(other),
    };
    let mut out = format!("{name}({}) over (", list_text(&call.arguments, columns));
    if !call.partition_by.is_empty() {
        let _ = write!(out, "partition by {}", list_text(&call.partition_by, columns));
    }
    if !call.order_by.is_empty() {
        let _ = write!(out, " order by {}", sort_text(&call.order_by, columns));
    }
    out.push(')');
    out
}
