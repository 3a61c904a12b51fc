//! The way of a path through a value, step by step.

use std::cell::Cell;
use std::slice;

use types::json::{Json, Kind};
use types::json_path::{Chain, JsonPath, Levels, PathMode, Step, Subscript};
use types::{Error, Result, SqlState, stack};

use super::Zone;
use super::item::Item;

/// Value, variables and manner of a call.
#[derive(Clone, Copy)]
pub(super) struct Call<'t> {
    pub(super) value: &'t [u8],
    pub(super) variables: Option<&'t [u8]>,
    pub(super) is_silent: bool,
    pub(super) zone: Zone<'t>,
}

/// How a step, or a path, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With a value.
    Found,
    /// Without one.
    Nothing,
    /// With an error that is not to be raised.
    Failed,
}

/// Which values are wanted.
pub(super) enum Found<'v, 't> {
    /// Any: the first one ends the search.
    Any,
    /// All.
    All(&'v mut Vec<Item<'t>>),
}

impl<'t> Found<'_, 't> {
    pub(super) fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    fn push(&mut self, item: Item<'t>) {
        if let Self::All(items) = self {
            items.push(item);
        }
    }

    /// True when the search ends after a step that ended so.
    fn ends(&self, outcome: Outcome) -> bool {
        outcome == Outcome::Failed || (outcome == Outcome::Found && self.is_any())
    }
}

/// Surroundings of a step.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s, 't> {
    /// `@`.
    pub(super) current: &'s Item<'t>,
    /// Elements of the array that a subscript is of.
    pub(super) size: Option<usize>,
    /// True where another structure is no error.
    pub(super) ignores: bool,
    /// True where errors are raised.
    pub(super) raises: bool,
    /// Number of the object that was made last on the way here.
    pub(super) made: i64,
}

/// Steps that are to be done.
#[derive(Clone, Copy)]
pub(super) struct At<'s, 't> {
    pub(super) steps: &'s [Step],
    pub(super) scope: Scope<'s, 't>,
    /// True where the first step is done with the elements of an array instead.
    pub(super) unwraps: bool,
}

/// Level of a search through all levels.
struct Depth {
    levels: Levels,
    level: u32,
}

/// Whether elements of arrays stand for them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unwrap {
    Arrays,
    Nothing,
}

/// One evaluation of a path.
pub(super) struct Run<'t> {
    path: &'t JsonPath,
    pub(super) root: Item<'t>,
    variables: Option<Json<'t>>,
    is_silent: bool,
    pub(super) zone: Zone<'t>,
    /// Number of the next object that is made.
    pub(super) made: Cell<i64>,
}

impl<'t> Run<'t> {
    /// # Errors
    /// 22023 for variables that are no object.
    pub(super) fn new(path: &'t JsonPath, call: Call<'t>) -> Result<Self> {
        let variables = call.variables.map(Json::new);
        if variables.is_some_and(|json| json.kind() != Kind::Object) {
            let message = "\"vars\" argument is not an object";
            let detail =
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            return Err(Error::new(SqlState::INVALID_PARAMETER, message).with_detail(detail));
        }
        Ok(Self {
            path,
            root: Item::part(call.value),
            variables,
            is_silent: call.is_silent,
            zone: call.zone,
            made: Cell::new(if variables.is_some() { 2 } else { 1 }),
        })
    }

    pub(super) fn is_lax(&self) -> bool {
        self.path.mode == PathMode::Lax
    }

    /// Finds what the path leads to.
    ///
    /// # Errors
    /// See [`super::find`].
    pub(super) fn search(&self, found: &mut Found<'_, 't>) -> Result<Outcome> {
        let scope = Scope {
            current: &self.root,
            size: None,
            ignores: self.is_lax(),
            raises: !self.is_silent,
            made: 0,
        };
        self.chain(&self.path.steps, scope, &self.root, found)
    }

    /// Whether the path leads to anything; in strict mode all of it is looked at.
    ///
    /// # Errors
    /// See [`super::find`].
    pub(super) fn exists(&self) -> Result<Outcome> {
        if self.is_lax() {
            return self.search(&mut Found::Any);
        }
        let mut items = Vec::new();
        Ok(match self.search(&mut Found::All(&mut items))? {
            Outcome::Failed => Outcome::Failed,
            _ if items.is_empty() => Outcome::Nothing,
            _ => Outcome::Found,
        })
    }

    /// The error of `state`, raised or not.
    pub(super) fn fail(
        &self,
        scope: Scope<'_, 't>,
        state: SqlState,
        message: impl FnOnce() -> String,
    ) -> Result<Outcome> {
        if scope.raises { Err(Error::new(state, message())) } else { Ok(Outcome::Failed) }
    }

    /// As [`Self::fail`], where the structure of values counts.
    fn misfit(
        &self,
        scope: Scope<'_, 't>,
        state: SqlState,
        message: impl FnOnce() -> String,
    ) -> Result<Outcome> {
        if scope.ignores { Ok(Outcome::Nothing) } else { self.fail(scope, state, message) }
    }

