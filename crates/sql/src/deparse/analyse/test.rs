//! Operators and tests: comparisons, logic, IN, BETWEEN, LIKE, ANY, IS.

use sqlparser::ast::{BinaryOperator as Op, Expr as Ast};

use super::{Analyser, bare, boolean};
use crate::bind::without_mark;
use crate::deparse::Typed;
use crate::deparse::known::number;
use crate::deparse::node::query::SublinkKind;
use crate::deparse::node::{Kind, Node, Syntax};

/// IN or NOT IN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Membership {
    In,
    NotIn,
}

impl Analyser<'_> {
    pub(super) fn binary(&self, left: &Ast, op: &Op, right: &Ast) -> Option<Node> {
        match op {
            Op::And | Op::Or => return self.connected(left, op, right),
            Op::Overlaps => return self.overlaps(left, right),
            _ => {}
        }
        let name = match op {
            Op::PGCustomBinaryOperator(parts) => parts.last()?.clone(),
            Op::Custom(name) if name == "!=" => "<>".to_owned(),
            other => other.to_string(),
        };
        if let (Some(left), Some(right)) = (fields(left), fields(right)) {
            return self.compared_rows(&name, &left, &right);
        }
        self.operator(&name, vec![self.node(left)?, self.node(right)?])
    }

    /// AND and OR: a chain of one of them is one list, as far as it stands left.
    fn connected(&self, left: &Ast, op: &Op, right: &Ast) -> Option<Node> {
        let mut list = vec![right];
        let mut rest = left;
        while let Ast::BinaryOp { left, op: inner, right } = bare(rest) {
            if inner != op {
                break;
            }
            list.push(right);
            rest = left;
        }
        list.push(rest);
        let list = list.into_iter().rev().map(|expr| self.condition(expr));
        let list: Vec<Node> = list.collect::<Option<_>>()?;
        Some(boolean(if *op == Op::And { Kind::And(list) } else { Kind::Or(list) }))
    }

    fn overlaps(&self, left: &Ast, right: &Ast) -> Option<Node> {
        let (left, right) = (fields(left)?, fields(right)?);
        self.called("overlaps", Syntax::Overlaps, self.nodes(left.into_iter().chain(right))?)
    }

    /// Rows of as many fields: field by field, but for an order.
    fn compared_rows(&self, name: &str, left: &[&Ast], right: &[&Ast]) -> Option<Node> {
        if left.len() != right.len() || left.is_empty() {
            return None;
        }
        let pairs = left.iter().zip(right);
        let compared = |(left, right): (&&Ast, &&Ast)| {
            self.operator(name, vec![self.node(left)?, self.node(right)?])
        };
        let mut list: Vec<Node> = pairs.map(compared).collect::<Option<_>>()?;
        if list.len() == 1 {
            return list.pop();
        }
        match name {
            "=" => Some(boolean(Kind::And(list))),
            "<>" => Some(boolean(Kind::Or(list))),
            "<" | "<=" | ">" | ">=" => {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                for node in list {
                    let Kind::Operator { operands, .. } = node.kind else { return None };
                    let [a, b] = <[Node; 2]>::try_from(operands).ok()?;
                    left.push(a);
                    right.push(b);
                }
                Some(boolean(Kind::RowCompare { name: name.to_owned(), left, right }))
            }
            _ => None,
        }
    }

    /// The forms whose result is a truth value.
    pub(super) fn test(&self, expr: &Ast) -> Option<Node> {
        let of_null = |inner, text| self.is(inner, text, IsTest::Null);
        let of_truth = |inner, text| self.is(inner, text, IsTest::Truth);
        match expr {
            Ast::IsNull(inner) => of_null(inner, " IS NULL"),
            Ast::IsNotNull(inner) => of_null(inner, " IS NOT NULL"),
            Ast::IsTrue(inner) => of_truth(inner, " IS TRUE"),
            Ast::IsNotTrue(inner) => of_truth(inner, " IS NOT TRUE"),
            Ast::IsFalse(inner) => of_truth(inner, " IS FALSE"),
            Ast::IsNotFalse(inner) => of_truth(inner, " IS NOT FALSE"),
            Ast::IsUnknown(inner) => of_truth(inner, " IS UNKNOWN"),
            Ast::IsNotUnknown(inner) => of_truth(inner, " IS NOT UNKNOWN"),
            Ast::IsDistinctFrom(a, b) => self.distinct(a, b, " IS NOT NULL"),
            Ast::IsNotDistinctFrom(a, b) => {
                let node = self.distinct(a, b, " IS NULL")?;
                if matches!(node.kind, Kind::Test { .. }) {
                    return Some(node);
                }
                Some(boolean(Kind::Not(Box::new(node))))
            }
            Ast::InList { expr, list, negated } => {
                self.in_list(expr, list, if *negated { Membership::NotIn } else { Membership::In })
            }
            Ast::Between { expr, negated, low, high } => {
                let within = if *negated { Membership::NotIn } else { Membership::In };
                let Some(low) = without_mark(low) else {
                    return self.within(expr, low, high, within);
                };
                let around = self.within(expr, &low, high, within)?;
                let list = vec![around, self.within(expr, high, &low, within)?];
                Some(boolean(if *negated { Kind::And(list) } else { Kind::Or(list) }))
            }
            Ast::Like { negated, any, expr, pattern, escape_char } => {
                let name = if *negated { "!~~" } else { "~~" };
                if *any {
                    return self.of_array(name, "ANY", self.node(expr)?, self.node(pattern)?);
                }
                self.like(name, expr, pattern, escape_char.as_deref())
            }
            Ast::ILike { negated, any, expr, pattern, escape_char } => {
                let name = if *negated { "!~~*" } else { "~~*" };
                if *any {
                    return self.of_array(name, "ANY", self.node(expr)?, self.node(pattern)?);
                }
                self.like(name, expr, pattern, escape_char.as_deref())
            }
            Ast::AnyOp { left, compare_op, right, .. } => {
                let name = compare_op.to_string();
                if let Ast::Subquery(query) = bare(right) {
                    let test = Some((self.node(left)?, name.as_str()));
                    return self.of_query(SublinkKind::Tested, query, test);
                }
                self.of_array(&name, "ANY", self.node(left)?, self.node(right)?)
            }
            Ast::AllOp { left, compare_op, right } => {
                self.of_array(&compare_op.to_string(), "ALL", self.node(left)?, self.node(right)?)
            }
            _ => None,
        }
    }

    /// BETWEEN, or its opposite.
    fn within(&self, value: &Ast, low: &Ast, high: &Ast, of: Membership) -> Option<Node> {
        if of == Membership::In {
            let list = vec![self.pair(value, ">=", low)?, self.pair(value, "<=", high)?];
            return Some(boolean(Kind::And(list)));
        }
        let list = vec![self.pair(value, "<", low)?, self.pair(value, ">", high)?];
        Some(boolean(Kind::Or(list)))
    }

    fn pair(&self, left: &Ast, name: &str, right: &Ast) -> Option<Node> {
        match (fields(left), fields(right)) {
            (Some(left), Some(right)) => self.compared_rows(name, &left, &right),
            _ => self.operator(name, vec![self.node(left)?, self.node(right)?]),
        }
    }

    fn is(&self, inner: &Ast, text: &'static str, of: IsTest) -> Option<Node> {
        let is_null_test = of == IsTest::Null;
        let inner = if is_null_test { self.node(inner)? } else { self.condition(inner)? };
        Some(boolean(Kind::Test { inner: Box::new(inner), text, is_null_test }))
    }

    /// IS DISTINCT FROM; beside NULL it is the test `of_null`.
    fn distinct(&self, a: &Ast, b: &Ast, of_null: &'static str) -> Option<Node> {
        if fields(a).is_some() || fields(b).is_some() {
            return None;
        }
        let (a, b) = (self.node(a)?, self.node(b)?);
        let tested = match (a.is_bare_null(), b.is_bare_null()) {
            (_, true) => Some(a.clone()),
            (true, _) => Some(b.clone()),
            _ => None,
        };
        if let Some(inner) = tested {
            let inner = Box::new(inner);
            return Some(boolean(Kind::Test { inner, text: of_null, is_null_test: true }));
        }
        let node = self.operator("=", vec![a, b])?;
        let Kind::Operator { operands, .. } = node.kind else { return None };
        let [a, b] = <[Node; 2]>::try_from(operands).ok()?;
        Some(boolean(Kind::Distinct(Box::new(a), Box::new(b))))
    }

    /// LIKE; with ESCAPE it would be a call of a function that is not here.
    fn like(&self, name: &str, expr: &Ast, pattern: &Ast, escape: Option<&Ast>) -> Option<Node> {
        if escape.is_some() {
            return None;
        }
        self.pair(expr, name, pattern)
    }

    /// `left op ANY (right)` of an array.
    fn of_array(
        &self,
        name: &str,
        quantifier: &'static str,
        left: Node,
        right: Node,
    ) -> Option<Node> {
        let types = self.types;
        let element = match right.ty.number {
            number::UNKNOWN => number::UNKNOWN,
            array => types.element(types.base(array))?,
        };
        let chosen = types.operator(name, &[left.ty.number, element])?;
        if chosen.result != number::BOOLEAN {
            return None;
        }
        let left = types.coerced_unasked(left, chosen.declared[0])?;
        let right = types.coerced_unasked(right, types.array(chosen.declared[1])?)?;
        let (left, right) = (Box::new(left), Box::new(right));
        Some(boolean(Kind::OfArray { name: name.to_owned(), quantifier, left, right }))
    }

    /// IN: what reads no columns becomes an array, if there are several; the rest is compared one
    /// by one.
    fn in_list(&self, operand: &Ast, list: &[Ast], of: Membership) -> Option<Node> {
        let name = if of == Membership::In { "=" } else { "<>" };
        let mut compared = Vec::new();
        let mut result = None;
        if let Some(operand) = fields(operand) {
            for row in list {
                compared.push(self.compared_rows(name, &operand, &fields(row)?)?);
            }
        } else {
            let nodes = self.nodes(list)?;
            let (columns, constants): (Vec<Node>, Vec<Node>) =
                nodes.iter().cloned().partition(Node::has_columns);
            let array = self.listed(operand, constants);
            let rest = if array.is_some() { columns } else { nodes };
            if let Some((left, array)) = array {
                let quantifier = if of == Membership::In { "ANY" } else { "ALL" };
                result = Some(self.of_array(name, quantifier, left, array)?);
            }
            for node in rest {
                compared.push(self.operator(name, vec![self.node(operand)?, node])?);
            }
        }
        for node in compared {
            result = Some(match result {
                None => node,
                Some(before) if of == Membership::In => boolean(Kind::Or(vec![before, node])),
                Some(before) => boolean(Kind::And(vec![before, node])),
            });
        }
        result
    }

    /// The operand of IN, and its list as an array; None where there is none.
    fn listed(&self, operand: &Ast, list: Vec<Node>) -> Option<(Node, Node)> {
        if list.len() < 2 {
            return None;
        }
        let left = self.node(operand)?;
        let mut types = vec![left.ty.number];
        types.extend(list.iter().map(|node| node.ty.number));
        let common = self.types.common(&types)?;
        let array = self.types.array(common)?;
        let list = list.into_iter().map(|node| self.types.coerced_unasked(node, common));
        let list: Vec<Node> = list.collect::<Option<_>>()?;
        Some((left, Node::new(Kind::Array(list), Typed::plain(array))))
    }
}

/// Kind of a test with IS.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsTest {
    Null,
    Truth,
}

/// The fields of a row that is written as one.
pub(super) fn fields(expr: &Ast) -> Option<Vec<&Ast>> {
    match bare(expr) {
        Ast::Tuple(list) => Some(list.iter().collect()),
        Ast::Function(function) if super::call::is_named(function, "row") => {
            super::call::plain_arguments(function)
        }
        _ => None,
    }
}
