//! CASE, arrays, rows, and what is taken out of them.

use sqlparser::ast::{self, Expr as Ast};

use super::{Analyser, bare};
use crate::deparse::Typed;
use crate::deparse::coerce::common_modifier;
use crate::deparse::known::{Context, number};
use crate::deparse::node::{Asked, Kind, Node, Subscript};

impl Analyser<'_> {
    pub(super) fn case(
        &self,
        operand: Option<&Ast>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Ast>,
    ) -> Option<Node> {
        let operand = match operand {
            None => None,
            Some(operand) => {
                let node = self.node(operand)?;
                let is_unknown = node.is_unknown();
                let text = |node| self.types.coerced_unasked(node, number::TEXT);
                Some(if is_unknown { text(node)? } else { node })
            }
        };
        // The last result is looked at first.
        let mut results = vec![match otherwise {
            Some(expr) => self.node(expr)?,
            None => Node::new(Kind::Constant(None), Typed::plain(number::UNKNOWN)),
        }];
        let mut tests = Vec::with_capacity(conditions.len());
        for when in conditions {
            tests.push(match &operand {
                None => self.condition(&when.condition)?,
                Some(operand) => {
                    let operand = Node::new(Kind::CaseOperand, operand.ty);
                    self.operator("=", vec![operand, self.node(&when.condition)?])?
                }
            });
            results.push(self.node(&when.result)?);
        }
        let (results, ty) = self.types.united(results)?;
        let modifier = common_modifier(&results);
        let mut results = results.into_iter();
        let otherwise = Box::new(results.next()?);
        let branches = tests.into_iter().zip(results).collect();
        let kind = Kind::Case { operand: operand.map(Box::new), branches, otherwise };
        Some(Node::new(kind, Typed { number: ty, modifier }))
    }

    /// ARRAY[...], whose elements become those of the array `asked` where one is.
    pub(super) fn array(&self, elements: &[Ast], asked: Option<Typed>) -> Option<Node> {
        if let Some(array) = asked {
            return self.array_of(elements, array);
        }
        if elements.is_empty() {
            return None;
        }
        let (nodes, element) = self.types.united(self.nodes(elements)?)?;
        let modifier = common_modifier(&nodes);
        // Arrays of arrays have one more dimension.
        let is_nested = self.types.element(element).is_some();
        let ty = if is_nested { element } else { self.types.array(element)? };
        Some(Node::new(Kind::Array(nodes), Typed { number: ty, modifier }))
    }

    fn array_of(&self, elements: &[Ast], array: Typed) -> Option<Node> {
        let element = Typed { number: self.types.element(array.number)?, ..array };
        let node = |expr: &Ast| match bare(expr) {
            Ast::Array(inner) => self.array_of(&inner.elem, array),
            other => {
                let node = self.node(other)?;
                let to = if self.types.element(node.ty.number).is_some() { array } else { element };
                self.types.cast(node, to, Context::Explicit, Asked::Yes)
            }
        };
        let nodes: Vec<Node> = elements.iter().map(node).collect::<Option<_>>()?;
        let modifier = common_modifier(&nodes);
        Some(Node::new(Kind::Array(nodes), Typed { modifier, ..array }))
    }

    pub(super) fn row(&self, fields: &[Ast]) -> Option<Node> {
        Some(Node::new(Kind::Row(self.nodes(fields)?), Typed::plain(number::RECORD)))
    }

    /// Subscripts; fields are left to who knows them.
    pub(super) fn access(&self, root: &Ast, chain: &[ast::AccessExpr]) -> Option<Node> {
        let base = self.node(root)?;
        let container = self.types.base(base.ty.number);
        let element = self.types.element(container);
        let mut is_slice = false;
        let mut list = Vec::with_capacity(chain.len());
        for access in chain {
            let ast::AccessExpr::Subscript(subscript) = access else { return None };
            list.push(match subscript {
                ast::Subscript::Index { index } if element.is_some() => {
                    Subscript::Element(self.place(index)?)
                }
                ast::Subscript::Index { index } if container == number::JSONB => {
                    Subscript::Element(self.key(index)?)
                }
                ast::Subscript::Slice { lower_bound, upper_bound, stride: None }
                    if element.is_some() =>
                {
                    is_slice = true;
                    let bound = |bound: &Option<Ast>| match bound {
                        Some(bound) => Some(Some(self.place(bound)?)),
                        None => Some(None),
                    };
                    Subscript::Slice(bound(lower_bound)?, bound(upper_bound)?)
                }
                _ => return None,
            });
        }
        // Beside a slice a place is one, too.
        if is_slice && list.iter().any(|subscript| matches!(subscript, Subscript::Element(_))) {
            return None;
        }
        let ty = match element {
            Some(element) if !is_slice => element,
            _ => container,
        };
        let modifier = base.ty.modifier;
        let kind = Kind::Subscripts { base: Box::new(base), list };
        Some(Node::new(kind, Typed { number: ty, modifier }))
    }

    fn place(&self, expr: &Ast) -> Option<Node> {
        let node = self.node(expr)?;
        self.types.coerced(node, number::INTEGER, Context::Assignment, Asked::No)
    }

    /// A key of a JSONB.
    fn key(&self, expr: &Ast) -> Option<Node> {
        let node = self.node(expr)?;
        let is_place = !node.is_unknown()
            && self.types.can_coerce(node.ty.number, number::INTEGER, Context::Implicit);
        self.types.coerced_unasked(node, if is_place { number::INTEGER } else { number::TEXT })
    }
}