    /// All steps of a chain, from `item`.
    pub(super) fn chain(
        &self,
        steps: &Chain,
        scope: Scope<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        self.step(At { steps, scope, unwraps: self.is_lax() }, item, found)
    }

    /// The steps behind the first one.
    pub(super) fn next(
        &self,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        let rest = At { steps: &at.steps[1..], unwraps: self.is_lax(), ..at };
        if rest.steps.is_empty() {
            found.push(item.clone());
            return Ok(Outcome::Found);
        }
        stack::deep(|| self.step(rest, item, found))
    }

    fn step(&self, at: At<'_, 't>, item: &Item<'t>, found: &mut Found<'_, 't>) -> Result<Outcome> {
        let Some(step) = at.steps.first() else { return Ok(Outcome::Nothing) };
        let takes_elements = matches!(
            step,
            Step::Field(_)
                | Step::AnyField
                | Step::Filter(_)
                | Step::DateTime(_)
                | Step::Method(
                    types::json_path::PathMethod::Abs
                        | types::json_path::PathMethod::Floor
                        | types::json_path::PathMethod::Ceiling
                        | types::json_path::PathMethod::Double
                        | types::json_path::PathMethod::KeyValue
                )
        );
        if takes_elements && at.unwraps && item.is_array() {
            return self.elements(At { unwraps: false, ..at }, item, found);
        }
        match step {
            Step::Root => self.next(at, &self.root, found),
            Step::Current => self.next(at, at.scope.current, found),
            Step::Null => self.constant(at, || Ok(Item::part(b"null")), found),
            Step::Boolean(value) => self.constant(at, || Ok(Item::boolean(*value)), found),
            Step::Number(text) => self.constant(at, || Ok(Item::made(text.as_bytes())), found),
            Step::String(text) => self.constant(at, || Ok(Item::string(text)), found),
            Step::Variable(name) => self.constant(at, || self.variable(name), found),
            Step::Last => self.constant(at, || last_of(at.scope), found),
            Step::Predicate(predicate) => {
                let truth = self.truth(predicate, at.scope, item)?;
                self.constant(at, || Ok(truth.item()), found)
            }
            Step::Arithmetic(..) | Step::Minus(_) | Step::Plus(_) => {
                self.arithmetic(at, item, found)
            }
            Step::Field(name) => self.field(name, at, item, found),
            Step::AnyField if item.is_object() => self.elements_next(at, item, found),
            Step::AnyField => self.misfit(at.scope, SqlState::SQL_JSON_OBJECT_NOT_FOUND, || {
                "jsonpath wildcard member accessor can only be applied to an object".to_owned()
            }),
            Step::AnyElement if item.is_array() => self.elements_next(at, item, found),
            Step::AnyElement if self.is_lax() => self.next(at, item, found),
            Step::AnyElement => self.misfit(at.scope, SqlState::SQL_JSON_ARRAY_NOT_FOUND, || {
                "jsonpath wildcard array accessor can only be applied to an array".to_owned()
            }),
            Step::Elements(list) => self.subscripts(list, at, item, found),
            Step::AnyLevel(levels) => self.any_level(*levels, at, item, found),
            Step::Filter(predicate) => {
                let scope = Scope { current: item, ..at.scope };
                if self.truth(predicate, scope, item)? == super::predicate::Truth::True {
                    self.next(at, item, found)
                } else {
                    Ok(Outcome::Nothing)
                }
            }
            Step::Method(method) => self.method(*method, at, item, found),
            Step::DateTime(template) => self.date_time(template.as_deref(), at, item, found),
        }
    }

