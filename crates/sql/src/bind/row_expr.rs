//! Expressions over one row of a table: conditions of CHECK, and (`generated`) generated columns.

use types::{DataType, Result, SqlState};

use super::scope::{Clause, Level, Scope, ScopeColumn, ScopeRelation, Whole};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{ColumnId, Expr, ExprKind, Function, SessionFunction};
use crate::catalog::{Catalog, CheckDef, ColumnDef, Digits};

/// Binds the conditions of `checks` over a row of table `table` with `columns`: column `i` of the
/// row is [`ColumnId`] `i`. Each is BOOLEAN; a row passes unless one is false. Behind the last
/// column are three more: now() and clock_timestamp(), TIMESTAMPTZ, and the name of the session's
/// time zone, TEXT.
///
/// # Errors
/// Whatever is wrong with a condition; none when it was bound before and the columns are the same.
pub fn bind_row_exprs(
    checks: &[CheckDef],
    table: &str,
    columns: &[ColumnDef],
    catalog: &dyn Catalog,
) -> Result<Vec<Expr>> {
    let mut exprs = Vec::with_capacity(checks.len());
    for check in checks {
        let tree = crate::parse::parse_expr(&check.sql)?;
        let mut binder = Binder::new(catalog, &[]);
        binder.digits = Digits::All;
        // Names of types say their schemas.
        binder.definition_depth = 1;
        binder.set_clock(columns.len());
        let zone = ColumnId(binder.next_column);
        binder.next_column += 1;
        binder.zone.set_column(Expr::column(zone, DataType::Text));
        binder.zone.read_definition();
        exprs.push(binder.check_condition(&tree, table, columns)?);
    }
    Ok(exprs)
}

/// True when `expr` calls what only a session can answer; the time is told with the rows.
fn asks_session(expr: &Expr) -> bool {
    let mut asks = match &expr.kind {
        ExprKind::Call(Function::Session(SessionFunction::ClockTimestamp), _) => false,
        ExprKind::Call(function, _) => function.reads_sequences(),
        _ => false,
    };
    expr.each_child(&mut |child| asks |= asks_session(child));
    asks
}

impl Binder<'_> {
    /// now() and clock_timestamp() are the columns behind the `count` of a row from now on.
    pub(super) fn set_clock(&mut self, count: usize) {
        let clock = ColumnId(u32::try_from(count).unwrap_or(u32::MAX - 2));
        let moment = ColumnId(clock.0 + 1);
        self.next_column = self.next_column.max(moment.0 + 1);
        self.clock = Some(Expr::column(clock, DataType::TIMESTAMPTZ));
        self.moment = Some(Expr::column(moment, DataType::TIMESTAMPTZ));
    }

    /// `expr` over a row, whose column `i` is [`ColumnId`] `i`, as part of `clause`.
    pub(super) fn over_row(
        &mut self,
        clause: Clause,
        expr: &sqlparser::ast::Expr,
        table: &str,
        columns: &[ColumnDef],
    ) -> Result<Bound> {
        let levels = std::mem::take(&mut self.levels);
        let mut level = Level::new(clause);
        level.scope = row_scope(table, columns);
        for (ordinal, def) in columns.iter().enumerate() {
            self.note_column(ColumnId(u32::try_from(ordinal).unwrap_or(u32::MAX)), def);
        }
        self.levels.push(level);
        let bound = self.bind_expr(expr);
        self.levels = levels;
        bound
    }

    /// As [`Self::over_row`], with the time in columns behind those of the row.
    pub(super) fn over_timed_row(
        &mut self,
        clause: Clause,
        expr: &sqlparser::ast::Expr,
        table: &str,
        columns: &[ColumnDef],
    ) -> Result<Bound> {
        let outside = (self.clock.take(), self.moment.take());
        self.set_clock(columns.len());
        // What goes by the session's time zone is no part of such an expression.
        let bound = self.in_utc(|binder| binder.over_row(clause, expr, table, columns));
        (self.clock, self.moment) = outside;
        bound
    }

    /// The condition of a CHECK over a row, whose column `i` is [`ColumnId`] `i`.
    pub(super) fn check_condition(
        &mut self,
        expr: &sqlparser::ast::Expr,
        table: &str,
        columns: &[ColumnDef],
    ) -> Result<Expr> {
        let bound = self.over_row(Clause::Check, expr, table, columns)?;
        if super::insert::contains_subquery(&bound.expr) {
            let message = "cannot use subquery in check constraint";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, bound.at);
        }
        if asks_session(&bound.expr) {
            return unsupported("a function of the session in a check constraint", bound.at);
        }
        self.coerce_clause(bound, DataType::Boolean, "CHECK")
    }
}

/// One relation with `columns`, whose ids are their ordinals.
fn row_scope(table: &str, columns: &[ColumnDef]) -> Scope {
    let column = |(ordinal, def): (usize, &ColumnDef)| ScopeColumn {
        name: def.name.clone(),
        expr: Expr::column(ColumnId(u32::try_from(ordinal).unwrap_or(u32::MAX)), def.ty),
        relation: table.to_owned(),
        source: None,
    };
    Scope::of(ScopeRelation {
        name: table.to_owned(),
        schema: None,
        columns: columns.iter().enumerate().map(column).collect(),
        system: Vec::new(),
        table: None,
        whole: Whole::Row,
        at: None,
    })
}
