//! Expressions to nodes: kernels chosen, patterns and sets made, constants folded.

use kernels::like::{Case, LikePattern, like_vectors};
use kernels::{Batch, Vector, VectorData, cast};
use plan::physical::{Expr, ExprKind};
use sql::algebra::{Function, LikeCase};
use types::{CompareOp, DataType, ElementType, Error, NumericType, PhysicalType, Result, Value};

use super::membership::Members;
use super::node::{Node, NodeKind, Traits};
use super::{functions, sequence};

/// Raises errors.
const FALLIBLE: Traits = Traits { fallible: true, volatile: false };

fn boxed(expr: &Expr) -> Result<Box<Node>> {
    compile(expr).map(Box::new)
}

fn all(exprs: &[Expr]) -> Result<Vec<Node>> {
    exprs.iter().map(compile).collect()
}

/// The node of `expr`, folded when it has no columns.
pub(super) fn compile(expr: &Expr) -> Result<Node> {
    types::stack::deep(|| compile_here(expr))
}

fn compile_here(expr: &Expr) -> Result<Node> {
    let node = match &expr.kind {
        ExprKind::Literal(value) => return literal(value, expr.physical),
        ExprKind::Column(column) => {
            return Ok(Node::new(NodeKind::Column(*column), expr.physical, Traits::NONE));
        }
        ExprKind::Parameter(_) | ExprKind::Scalar(_) => {
            return Err(Error::internal("parameters are literals when an expression is compiled"));
        }
        ExprKind::Call(function, arguments) => match array_members(*function, arguments)? {
            Some(node) => node,
            None => call(*function, arguments, expr)?,
        },
        ExprKind::Compare(op, a, b) => {
            let kind = NodeKind::Compare(*op, boxed(a)?, boxed(b)?);
            Node::new(kind, PhysicalType::Bool, Traits::NONE)
        }
        ExprKind::And(parts) => logical(NodeKind::And(all(parts)?)),
        ExprKind::Or(parts) => logical(NodeKind::Or(all(parts)?)),
        ExprKind::Not(inner) => logical(NodeKind::Not(boxed(inner)?)),
        ExprKind::IsNull(inner) => logical(NodeKind::IsNull(boxed(inner)?)),
        ExprKind::Case { branches, otherwise } => {
            let branch = |(c, r): &(Expr, Expr)| Ok((compile(c)?, compile(r)?));
            let branches = branches.iter().map(branch).collect::<Result<_>>()?;
            let kind = NodeKind::Case { branches, otherwise: boxed(otherwise)? };
            Node::new(kind, expr.physical, Traits::NONE)
        }
        ExprKind::Failure(error) => {
            let error = error.clone();
            let kernel: super::node::Kernel = Box::new(move |_, _| Err(error.clone()));
            let kind = NodeKind::Call(kernel, Vec::new());
            return Ok(Node::new(kind, expr.physical, FALLIBLE));
        }
        ExprKind::Sequence(sequences, function, arguments) => {
            let kernel = sequence::kernel(sequences, *function, (expr.ty, expr.physical));
            let kind = NodeKind::Call(kernel, all(arguments)?);
            Node::new(kind, expr.physical, sequence::TRAITS)
        }
        ExprKind::Cast(inner) => convert(inner, expr)?,
        ExprKind::InList(operand, list) => membership(operand, list)?,
        ExprKind::Like { operand, pattern, escape, case } => {
            like(operand, pattern, *escape, *case)?
        }
    };
    Ok(folded(node))
}

/// A node without columns as the constant it is; left alone when its evaluation raises an error,
/// which then waits for a row that needs it.
fn folded(node: Node) -> Node {
    if !node.columns.is_empty() || node.traits.volatile {
        return node;
    }
    match node.evaluate(&Batch::new(Vec::new(), 1)) {
        Ok(column) => Node::constant(column.to_vector().slice(0, 1)),
        Err(_) => node,
    }
}

fn logical(kind: NodeKind) -> Node {
    Node::new(kind, PhysicalType::Bool, Traits::NONE)
}

