//! Cursors of PL/pgSQL: variables that name cursors of the session.
//!
//! Elsewhere: the cursors (`session::cursors`), what DECLARE and FETCH do (`run::cursor`).

use sql::program::{CursorQuery, CursorStep, Fragment, OPENED, OpenCursor, Target};
use sql::statement::{CursorHold, Fetch, FetchAction, FetchTo};
use types::{DataType, Error, Result, SqlState, Value};

use super::block::Flow;
use super::fragment::rows_of;
use super::frame::{Frame, Typed, cast};
use super::loops::{Body, Turn};
use crate::QueryResult;
use crate::run::cursor;
use crate::session::code;
use crate::session::cursors::unknown;

impl Frame<'_> {
    /// Declares a cursor, whose name the variable has, or gets.
    ///
    /// # Errors
    /// 42P03 for a cursor that is there; errors of the query.
    pub(super) fn open(&mut self, open: &OpenCursor) -> Result<()> {
        let OpenCursor { slot, rows } = open;
        let name = match self.cursor_name(*slot)? {
            Some(name) if self.session.cursors.open.contains_key(&name) => {
                let message = format!("cursor \"{name}\" already in use");
                return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
            }
            Some(name) => name,
            None => self.session.cursors.new_name(),
        };
        match rows {
            CursorQuery::Bound(values) => {
                let declare = self.bind_cursor(*slot, values)?;
                self.run_fragment(&declare)?;
            }
            CursorQuery::Static(declare) => {
                self.run_fragment(declare)?;
            }
            CursorQuery::Dynamic { declare, text, using } => {
                self.run_dynamic_behind(declare, text, using)?;
            }
        }
        let cursors = &mut self.session.cursors.open;
        let Some(mut cursor) = cursors.remove(OPENED) else {
            return Err(Error::internal("a cursor that was declared is there"));
        };
        if let Some((_, query)) = cursor.text.split_once(" CURSOR FOR ") {
            cursor.text = query.to_owned();
        }
        cursors.insert(name.clone(), cursor);
        self.set(*slot, Typed::of(Value::text(&name), DataType::RefCursor))
    }

    /// Gives the parameters of a bound cursor these values; its DECLARE.
    fn bind_cursor(&mut self, slot: usize, values: &[(usize, Fragment)]) -> Result<Fragment> {
        let code::Body::Program(program) = &self.code.body else {
            return Err(Error::internal("cursors are of programs"));
        };
        let Some(bound) = &program.variables[slot].cursor else {
            return Err(Error::internal("a bound cursor has a query"));
        };
        let declare = bound.declare.clone();
        let mut given = Vec::with_capacity(values.len());
        for (parameter, value) in values {
            given.push((*parameter, self.eval(value)?));
        }
        for (parameter, value) in given {
            self.set(parameter, value)?;
        }
        Ok(declare)
    }

    /// The name that a variable has; None when it is NULL.
    fn cursor_name(&self, slot: usize) -> Result<Option<String>> {
        let name = match (&self.values[slot], self.types[slot]) {
            (Value::Null, _) => None,
            (Value::Str(name), DataType::RefCursor) => {
                Some(String::from_utf8_lossy(name).into_owned())
            }
            _ => {
                let message = format!(
                    "variable \"{}\" must be of type cursor or refcursor",
                    self.variable_name(slot)
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
        };
        Ok(name)
    }

    fn variable_name(&self, slot: usize) -> &str {
        match &self.code.body {
            code::Body::Program(program) => &program.variables[slot].name,
            code::Body::Sql(_) => "",
        }
    }

    /// The name of a cursor that a statement reads.
    fn open_name(&self, slot: usize) -> Result<String> {
        self.cursor_name(slot)?.ok_or_else(|| {
            let message = format!("cursor variable \"{}\" is null", self.variable_name(slot));
            Error::new(SqlState::NULL_NOT_ALLOWED, message)
        })
    }

    /// FETCH, or MOVE without targets.
    ///
    /// # Errors
    /// 34000 for no cursor, 22004 for a variable or a number that is NULL.
    pub(super) fn fetch(
        &mut self,
        slot: usize,
        step: &CursorStep,
        targets: Option<&[Target]>,
    ) -> Result<()> {
        let name = self.open_name(slot)?;
        let to = self.goal(step)?;
        let action = if targets.is_some() { FetchAction::Fetch } else { FetchAction::Move };
        let result = cursor::fetch(
            &mut self.session.cursors,
            self.session.database.pool(),
            &Fetch { name, to, action },
        )?;
        self.row_count = match targets {
            Some(targets) => {
                let row = rows_of(&result).next();
                let count = i64::from(row.is_some());
                self.take_row(targets, row, &result)?;
                count
            }
            None => moved(&result),
        };
        self.set_found(self.row_count > 0);
        Ok(())
    }

    /// The row that a step leads to.
    fn goal(&mut self, step: &CursorStep) -> Result<FetchTo> {
        Ok(match step {
            CursorStep::Forward(None, sign) => FetchTo::Forward(*sign),
            CursorStep::Forward(Some(count), sign) => {
                FetchTo::Forward(self.count_of(count)? * sign)
            }
            CursorStep::All(1) => FetchTo::AllForward,
            CursorStep::All(_) => FetchTo::AllBackward,
            CursorStep::Absolute(None, place) => FetchTo::Absolute(*place),
            CursorStep::Absolute(Some(place), _) => FetchTo::Absolute(self.count_of(place)?),
            CursorStep::Relative(steps) => FetchTo::Relative(self.count_of(steps)?),
        })
    }

    fn count_of(&mut self, count: &Fragment) -> Result<i64> {
        let Typed { value, ty, .. } = self.eval(count)?;
        let value = cast(self.session, value, ty, DataType::Integer)?;
        value.as_integer().and_then(|value| i64::try_from(value).ok()).ok_or_else(|| {
            let message = "relative or absolute cursor position is null";
            Error::new(SqlState::NULL_NOT_ALLOWED, message)
        })
    }

    /// CLOSE.
    ///
    /// # Errors
    /// 34000, 22004.
    pub(super) fn close(&mut self, slot: usize) -> Result<()> {
        let name = self.open_name(slot)?;
        cursor::close(&mut self.session.cursors, Some(&name)).map(|_| ())
    }

    /// FOR over a bound cursor, which is open while it runs.
    pub(super) fn over_cursor(
        &mut self,
        slot: usize,
        open: &OpenCursor,
        body: Body<'_>,
    ) -> Result<Flow> {
        self.open(open)?;
        let name = self.open_name(open.slot)?;
        // A COMMIT in the body leaves it open.
        self.session.cursors.get_mut(&name)?.hold = CursorHold::Session;
        let target = Target { slot, fields: Vec::new(), subscripts: Vec::new() };
        let mut flow = Flow::Next;
        let mut found = false;
        loop {
            let (to, action) = (FetchTo::Forward(1), FetchAction::Fetch);
            let fetch = Fetch { name: name.clone(), to, action };
            let result =
                cursor::fetch(&mut self.session.cursors, self.session.database.pool(), &fetch)?;
            let Some(row) = rows_of(&result).next() else { break };
            found = true;
            self.take_row(std::slice::from_ref(&target), Some(row), &result)?;
            if let Turn::Done(done) = self.turn(body)? {
                flow = done;
                break;
            }
        }
        self.session.cursors.open.remove(&name).ok_or_else(|| unknown(&name))?;
        self.set_found(found);
        Ok(flow)
    }
}

/// The rows that MOVE went over.
fn moved(result: &QueryResult) -> i64 {
    result.tag().rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
