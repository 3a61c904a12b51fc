//! Statements of PL/pgSQL, each by its kind.

use std::sync::Arc;

use sql::algebra::is_collatable;
use sql::catalog::NameConflict;
use sql::program::{ExitKind, Fragment, Into, QuerySource, Statement, Target};
use types::{DataType, Error, Result, SqlState, Value};

use super::block::Flow;
use super::collation::of_statement;
use super::fragment::{parsed, rows_of};
use super::frame::{Boundaries, Frame, Typed};
use super::loops::Body;
use super::result::TypedRow;
use crate::QueryResult;
use crate::session::prepared::PreparedStatement;
use crate::statement::catalog::StatementCatalog;
use crate::statement::running::Running;
use crate::transaction::work::Begun;

impl Frame<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<Flow> {
        match statement {
            Statement::Block(block) => self.block(block),
            Statement::If { branches, otherwise } => self.branch(branches, otherwise.as_deref()),
            Statement::Case { slot, operand, branches, otherwise } => {
                let value = self.eval(operand)?;
                self.set(*slot, value)?;
                self.branch(branches, otherwise.as_deref())
            }
            Statement::Loop { label, head, body } => {
                let body = Body { label: label.as_ref(), statements: body };
                self.looped(head, body)
            }
            Statement::Exit { kind, label, condition } => {
                let is_meant = match condition {
                    Some(condition) => self.holds(condition)?,
                    None => true,
                };
                Ok(match kind {
                    _ if !is_meant => Flow::Next,
                    ExitKind::Exit => Flow::Exit(label.clone()),
                    ExitKind::Continue => Flow::Continue(label.clone()),
                })
            }
            Statement::Return(value) => {
                if let Some(value) = value {
                    let row = self.row(value)?;
                    self.give(row)?;
                }
                Ok(Flow::Return)
            }
            other => self.plain(other).map(|()| Flow::Next),
        }
    }

    /// Runs a statement behind which the next one runs.
    fn plain(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Assign(target, value) => {
                let value = self.eval(value)?;
                self.assign(target, value)
            }
            Statement::ReturnNext(value) => {
                let row = match value {
                    Some(value) => self.row(value)?,
                    None => self.outputs(),
                };
                self.add_row(row)
            }
            Statement::ReturnQuery(source) => self.return_query(source),
            Statement::Raise(raise) => self.raise(raise),
            Statement::Assert(condition, message) => self.assert(condition, message.as_ref()),
            Statement::Perform(fragment) => {
                let result = self.run_fragment(fragment)?;
                self.note(&result);
                Ok(())
            }
            Statement::Sql(fragment, into) => {
                let result = self.run_fragment(fragment)?;
                self.took(into.as_ref(), &result)
            }
            Statement::Call(fragment, targets) => self.call(fragment, targets),
            Statement::Open(open) => self.open(open),
            Statement::Fetch { slot, step, targets } => self.fetch(*slot, step, targets.as_deref()),
            Statement::Close(slot) => self.close(*slot),
            Statement::Execute { text, into, using } => {
                let result = self.run_dynamic(text, using)?;
                if let Some(into) = into {
                    self.take_into(into, &result)?;
                }
                self.row_count = affected(&result);
                Ok(())
            }
            Statement::Diagnostics(of, items) => self.diagnose(*of, items),
            Statement::Commit(_) => self.boundary(Ending::Commit),
            Statement::Rollback(_) => self.boundary(Ending::Rollback),
            _ => Ok(()),
        }
    }

    fn branch(
        &mut self,
        branches: &[sql::program::Branch],
        otherwise: Option<&[Statement]>,
    ) -> Result<Flow> {
        for branch in branches {
            if self.holds(&branch.condition)? {
                return self.statements(&branch.body);
            }
        }
        match otherwise {
            Some(otherwise) => self.statements(otherwise),
            None => Err(Error::new(SqlState::CASE_NOT_FOUND, "case not found")
                .with_hint("CASE statement is missing ELSE part.")),
        }
    }

    /// The columns of an expression of RETURN.
    fn row(&mut self, value: &Fragment) -> Result<TypedRow> {
        let result = self.run_fragment(value)?;
        let types = result.columns().iter().map(|(_, ty)| *ty).collect::<Vec<DataType>>();
        let nothing = || TypedRow { values: vec![Value::Null; types.len()], types: types.clone() };
        Ok(rows_of(&result).next().unwrap_or_else(nothing))
    }

    fn return_query(&mut self, source: &QuerySource) -> Result<()> {
        let result = self.query(source)?;
        for row in rows_of(&result) {
            self.add_row(row)?;
        }
        self.note(&result);
        Ok(())
    }

    /// Notes FOUND and ROW_COUNT.
    fn note(&mut self, result: &QueryResult) {
        self.row_count = affected(result);
        self.set_found(self.row_count > 0);
    }

    /// Takes the rows of a statement, which has INTO if it has some.
    fn took(&mut self, into: Option<&Into>, result: &QueryResult) -> Result<()> {
        match into {
            Some(into) => {
                if !result.has_rows() {
                    let message = "INTO used with a command that cannot return data";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                let is_read = result.tag().starts_with("SELECT");
                let strict = into.strict || !is_read && result.row_count() > 1;
                self.take_into(&Into { targets: into.targets.clone(), strict }, result)?;
                self.row_count = i64::from(result.row_count() > 0);
                self.set_found(result.row_count() > 0);
            }
            None if result.has_rows() => {
                let message = "query has no destination for result data";
                let error = Error::new(SqlState::SYNTAX_ERROR, message);
                return Err(if result.tag().starts_with("SELECT") {
                    error.with_hint(
                        "If you want to discard the results of a SELECT, use PERFORM instead.",
                    )
                } else {
                    error
                });
            }
            None => self.note(result),
        }
        Ok(())
    }

    /// EXECUTE: the statement that `text` is, with the values of `using` as parameters.
    pub(super) fn run_dynamic(
        &mut self,
        text: &Fragment,
        using: &[Fragment],
    ) -> Result<QueryResult> {
        self.run_dynamic_behind("", text, using)
    }

    /// As [`Self::run_dynamic`], of a statement that begins with `head`.
    pub(super) fn run_dynamic_behind(
        &mut self,
        head: &str,
        text: &Fragment,
        using: &[Fragment],
    ) -> Result<QueryResult> {
        let Some(text) = self.text(text)? else {
            let message = "query string argument of EXECUTE is null";
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        };
        let text = format!("{head}{text}");
        let (mut values, mut types) = (Vec::new(), Vec::new());
        for value in using {
            let Typed { value, ty, .. } = self.eval(value)?;
            values.push(value);
            types.push(ty);
        }
        let statement = parsed(&text)?;
        let mut prepared = PreparedStatement::new(self.session, types, statement);
        let result = self
            .session
            .run_in_program(&mut prepared, values, self.boundaries)
            .map_err(Error::without_position)?;
        let is_collatable = |(_, ty): &(String, DataType)| is_collatable(*ty);
        if !result.columns().iter().any(is_collatable) {
            return Ok(result);
        }
        let collations = match &prepared.compiled {
            Some(compiled) => of_statement(&compiled.statement),
            None => {
                let catalog = self.session.catalog_for(&prepared.statement);
                of_statement(&sql::bind(&prepared.statement, &catalog, &prepared.types)?)
            }
        };
        Ok(result.collated(collations))
    }

    /// CALL: what comes out goes into the variables that stand in its arguments.
    fn call(&mut self, fragment: &Fragment, targets: &[Option<Target>]) -> Result<()> {
        let piece = self.piece(fragment)?;
        let collations = self.collations.as_slice().into();
        let names = crate::session::code::Names::new(piece.find, NameConflict::Error, collations);
        let names = Arc::new(names);
        let catalog = StatementCatalog {
            variables: Some(&*names),
            ..self.session.catalog_for(&piece.parsed)
        };
        let bound = sql::bind(&piece.parsed, &catalog, &[]);
        drop(catalog);
        let bound = bound.map_err(Error::without_position)?;
        let values: Vec<Value> =
            names.uses().iter().map(|(read, _)| self.value_of(*read)).collect();
        let mut running = Running::new(self.session, values);
        let sql::statement::Statement::CallRoutine(call) = bound else {
            return running.run(bound).map(drop);
        };
        let result = super::call_with(&mut running, &call, self.boundaries)?;
        let def = super::routine(self.session, call.number)?;
        let Some(row) = rows_of(&result).next() else { return Ok(()) };
        let typed = |(value, ty)| Typed::of(value, ty);
        let mut values = row.values.into_iter().zip(row.types).map(typed);
        for (place, parameter) in def.parameters.iter().enumerate() {
            if !parameter.mode.comes_out() {
                continue;
            }
            let value = values.next().unwrap_or(Typed::NOTHING);
            match targets.get(place) {
                Some(Some(target)) => self.assign(target, value)?,
                _ => {
                    let message = format!(
                        "procedure parameter \"{}\" is an output parameter but corresponding \
                         argument is not writable",
                        parameter.name
                    );
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
            }
        }
        Ok(())
    }

    /// Ends the transaction, and begins the next.
    fn boundary(&mut self, ending: Ending) -> Result<()> {
        if self.boundaries == Boundaries::Refused {
            let message = "invalid transaction termination";
            return Err(Error::new(SqlState::INVALID_TRANSACTION_TERMINATION, message));
        }
        let modes = self.session.work().modes();
        match ending {
            Ending::Commit => self.session.commit()?,
            Ending::Rollback => self.session.rollback_work(),
        }
        self.session.calls.begin_statement();
        self.session.begin_work(modes, Begun::ForOneStatement)
    }
}

/// COMMIT or ROLLBACK.
#[derive(Clone, Copy)]
enum Ending {
    Commit,
    Rollback,
}

/// How many rows a statement gave or changed.
fn affected(result: &QueryResult) -> i64 {
    if result.has_rows() {
        return i64::try_from(result.row_count()).unwrap_or(i64::MAX);
    }
    let last = result.tag().rsplit(' ').next().and_then(|count| count.parse().ok());
    last.unwrap_or(0)
}