/// A literal in the form that its expression has; the planner may have left an integer narrower.
fn literal(value: &Value, physical: PhysicalType) -> Result<Node> {
    let value = match (value, value.as_integer(), physical) {
        (_, Some(v), PhysicalType::I32) => i32::try_from(v).map(Value::I32).ok(),
        (_, Some(v), PhysicalType::I64) => i64::try_from(v).map(Value::I64).ok(),
        (_, Some(v), PhysicalType::I128) => Some(Value::I128(v)),
        (value, _, _) => {
            let fits = matches!(
                (value, physical),
                (Value::Null, _)
                    | (Value::Bool(_), PhysicalType::Bool)
                    | (Value::F64(_), PhysicalType::F64)
                    | (Value::Str(_), PhysicalType::Str)
                    | (Value::Interval(_), PhysicalType::Interval)
            );
            fits.then(|| value.clone())
        }
    };
    let value =
        value.ok_or_else(|| Error::internal("a literal of another type than its column"))?;
    Ok(Node::constant(Vector::repeat(physical, &value, 1)))
}

fn call(function: Function, arguments: &[Expr], expr: &Expr) -> Result<Node> {
    let physical = expr.physical;
    match function {
        Function::Coalesce => {
            Ok(Node::new(NodeKind::Coalesce(all(arguments)?), physical, Traits::NONE))
        }
        Function::Greatest | Function::Least => {
            let replaced_when = match function {
                Function::Greatest => CompareOp::Less,
                _ => CompareOp::Greater,
            };
            let kind = NodeKind::Best((replaced_when, expr.ty), all(arguments)?);
            Ok(Node::new(kind, physical, Traits::NONE))
        }
        Function::NullIf => {
            let [a, b] = arguments else {
                return Err(Error::internal("NULLIF has two arguments"));
            };
            Ok(Node::new(NodeKind::NullIf(boxed(a)?, boxed(b)?), physical, Traits::NONE))
        }
        _ => {
            let (kernel, traits) = functions::kernel(function, arguments, expr.ty, physical)?;
            // A field name or a number of digits is in the kernel, not among its arguments.
            let arguments = functions::evaluated(function, arguments);
            Ok(Node::new(NodeKind::Call(kernel, all(arguments)?), physical, traits))
        }
    }
}

/// True for a conversion that leaves values as they are held.
fn is_relabelling(from: DataType, to: DataType) -> bool {
    let scale = |ty| match ty {
        DataType::Numeric(n @ NumericType { precision, scale, .. }) if !n.is_trimmed() => {
            Some((precision, scale))
        }
        _ => None,
    };
    match (from, to) {
        (a, b) if a == b => true,
        (DataType::SmallInt, DataType::Integer) | (DataType::Real, DataType::Double) => true,
        // Text has no blanks that a CHAR may have at its end.
        (DataType::Char(0), _) => false,
        (from, DataType::Text | DataType::Varchar(None)) if from.is_text() => true,
        (DataType::Oid | DataType::Xid, DataType::BigInt)
        | (DataType::Xid, DataType::Oid)
        | (DataType::WideNumeric(_), DataType::WideNumeric(None)) => true,
        (DataType::Array(from), DataType::Array(to)) => {
            let limited = matches!(to, ElementType::Char(_) | ElementType::Varchar(Some(_)))
                || matches!(to, ElementType::Name | ElementType::InternalChar);
            let unlimited = !limited && !to.data_type().rounds_time();
            let widened = from == ElementType::SmallInt && to == ElementType::Integer;
            widened || (unlimited && types::same_array_form(from, to))
        }
        _ => match (scale(from), scale(to)) {
            (Some((p, s)), Some((q, t))) => s == t && p <= q,
            _ => false,
        },
    }
}

/// True for a conversion that never raises an error.
fn is_total(from: DataType, to: DataType) -> bool {
    is_relabelling(from, to)
        || matches!(
            (from, to),
            (DataType::SmallInt | DataType::Integer, DataType::BigInt | DataType::Double)
                | (DataType::BigInt, DataType::Tid)
                | (DataType::Integer, DataType::Xid)
                | (DataType::BigInt | DataType::Numeric(_), DataType::Double)
        )
        || (from != DataType::Unknown && matches!(to, DataType::Text | DataType::Varchar(None)))
}

fn convert(inner: &Expr, expr: &Expr) -> Result<Node> {
    let (from, to, physical) = (inner.ty, expr.ty, expr.physical);
    let node = compile(inner)?;
    if is_relabelling(from, to) && inner.physical == physical {
        return Ok(node);
    }
    let kernel = move |arguments: &[&Vector], _| cast::cast_as(arguments[0], from, to, physical);
    let traits = Traits { fallible: !is_total(from, to), volatile: false };
    Ok(Node::new(NodeKind::Call(Box::new(kernel), vec![node]), physical, traits))
}

