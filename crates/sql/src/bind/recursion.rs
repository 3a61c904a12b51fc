//! Where a recursive query may read itself, and in which order the queries of WITH RECURSIVE come.
//!
//! Both are read off the syntax, before anything is bound: PostgreSQL refuses the same with 42P19.

use sqlparser::ast;
use types::{Error, Result, SqlState};

use super::name::{ident_at, object_at};
use super::{fail, place, unsupported};
use crate::algebra::Place;
use crate::parse::folded;
use crate::parse::visit::names_relation;

/// Operation around a place in the recursive term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    OuterJoin,
    Subquery,
    Intersect,
    Except,
}

impl Around {
    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::OuterJoin => "an outer join",
            Self::Subquery => "a subquery",
            Self::Intersect => "INTERSECT",
            Self::Except => "EXCEPT",
        }
    }
}

/// Checks the recursive term of the query called `name`.
///
/// # Errors
/// 42P19 when it reads itself twice, or where the rows of the last round are not enough.
pub(super) fn check_term(term: &ast::SetExpr, name: &str) -> Result<()> {
    Term { name, reads: 0 }.set_expr(term, Around::Nothing)
}

struct Term<'a> {
    name: &'a str,
    /// Times the term has read itself so far.
    reads: usize,
}

impl Term<'_> {
    fn set_expr(&mut self, expr: &ast::SetExpr, around: Around) -> Result<()> {
        match expr {
            ast::SetExpr::Select(select) => self.select(select, around),
            ast::SetExpr::Query(query) => self.query(query, around),
            ast::SetExpr::SetOperation { op, set_quantifier, left, right } => {
                let all = *set_quantifier == ast::SetQuantifier::All;
                let inner = |kind| if around == Around::Nothing { kind } else { around };
                let (first, second) = match op {
                    ast::SetOperator::Intersect if all => {
                        (inner(Around::Intersect), inner(Around::Intersect))
                    }
                    ast::SetOperator::Except | ast::SetOperator::Minus => {
                        (if all { inner(Around::Except) } else { around }, inner(Around::Except))
                    }
                    _ => (around, around),
                };
                self.set_expr(left, first)?;
                self.set_expr(right, second)
            }
            other => self.expressions(other),
        }
    }

    fn query(&mut self, query: &ast::Query, around: Around) -> Result<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            if folded(&cte.alias.name) == self.name {
                // The name means this query from here on.
                return Ok(());
            }
            self.query(&cte.query, around)?;
        }
        self.set_expr(&query.body, around)?;
        self.expressions(&query.order_by)
    }

    fn select(&mut self, select: &ast::Select, around: Around) -> Result<()> {
        for item in &select.from {
            self.joins(item, around)?;
        }
        self.expressions(&ast::Select { from: Vec::new(), ..select.clone() })
    }

    fn joins(&mut self, item: &ast::TableWithJoins, around: Around) -> Result<()> {
        use ast::JoinOperator as J;
        let outer = |is_optional| if is_optional { Around::OuterJoin } else { around };
        // Whether some join to the right makes rows of what stands left of it optional.
        let optional_left = |from: usize| {
            item.joins[from..].iter().any(|join| {
                matches!(join.join_operator, J::Right(_) | J::RightOuter(_) | J::FullOuter(_))
            })
        };
        self.factor(&item.relation, outer(optional_left(0)))?;
        for (number, join) in item.joins.iter().enumerate() {
            let operator = &join.join_operator;
            let is_optional = matches!(operator, J::Left(_) | J::LeftOuter(_) | J::FullOuter(_));
            self.factor(&join.relation, outer(is_optional || optional_left(number + 1)))?;
            if let J::Inner(condition)
            | J::Join(condition)
            | J::Left(condition)
            | J::LeftOuter(condition)
            | J::Right(condition)
            | J::RightOuter(condition)
            | J::FullOuter(condition) = operator
                && let ast::JoinConstraint::On(condition) = condition
            {
                self.expressions(condition)?;
            }
        }
        Ok(())
    }

    fn factor(&mut self, factor: &ast::TableFactor, around: Around) -> Result<()> {
        use ast::TableFactor as F;
        match factor {
            F::Table { name, args: None, .. } => self.relation(name, around),
            F::Derived { subquery, .. } => self.query(subquery, around),
            F::NestedJoin { table_with_joins, .. } => self.joins(table_with_joins, around),
            other => self.expressions(other),
        }
    }

    fn relation(&mut self, relation: &ast::ObjectName, around: Around) -> Result<()> {
        if !is_called(relation, self.name) {
            return Ok(());
        }
        self.reads += 1;
        match around {
            Around::Nothing if self.reads == 1 => Ok(()),
            Around::Nothing => self.refuse("more than once", object_at(relation)),
            _ => self.refuse(&format!("within {}", around.name()), object_at(relation)),
        }
    }

    /// No sub-query in `part` may read the term.
    fn expressions(&self, part: &(impl Clone + ast::VisitMut)) -> Result<()> {
        if names_relation(part, |relation| is_called(relation, self.name)) {
            self.refuse(&format!("within {}", Around::Subquery.name()), None)
        } else {
            Ok(())
        }
    }

    fn refuse(&self, what: &str, at: Place) -> Result<()> {
        let name = self.name;
        let message = format!("recursive reference to query \"{name}\" must not appear {what}");
        Err(place(Error::new(SqlState::INVALID_RECURSION, message), at))
    }
}

