//! Blocks: variables that are declared, statements in order, errors that are handled.

use std::sync::Arc;

use sql::ParsedStatement;
use sql::catalog::{NameConflict, RoutineType};
use sql::program::{Block, Condition, Handler, Program, Statement};
use types::{DataType, Error, Result, SqlState, Value, stack};

use super::fragment::{Piece, rows_of};
use super::frame::{Boundaries, Frame};
use super::result::Wanted;

/// Next thing that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next statement.
    Next,
    /// Leads behind the loop or block of this label, or the innermost loop.
    Exit(Option<String>),
    /// The next turn of the loop of this label, or of the innermost.
    Continue(Option<String>),
    /// Nothing: RETURN.
    Return,
}

impl Frame<'_> {
    /// Runs a program.
    ///
    /// # Errors
    /// Errors of its statements.
    pub(super) fn run(&mut self, program: &Arc<Program>) -> Result<Value> {
        self.block(&program.body)?;
        self.finish()
    }

    /// Runs statements of SQL: the last gives the result.
    ///
    /// # Errors
    /// Errors of the statements.
    pub(super) fn run_sql(&mut self, statements: &[Arc<ParsedStatement>]) -> Result<Value> {
        let mut last = None;
        for (number, parsed) in statements.iter().enumerate() {
            let result = self.run_piece(number, |frame| {
                let (parsed, find) = (Arc::clone(parsed), frame.find_parameter());
                Ok(Piece { parsed, find, conflict: NameConflict::Column, cursor: None })
            })?;
            last = Some(result);
        }
        let is_void = self.code.def.as_ref().is_some_and(|def| def.result == RoutineType::Void);
        let Some(result) = last.filter(|result| result.has_rows() && !is_void) else {
            return match self.wanted {
                Wanted::Rows(_) => self.finish(),
                Wanted::Value(_) | Wanted::Row(_) | Wanted::Nothing => Ok(Value::Null),
            };
        };
        match self.wanted {
            Wanted::Rows(_) => {
                for row in rows_of(&result) {
                    self.add_row(row)?;
                }
            }
            Wanted::Nothing => {}
            Wanted::Value(_) | Wanted::Row(_) => {
                let Some(row) = rows_of(&result).next() else { return Ok(Value::Null) };
                match self.wanted {
                    Wanted::Row(ty) => {
                        self.given = Some(super::result::as_record(self.session, row, ty)?);
                    }
                    _ => self.give(row)?,
                }
            }
        }
        self.finish()
    }

    pub(super) fn statements(&mut self, list: &[Statement]) -> Result<Flow> {
        for statement in list {
            let flow = stack::deep(|| self.statement(statement))?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    pub(super) fn block(&mut self, block: &Block) -> Result<Flow> {
        self.declare(&block.declares)?;
        let flow = if block.handlers.is_empty() {
            self.statements(&block.body)?
        } else {
            self.guarded(block)?
        };
        match flow {
            Flow::Exit(Some(label)) if block.label.as_ref() == Some(&label) => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    fn declare(&mut self, slots: &[usize]) -> Result<()> {
        let crate::session::code::Body::Program(program) = &self.code.body else { return Ok(()) };
        let program = Arc::clone(program);
        for &slot in slots {
            self.values[slot] = Value::Null;
            if self.declared[slot].ty.is_none() {
                self.types[slot] = DataType::Unknown;
            }
            match &program.variables[slot].default {
                Some(default) => {
                    let value = self.eval(default)?;
                    self.set(slot, value)?;
                }
                None => self.test(slot, &Value::Null)?,
            }
        }
        Ok(())
    }

    /// Runs a block whose errors are handled: what it did goes back first.
    fn guarded(&mut self, block: &Block) -> Result<Flow> {
        let place = self.session.work_mut().place();
        // What ends a transaction would end the place to go back to.
        let boundaries = std::mem::replace(&mut self.boundaries, Boundaries::Refused);
        let result = self.statements(&block.body);
        self.boundaries = boundaries;
        let error = match result {
            Ok(flow) => return Ok(flow),
            Err(error) => error,
        };
        match block.handlers.iter().find(|handler| handles(handler, &error)) {
            Some(handler) => {
                self.session.forget_asked();
                let before = self.session.work_mut().go_back(&place);
                self.session.go_back(before);
                self.handle(handler, error)
            }
            None => Err(error),
        }
    }

    fn handle(&mut self, handler: &Handler, error: Error) -> Result<Flow> {
        let [state, message] = handler.told;
        self.values[state] = Value::text(error.state().as_str());
        self.values[message] = Value::text(error.message());
        self.handled.push(error);
        let flow = self.statements(&handler.body);
        self.handled.pop();
        flow
    }
}

/// True when the handler is for the error. What makes the whole statement run again is for none.
fn handles(handler: &Handler, error: &Error) -> bool {
    let is_internal = error.is_narrow()
        || stack::is_again(error)
        || error.state() == SqlState::STALE_CATALOG
        || error.state() == SqlState::INTERNAL_ERROR;
    let is_meant = |condition: &Condition| match condition {
        Condition::Others => {
            !matches!(error.state(), SqlState::QUERY_CANCELED | SqlState::ASSERT_FAILURE)
        }
        Condition::State(state) => error.state().is_of(*state),
    };
    !is_internal && handler.conditions.iter().any(is_meant)
}
