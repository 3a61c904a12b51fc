//! Statements under WITH that change rows.
//!
//! ```text
//! WITH d AS (DELETE ... RETURNING ...), ...  -> parts: [DELETE, ...]
//! readers of d                               -> Input slot 1, 2, ...: what part 0, 1, ... returned
//! ```
//! Elsewhere: in what order the parts run and what they see (`engine`).

use sqlparser::ast;
use types::{Result, SqlState};

use super::cte::{CteEntry, Definition};
use super::name::ident_at;
use super::{Binder, fail, unsupported};
use crate::algebra::{InputColumn, Plan};
use crate::statement::{Returning, Statement, WithChanges};

/// The changes of the statement that is bound.
#[derive(Default)]
pub(super) struct Changes {
    /// Where the WITH is that may have some: that of the statement itself.
    top: Option<usize>,
    /// Those bound so far.
    parts: Vec<Statement>,
    /// The CTEs before the change that is bound: its queries may read them.
    pub(super) before: Vec<Definition>,
    /// A change is bound, not all of the statement.
    pub(super) is_part: bool,
}

/// Where a WITH is.
fn address(with: &ast::With) -> usize {
    std::ptr::from_ref(with).addr()
}

impl Binder<'_> {
    /// Lets the CTEs of the statement's own `with` change rows.
    pub(super) fn allow_changes(&mut self, with: Option<&ast::With>) {
        self.changes.top = with.map(address);
    }

    /// `main` behind the changes under its WITH, if there are any.
    pub(super) fn behind_changes(&mut self, main: Statement) -> Result<Statement> {
        let parts = std::mem::take(&mut self.changes.parts);
        match main {
            main if parts.is_empty() => Ok(main),
            Statement::SelectForUpdate(_) => {
                unsupported("SELECT FOR UPDATE under a WITH that changes rows", None)
            }
            Statement::Merge(_) => unsupported("MERGE under a WITH that changes rows", None),
            main => Ok(Statement::WithChanges(Box::new(WithChanges { parts, main }))),
        }
    }

    /// Binds the CTE called `name` of `with`, behind `before`, if it changes rows.
    pub(super) fn bind_change(
        &mut self,
        with: &ast::With,
        cte: &ast::Cte,
        name: &str,
        before: &[Definition],
    ) -> Result<Option<Definition>> {
        let at = ident_at(&cte.alias.name);
        let change = match &*cte.query.body {
            ast::SetExpr::Insert(change)
            | ast::SetExpr::Update(change)
            | ast::SetExpr::Delete(change) => change,
            ast::SetExpr::Merge(_) => {
                return fail(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "MERGE not supported in WITH query",
                    at,
                );
            }
            _ => return Ok(None),
        };
        if self.changes.top != Some(address(with)) {
            let message =
                "WITH clause containing a data-modifying statement must be at the top level";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        if with.recursive && super::cte::reads(&cte.query, name) {
            let message =
                format!("recursive query \"{name}\" must not contain data-modifying statements");
            return fail(SqlState::INVALID_RECURSION, message, at);
        }
        if let Some(volatile) = before.iter().find(|definition| definition.is_volatile()) {
            let what =
                format!("a change behind WITH query \"{}\", which is volatile,", volatile.name());
            return unsupported(what, at);
        }
        let (outer, ctes_before) = (self.levels.len(), self.ctes.len());
        self.changes.before = before.to_vec();
        self.changes.is_part = true;
        let statement = self.bind_write(change, cte.query.with.as_ref())?;
        self.changes.is_part = false;
        debug_assert_eq!(outer, self.levels.len(), "a statement leaves no level behind");
        self.ctes.truncate(ctes_before);
        let definition = self.returned(&statement, cte, name)?;
        self.changes.parts.push(statement);
        Ok(Some(definition))
    }

    /// What the next part, `statement`, returns, in sight as `name`.
    fn returned(
        &mut self,
        statement: &Statement,
        cte: &ast::Cte,
        name: &str,
    ) -> Result<Definition> {
        let returning: Option<&Returning> = match statement {
            Statement::Insert(insert) => insert.returning.as_ref(),
            Statement::Update(update) => update.returning.as_ref(),
            Statement::Delete(delete) => delete.returning.as_ref(),
            _ => None,
        };
        let slot = self.changes.parts.len() + 1;
        let Some(returning) = returning else {
            let id = self.fresh_cte();
            self.ctes.push(CteEntry::without_rows(name, id));
            return Ok(Definition::plain(id, name, Plan::one_row()));
        };
        let columns = returning.query.columns.iter();
        let columns: Vec<_> = columns.map(|column| (column.name.clone(), column.ty)).collect();
        let input = columns.iter().enumerate();
        let input =
            input.map(|(ordinal, (_, ty))| InputColumn { id: self.fresh(), ordinal, ty: *ty });
        let plan =
            Plan::Input { slot, columns: input.collect(), name: format!("rows of {name}").into() };
        let id = self.fresh_cte();
        self.ctes.push(CteEntry::new(name, id, super::cte::renamed(columns, &cte.alias)?));
        Ok(Definition::plain(id, name, plan))
    }
}