/// IN: a set when the list is of constants, else comparisons.
fn membership(operand: &Expr, list: &[Expr]) -> Result<Node> {
    let constants: Option<Vec<Node>> =
        all(list)?.into_iter().map(|node| node.as_constant().is_some().then_some(node)).collect();
    let node = compile(operand)?;
    if let Some(constants) = constants {
        let vectors = constants.iter().filter_map(Node::as_constant).map(|v| &**v);
        if let Some(members) = Members::new(node.physical, vectors) {
            let kind = NodeKind::Member(Box::new(node), members);
            return Ok(Node::new(kind, PhysicalType::Bool, Traits::NONE));
        }
    }
    let equal = |item: &Expr| {
        let kind = NodeKind::Compare(CompareOp::Equal, boxed(operand)?, boxed(item)?);
        Ok(Node::new(kind, PhysicalType::Bool, Traits::NONE))
    };
    let parts = list.iter().map(equal).collect::<Result<Vec<_>>>()?;
    Ok(logical(NodeKind::Or(parts)))
}

/// `x = ANY (array)` over a constant array: a set of its elements. None for other calls.
fn array_members(function: Function, arguments: &[Expr]) -> Result<Option<Node>> {
    let (Function::AnyElement(CompareOp::Equal), [operand, array]) = (function, arguments) else {
        return Ok(None);
    };
    let constant = compile(array)?;
    let Some(constant) = constant.as_constant() else {
        return Ok(None);
    };
    let node = compile(operand)?;
    let Some(values) = array_values(&constant.value(0), array.ty, node.physical) else {
        return Ok(None);
    };
    if values.is_empty() {
        if !matches!(&constant.value(0), Value::Str(bytes) if is_empty(bytes, array.ty)) {
            // Elements that the operand cannot be equal to: it may be NULL.
            return Ok(None);
        }
        // No element could be equal, whatever is compared with it.
        return Ok(Some(Node::constant(Vector::new(VectorData::Bool(vec![0])))));
    }
    let vectors: Vec<Vector> =
        values.iter().map(|value| Vector::repeat(node.physical, value, 1)).collect();
    Ok(Members::new(node.physical, vectors.iter()).map(|members| {
        let kind = NodeKind::Member(Box::new(node), members);
        Node::new(kind, PhysicalType::Bool, Traits::NONE)
    }))
}

/// The elements of a constant array of type `ty` as a column held as `physical` has them, NULLs
/// included; what it cannot hold is left out. None for NULL.
pub(crate) fn array_values(
    array: &Value,
    ty: DataType,
    physical: PhysicalType,
) -> Option<Vec<Value>> {
    let (Value::Str(bytes), DataType::Array(element)) = (array, ty) else {
        return None;
    };
    let held = |value: Value| match (value.as_integer(), physical) {
        (Some(v), PhysicalType::I32) => i32::try_from(v).map(Value::I32).ok(),
        (Some(v), PhysicalType::I64) => i64::try_from(v).map(Value::I64).ok(),
        (Some(v), PhysicalType::I128) => Some(Value::I128(v)),
        _ => Some(value),
    };
    Some(types::array::values(bytes, element).into_iter().filter_map(held).collect())
}

/// True for an array of type `ty` without elements.
fn is_empty(array: &[u8], ty: DataType) -> bool {
    types::array::element_of(ty).is_ok_and(|ty| types::array::cardinality(array, ty) == 0)
}

fn like(operand: &Expr, pattern: &Expr, escape: Option<char>, case: LikeCase) -> Result<Node> {
    let case = match case {
        LikeCase::Sensitive => Case::Sensitive,
        LikeCase::Insensitive => Case::Insensitive,
    };
    let (node, pattern) = (compile(operand)?, compile(pattern)?);
    if let Some(Value::Str(text)) = pattern.as_constant().map(|p| p.value(0)) {
        let text = std::str::from_utf8(&text)
            .map_err(|_| Error::internal("a pattern that is not UTF-8"))?;
        // A bad pattern is reported when a row meets it.
        if let Ok(compiled) = LikePattern::new(text, escape, case) {
            let kind = NodeKind::Like(Box::new(node), compiled);
            return Ok(Node::new(kind, PhysicalType::Bool, Traits::NONE));
        }
    }
    let kernel = move |a: &[&Vector], _| like_vectors(a[0], a[1], escape, case);
    let kind = NodeKind::Call(Box::new(kernel), vec![node, pattern]);
    Ok(Node::new(kind, PhysicalType::Bool, FALLIBLE))
}