fn is_called(relation: &ast::ObjectName, name: &str) -> bool {
    match relation.0.as_slice() {
        [ast::ObjectNamePart::Identifier(ident)] => folded(ident) == name,
        _ => false,
    }
}

/// The queries of `with`, those first that others read. Without RECURSIVE a query sees only those
/// before it, so that they stay as they are.
///
/// # Errors
/// 0A000 when two of them read each other.
pub(super) fn in_order(with: &ast::With) -> Result<Vec<&ast::Cte>> {
    let all = &with.cte_tables;
    if !with.recursive || all.len() < 2 {
        return Ok(all.iter().collect());
    }
    let mut order = Order { all, states: vec![State::New; all.len()], found: Vec::new() };
    for number in 0..all.len() {
        order.visit(number)?;
    }
    Ok(order.found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// Queries that it reads are being visited.
    Open,
    Done,
}

struct Order<'q> {
    all: &'q [ast::Cte],
    states: Vec<State>,
    found: Vec<&'q ast::Cte>,
}

impl Order<'_> {
    fn visit(&mut self, number: usize) -> Result<()> {
        let cte = &self.all[number];
        match self.states[number] {
            State::Done => return Ok(()),
            State::Open => {
                let what = "mutual recursion between WITH items";
                return unsupported(what, ident_at(&cte.alias.name));
            }
            State::New => self.states[number] = State::Open,
        }
        for other in (0..self.all.len()).filter(|other| *other != number) {
            if reads(&cte.query, &folded(&self.all[other].alias.name)) {
                self.visit(other)?;
            }
        }
        self.states[number] = State::Done;
        self.found.push(cte);
        Ok(())
    }
}

/// Refuses aggregates over the rows that a recursive term reads of itself.
///
/// # Errors
/// 42P19.
pub(super) fn refuse_aggregates<T>() -> Result<T> {
    let message = "aggregate functions are not allowed in a recursive query's recursive term";
    fail(SqlState::INVALID_RECURSION, message, None)
}

/// True when `query` names the relation `name` anywhere.
pub(super) fn reads(query: &ast::Query, name: &str) -> bool {
    names_relation(query, |relation| match relation.0.as_slice() {
        [ast::ObjectNamePart::Identifier(ident)] => folded(ident) == name,
        _ => false,
    })
}
