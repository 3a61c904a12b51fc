//! Walks over syntax trees.
//!
//! The grammar's library makes its walks anew for each visitor, two thousand functions each time:
//! here is the only one.

use std::ops::ControlFlow;

use sqlparser::ast::{self, VisitMut as _};

/// Calls for the parts of a tree.
struct Walk<'a> {
    expr: &'a mut dyn FnMut(&mut ast::Expr),
    relation: &'a mut dyn FnMut(&mut ast::ObjectName) -> ControlFlow<()>,
    query: &'a mut dyn FnMut(&mut ast::Query),
    factor: &'a mut dyn FnMut(&ast::TableFactor),
}

impl ast::VisitorMut for Walk<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        (self.expr)(expr);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        (self.query)(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<()> {
        (self.factor)(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ast::ObjectName) -> ControlFlow<()> {
        (self.relation)(relation)
    }
}

/// Changes `expr` and every expression inside it, the inner ones first.
pub(crate) fn rewrite_expressions(expr: &mut ast::Expr, each: &mut dyn FnMut(&mut ast::Expr)) {
    let relation = &mut |_: &mut ast::ObjectName| ControlFlow::Continue(());
    let mut walk = Walk { expr: each, relation, query: &mut |_| (), factor: &mut |_| () };
    let _: ControlFlow<()> = expr.visit(&mut walk);
}

/// Changes every expression inside of `query`, the inner ones first, and the names of relations.
pub(crate) fn rewrite_query(
    query: &mut ast::Query,
    each: &mut dyn FnMut(&mut ast::Expr),
    relation: &mut dyn FnMut(&mut ast::ObjectName),
) {
    let relation = &mut |name: &mut ast::ObjectName| {
        relation(name);
        ControlFlow::Continue(())
    };
    let mut walk = Walk { expr: each, relation, query: &mut |_| (), factor: &mut |_| () };
    let _: ControlFlow<()> = query.visit(&mut walk);
}

/// Changes `query` and every query inside of it.
pub(crate) fn rewrite_queries(query: &mut ast::Query, each: &mut dyn FnMut(&mut ast::Query)) {
    let relation = &mut |_: &mut ast::ObjectName| ControlFlow::Continue(());
    let mut walk = Walk { expr: &mut |_| (), relation, query: each, factor: &mut |_| () };
    let _: ControlFlow<()> = query.visit(&mut walk);
}

/// Changes every query inside of `statement`.
pub(super) fn rewrite_statement(
    statement: &mut ast::Statement,
    each: &mut dyn FnMut(&mut ast::Query),
) {
    let relation = &mut |_: &mut ast::ObjectName| ControlFlow::Continue(());
    let mut walk = Walk { expr: &mut |_| (), relation, query: each, factor: &mut |_| () };
    let _: ControlFlow<()> = statement.visit(&mut walk);
}

/// Visits everything that FROM of `query`, and of every query inside of it, reads.
pub(super) fn visit_factors(query: &mut ast::Query, each: &mut dyn FnMut(&ast::TableFactor)) {
    let relation = &mut |_: &mut ast::ObjectName| ControlFlow::Continue(());
    let mut walk = Walk { expr: &mut |_| (), relation, query: &mut |_| (), factor: each };
    let _: ControlFlow<()> = query.visit(&mut walk);
}

/// Visits every expression and everything that FROM reads in `query`.
pub(super) fn visit_all(
    query: &mut ast::Query,
    expr: &mut dyn FnMut(&mut ast::Expr),
    factor: &mut dyn FnMut(&ast::TableFactor),
) {
    let relation = &mut |_: &mut ast::ObjectName| ControlFlow::Continue(());
    let mut walk = Walk { expr, relation, query: &mut |_| (), factor };
    let _: ControlFlow<()> = query.visit(&mut walk);
}

/// True when a relation that a query, or a part of one, names anywhere is one that `is_wanted`.
pub(crate) fn names_relation(
    query: &(impl Clone + ast::VisitMut),
    is_wanted: impl Fn(&ast::ObjectName) -> bool,
) -> bool {
    let mut relation = |name: &mut ast::ObjectName| {
        if is_wanted(name) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut walk = Walk {
        expr: &mut |_| (),
        relation: &mut relation,
        query: &mut |_| (),
        factor: &mut |_| (),
    };
    query.clone().visit(&mut walk).is_break()
}

/// Visits `query`, every query inside of it, and the names of all relations.
pub(crate) fn visit_names(
    query: &mut ast::Query,
    each_query: &mut dyn FnMut(&ast::Query),
    each_name: &mut dyn FnMut(&ast::ObjectName),
) {
    let relation = &mut |name: &mut ast::ObjectName| {
        each_name(name);
        ControlFlow::Continue(())
    };
    let mut walk = Walk {
        expr: &mut |_| (),
        relation,
        query: &mut |query| each_query(query),
        factor: &mut |_| (),
    };
    let _: ControlFlow<()> = query.visit(&mut walk);
}
