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
pub(super) enum Turn {
    Again,
    Done(Flow),
}

impl Frame<'_> {
    /// Runs the body once.
    pub(super) fn turn(&mut self, body: Body<'_>) -> Result<Turn> {
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
            LoopHead::Cursor { slot, open } => self.over_cursor(*slot, open, body),
            LoopHead::Elements { target, slice, list } => {
                let parts = self.parts(target, *slice, list)?;
                self.over_parts(target, parts, body)
            }
        }
    }

    fn bound(&mut self, bound: &Fragment, what: &str) -> Result<i64> {
        let Typed { value, ty, .. } = self.eval(bound)?;
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

    /// The elements of an array, or its arrays of `slice` dimensions.
    ///
    /// # Errors
    /// 22004 for NULL, 42804 for what is no array and for a variable that does not fit, 2202E for
    /// an array with fewer dimensions.
    fn parts(&mut self, target: &Target, slice: usize, list: &Fragment) -> Result<Vec<Typed>> {
        let Typed { value, ty, .. } = self.eval(list)?;
        let mismatch = |message: String| Error::new(SqlState::DATATYPE_MISMATCH, message);
        let (Value::Str(bytes), DataType::Array(element)) = (&value, ty) else {
            return Err(if value.is_null() {
                Error::new(SqlState::NULL_NOT_ALLOWED, "FOREACH expression must not be null")
            } else {
                mismatch(format!("FOREACH expression must yield an array, not type {}", ty.name()))
            });
        };
        let is_whole = target.fields.is_empty() && target.subscripts.is_empty();
        let takes_array = self.types[target.slot].is_array();
        if slice == 0 {
            if is_whole && takes_array {
                let message = "FOREACH loop variable must not be of an array type";
                return Err(mismatch(message.to_owned()));
            }
            let typed = |value| Typed::of(value, element.data_type());
            return Ok(array::values(bytes, element).into_iter().map(typed).collect());
        }
        if is_whole && !takes_array {
            let message = "FOREACH ... SLICE loop variable must be of an array type";
            return Err(mismatch(message.to_owned()));
        }
        let typed = |bytes: Vec<u8>| Typed::of(Value::Str(bytes.into()), ty);
        Ok(array::slices(bytes, element, slice)?.into_iter().map(typed).collect())
    }

    fn over_parts(&mut self, target: &Target, parts: Vec<Typed>, body: Body<'_>) -> Result<Flow> {
        let mut flow = Flow::Next;
        let mut found = false;
        for part in parts {
            found = true;
            self.assign(target, part)?;
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
