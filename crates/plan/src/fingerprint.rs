//! Hashes of expressions: equal expressions have equal ones.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::DefaultHashBuilder;
use sql::algebra::{Expr, ExprKind};
use types::Value;

/// The hash of `expr`, whose operands have the hashes `operands`; sub-queries are told apart by
/// their kind only.
pub(crate) fn fingerprint(expr: &Expr, operands: &[u64]) -> u64 {
    // Built once per process, so that prints can be compared.
    static BUILDER: std::sync::OnceLock<DefaultHashBuilder> = std::sync::OnceLock::new();
    let mut hasher = BUILDER.get_or_init(DefaultHashBuilder::default).build_hasher();
    feed(expr, &mut hasher);
    operands.hash(&mut hasher);
    hasher.finish()
}

fn feed(expr: &Expr, hasher: &mut impl Hasher) {
    expr.ty.hash(hasher);
    std::mem::discriminant(&expr.kind).hash(hasher);
    match &expr.kind {
        ExprKind::Column(id) => id.hash(hasher),
        ExprKind::Literal(value) => feed_value(value, hasher),
        ExprKind::Parameter(number) => number.hash(hasher),
        ExprKind::Call(function, list) => {
            function.hash(hasher);
            list.len().hash(hasher);
        }
        ExprKind::Compare(op, ..) => op.hash(hasher),
        ExprKind::And(list) | ExprKind::Or(list) | ExprKind::InList(_, list) => {
            list.len().hash(hasher);
        }
        ExprKind::Case { branches, .. } => branches.len().hash(hasher),
        ExprKind::Like { escape, case, .. } => {
            escape.hash(hasher);
            case.hash(hasher);
        }
        _ => {}
    }
}

fn feed_value(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(v) => v.hash(hasher),
        Value::I32(v) => v.hash(hasher),
        Value::I64(v) => v.hash(hasher),
        Value::I128(v) => v.hash(hasher),
        Value::F64(v) => v.to_bits().hash(hasher),
        Value::Str(v) => v.hash(hasher),
        // As values are equal: not by its length.
        Value::Interval(v) => (v.months, v.days, v.micros).hash(hasher),
    }
}