    /// A step that gives one value whatever it is applied to.
    fn constant(
        &self,
        at: At<'_, 't>,
        make: impl FnOnce() -> Result<Item<'t>>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        if at.steps.len() == 1 && found.is_any() {
            return Ok(Outcome::Found);
        }
        self.next(at, &make()?, found)
    }

    fn variable(&self, name: &str) -> Result<Item<'t>> {
        let Some(variables) = self.variables else { return Ok(Item::part(b"null")) };
        match variables.field(name.as_bytes())? {
            Some(value) => Ok(Item::part(value.bytes())),
            None => {
                let message = format!("could not find jsonpath variable \"{name}\"");
                Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
            }
        }
    }

    fn field(
        &self,
        name: &str,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        const STATE: SqlState = SqlState::SQL_JSON_MEMBER_NOT_FOUND;
        if !item.is_object() {
            return self.misfit(at.scope, STATE, || {
                "jsonpath member accessor can only be applied to an object".to_owned()
            });
        }
        match item.field(name)? {
            Some(value) => self.next(at, &value, found),
            None => self
                .misfit(at.scope, STATE, || format!("JSON object does not contain key \"{name}\"")),
        }
    }

    /// The first step, with each element of an array, or value of an object.
    fn elements(
        &self,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::Nothing;
        for child in item.children() {
            outcome = stack::deep(|| self.step(at, &child, found))?;
            if found.ends(outcome) {
                break;
            }
        }
        Ok(outcome)
    }

    /// The steps behind the first one, likewise.
    fn elements_next(
        &self,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::Nothing;
        for child in item.children() {
            outcome = self.next(at, &child, found)?;
            if found.ends(outcome) {
                break;
            }
        }
        Ok(outcome)
    }

    fn subscripts(
        &self,
        list: &[Subscript],
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        if !item.is_array() && !self.is_lax() {
            return self.misfit(at.scope, SqlState::SQL_JSON_ARRAY_NOT_FOUND, || {
                "jsonpath array accessor can only be applied to an array".to_owned()
            });
        }
        let elements = if item.is_array() { item.children() } else { vec![item.clone()] };
        let scope = Scope { size: Some(elements.len()), ..at.scope };
        let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
        let mut outcome = Outcome::Nothing;
        for subscript in list {
            let Some(from) = self.subscript(&subscript.from, scope, item)? else {
                return Ok(Outcome::Failed);
            };
            let to = match &subscript.to {
                None => Some(from),
                Some(to) => self.subscript(to, scope, item)?,
            };
            let Some(to) = to else { return Ok(Outcome::Failed) };
            if !scope.ignores && (from < 0 || from > to || to >= count) {
                return self.fail(scope, SqlState::INVALID_SQL_JSON_SUBSCRIPT, || {
                    "jsonpath array subscript is out of bounds".to_owned()
                });
            }
            outcome = Outcome::Nothing;
            let (first, last) = (from.max(0), to.min(count - 1));
            if first > last {
                continue;
            }
            for element in &elements[first as usize..=last as usize] {
                outcome = self.next(At { scope, ..at }, element, found)?;
                if found.ends(outcome) {
                    return Ok(outcome);
                }
            }
        }
        Ok(outcome)
    }

    /// A subscript's number; None for an error that is not raised.
    fn subscript(
        &self,
        steps: &Chain,
        scope: Scope<'_, 't>,
        item: &Item<'t>,
    ) -> Result<Option<i64>> {
        const STATE: SqlState = SqlState::INVALID_SQL_JSON_SUBSCRIPT;
        let mut items = Vec::new();
        let outcome = self.chain(steps, scope, item, &mut Found::All(&mut items))?;
        if outcome == Outcome::Failed {
            return Ok(None);
        }
        let number = match items.as_slice() {
            [item] => item.as_number()?,
            _ => None,
        };
        let Some(number) = number else {
            self.fail(scope, STATE, || {
                "jsonpath array subscript is not a single numeric value".to_owned()
            })?;
            return Ok(None);
        };
        match number.trunc(0)?.to_integer(types::DataType::Integer) {
            Ok(index) => Ok(Some(index)),
            Err(_) => {
                self.fail(scope, STATE, || {
                    "jsonpath array subscript is out of integer range".to_owned()
                })?;
                Ok(None)
            }
        }
    }

    fn any_level(
        &self,
        levels: Levels,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        let at = At { scope: Scope { ignores: true, ..at.scope }, ..at };
        if levels.first == 0 {
            let outcome = self.next(at, item, found)?;
            if outcome == Outcome::Found && found.is_any() {
                return Ok(outcome);
            }
        }
        self.level(&Depth { levels, level: 1 }, at, item, found)
    }

    /// Values below `item`, which are on level `level`.
    fn level(
        &self,
        depth: &Depth,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        let Depth { levels, level } = *depth;
        let mut outcome = Outcome::Nothing;
        if level > levels.last {
            return Ok(outcome);
        }
        let leaves = levels == Levels { first: Levels::LAST, last: Levels::LAST };
        for child in item.children() {
            let has_more = child.is_array() || child.is_object();
            if level >= levels.first || (leaves && !has_more) {
                outcome = self.next(at, &child, found)?;
                if found.ends(outcome) {
                    break;
                }
            }
            if level < levels.last && has_more {
                outcome = stack::deep(|| {
                    let depth = Depth { levels, level: level + 1 };
                    self.level(&depth, at, &child, found)
                })?;
                if found.ends(outcome) {
                    break;
                }
            }
        }
        Ok(outcome)
    }

    /// The values that a chain leads to; None for an error that is not raised.
    pub(super) fn values(
        &self,
        steps: &Chain,
        scope: Scope<'_, 't>,
        item: &Item<'t>,
        unwrap: Unwrap,
    ) -> Result<Option<Vec<Item<'t>>>> {
        let mut items = Vec::new();
        let outcome = self.chain(steps, scope, item, &mut Found::All(&mut items))?;
        if outcome == Outcome::Failed {
            return Ok(None);
        }
        if unwrap == Unwrap::Nothing || !self.is_lax() || !items.iter().any(Item::is_array) {
            return Ok(Some(items));
        }
        let unwrapped = items.into_iter().flat_map(|item| {
            if item.is_array() { item.children() } else { slice::from_ref(&item).to_vec() }
        });
        Ok(Some(unwrapped.collect()))
    }
}

/// The subscript of the last element.
fn last_of<'t>(scope: Scope<'_, 't>) -> Result<Item<'t>> {
    let size = scope.size.ok_or_else(|| Error::internal("last outside of a subscript"))?;
    let last = i64::try_from(size).unwrap_or(i64::MAX) - 1;
    Ok(Item::made(last.to_string()))
}
