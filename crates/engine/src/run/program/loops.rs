//! LOOP, WHILE, FOR and FOREACH.

use sql::program::{Fragment, LoopHead, QuerySource, Statement, Target};
use types::{DataType, Error, Result, SqlState, Value, array};

use super::block::Flow;
use super::fragment::rows_of;
use super::frame::{Frame, Typed, cast};
use crate::QueryResult;

/// A loop: its label and what it repeats.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) label: Option<&'a String>,
    pub(super) statements: &'a [Statement],
}

/// Outcome of a turn of a loop.
enum Turn {
    Again,
    Done(Flow),
}

impl Frame<'_> {
    /// Runs the body once.
    fn turn(&mut self, body: Body<'_>) -> Result<Turn> {
        self.session.cancel.check()?;
        let is_own = |label: &Option<String>| label.is_none() || label.as_ref() == body.label;
        Ok(match self.statements(body.statements)? {
            Flow::Next => Turn::Again,
            Flow::Continue(label) if is_own(&label) => Turn::Again,
            Flow::Exit(label) if is_own(&label) => Turn::Done(Flow::Next),
            flow => Turn::Done(flow),
        })
    }

    pub(super) fn looped(&mut self, head: &LoopHead, body: Body<'_>) -> Result<Flow> {
        match head {
            LoopHead::Forever => loop {
                if let Turn::Done(flow) = self.turn(body)? {
                    return Ok(flow);
                }
            },
            LoopHead::While(condition) => {
                while self.holds(condition)? {
                    if let Turn::Done(flow) = self.turn(body)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            LoopHead::Integers { slot, bounds, step, reverse } => {
                let [from, to] = &**bounds;
                let from = self.bound(from, "lower")?;
                let to = self.bound(to, "upper")?;
                let step = match step {
                    Some(step) => self.bound(step, "BY value of")?,
                    None => 1,
                };
                if step <= 0 {
                    let message = "BY value of FOR loop must be greater than zero";
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
                let step = if *reverse { -step } else { step };
                self.count(Count { slot: *slot, from, to, step }, body)
            }
            LoopHead::Rows(targets, source) => self.over_rows(targets, source, body),
            LoopHead::Elements(target, list) => self.over_elements(target, list, body),
        }
    }

    fn bound(&mut self, bound: &Fragment, what: &str) -> Result<i64> {
        let Typed { value, ty } = self.eval(bound)?;
        let value = cast(self.session, value, ty, DataType::Integer)?;
        value.as_integer().and_then(|value| i64::try_from(value).ok()).ok_or_else(|| {
            let message = match what {
                "BY value of" => "BY value of FOR loop cannot be null".to_owned(),
                what => format!("{what} bound of FOR loop cannot be null"),
            };
            Error::new(SqlState::NULL_NOT_ALLOWED, message)
        })
    }

    fn count(&mut self, Count { slot, from, to, step }: Count, body: Body<'_>) -> Result<Flow> {
        let mut at = from;
        let mut found = false;
        let goes_on = |at: i64| if step > 0 { at <= to } else { at >= to };
        let mut flow = Flow::Next;
        while goes_on(at) {
            let Ok(value) = i32::try_from(at) else { break };
            self.values[slot] = Value::I32(value);
            found = true;
            if let Turn::Done(done) = self.turn(body)? {
                flow = done;
                break;
            }
            at += step;
        }
        self.set_found(found);
        Ok(flow)
    }

    /// The rows of a query, of which the text may be computed.
    ///
    /// # Errors
    /// Errors of the query.
    pub(super) fn query(&mut self, source: &QuerySource) -> Result<QueryResult> {
        let result = match source {
            QuerySource::Static(fragment) => self.run_fragment(fragment)?,
            QuerySource::Dynamic(text, using) => self.run_dynamic(text, using)?,
        };
        if !result.has_rows() {
            let message = format!("cannot open {} query as cursor", result.tag());
            return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, message));
        }
        Ok(result)
    }

    fn over_rows(
        &mut self,
        targets: &[Target],
        source: &QuerySource,
        body: Body<'_>,
    ) -> Result<Flow> {
        let result = self.query(source)?;
        let mut flow = Flow::Next;
        let mut found = false;
        for row in rows_of(&result) {
            found = true;
            self.take_row(targets, Some(row), &result)?;
            if let Turn::Done(done) = self.turn(body)? {
                flow = done;
                break;
            }
        }
        if !found {
            self.take_row(targets, None, &result)?;
        }
        self.set_found(found);
        Ok(flow)
    }

    fn over_elements(&mut self, target: &Target, list: &Fragment, body: Body<'_>) -> Result<Flow> {
        let Typed { value, ty } = self.eval(list)?;
        let (Value::Str(bytes), DataType::Array(element)) = (&value, ty) else {
            let (state, message) = if value.is_null() {
                (SqlState::NULL_NOT_ALLOWED, "FOREACH expression must not be null".to_owned())
            } else {
                let message =
                    format!("FOREACH expression must yield an array, not type {}", ty.name());
                (SqlState::DATATYPE_MISMATCH, message)
            };
            return Err(Error::new(state, message));
        };
        let mut flow = Flow::Next;
        let mut found = false;
        for value in array::values(bytes, element) {
            found = true;
            self.assign(target, Typed { value, ty: element.data_type() })?;
            if let Turn::Done(done) = self.turn(body)? {
                flow = done;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }
}

/// Numbers of a FOR loop.
struct Count {
    slot: usize,
    from: i64,
    to: i64,
    step: i64,
}
