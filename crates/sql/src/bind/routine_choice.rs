//! Routine that a call means: candidates by name, those that fit, the best of them.
//!
//! ```text
//! f(a, b => c)   found by name -> slots (which argument each parameter takes)
//!                -> types of polymorphic parameters -> casts -> the best by PostgreSQL's rules
//! ```
//! Elsewhere: what the call gives (`routine_call`), types of polymorphic parameters
//! (`polymorphic`).
//! Source: PostgreSQL 15, section 10.3.

use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::array::made;
use super::name::{object_at, object_parts};
use super::polymorphic::{Taken, element_of, instance_of, polymorphic, refuse_open};
use super::routine::without_modifier;
use super::table_function::named_argument;
use super::types::{Context, can_cast, category};
use super::unmatched::no_function;
use super::{Binder, Bound, fail, place};
use crate::algebra::{Expr, Place};
use crate::catalog::{
    Instance, ParameterDef, ParameterMode, Polymorphic, RoutineDef, RoutineKind, RoutineType,
};
use crate::parse::{SPREAD, folded};
use crate::statement::RelationName;

/// How an argument is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a value.
    Value,
    /// As VARIADIC array.
    Spread,
}

/// An argument as a call writes it.
pub(super) struct Given {
    /// The name of the parameter, where the call says it.
    name: Option<String>,
    pub(super) form: Form,
    bound: Bound,
}

impl Given {
    /// An argument of type `ty` that is known by its place.
    pub(super) fn of_type(ty: DataType) -> Self {
        Self::of_value(Bound::new(Expr::null(ty), None))
    }

    /// A value that is known by its place.
    pub(super) fn of_value(bound: Bound) -> Self {
        Self { name: None, form: Form::Value, bound }
    }
}

/// A routine and the arguments of a call of it.
pub(super) struct Chosen {
    /// With the types of the call in the place of polymorphic ones.
    pub(super) routine: Arc<RoutineDef>,
    pub(super) instance: Instance,
    /// Values of the parameters that go in, of their types.
    pub(super) arguments: Vec<Expr>,
}

/// Name that a call has, and the kind of routine that it wants.
#[derive(Clone, Copy)]
pub(super) struct CallName<'a> {
    pub(super) name: &'a ast::ObjectName,
    pub(super) kind: RoutineKind,
}

/// Source of the value of a parameter.
#[derive(Clone, Copy)]
enum Slot {
    /// The argument at this place.
    Given(usize),
    /// An array of the arguments from this place on.
    Rest(usize),
    /// Its default.
    Default,
    /// Nothing: it only comes out.
    Nothing,
}

/// A routine that fits.
pub(super) struct Candidate {
    pub(super) routine: Arc<RoutineDef>,
    slots: Vec<Slot>,
    /// The types of the parameters, by place.
    pub(super) types: Vec<DataType>,
    pub(super) instance: Instance,
    taken: Vec<Taken>,
}

/// An argument beside the type that it becomes.
struct Pair {
    from: DataType,
    to: DataType,
    is_polymorphic: bool,
}

impl Pair {
    fn is_exact(&self) -> bool {
        without_modifier(self.from) == self.to && !self.is_polymorphic
    }
}

impl Candidate {
    /// The arguments with their types, those of an array of further ones each.
    fn pairs(&self, given: &[Given]) -> Vec<Pair> {
        let parameters = called_parameters(&self.routine);
        let mut pairs = Vec::with_capacity(given.len());
        for ((slot, ty), parameter) in self.slots.iter().zip(&self.types).zip(parameters) {
            let is_polymorphic = polymorphic(&parameter.ty).is_some();
            let pair = |given: &Given, to| Pair { from: given.bound.ty(), to, is_polymorphic };
            match slot {
                Slot::Given(at) => pairs.extend(given.get(*at).map(|given| pair(given, *ty))),
                Slot::Rest(from) => {
                    let to = ty.element().unwrap_or(*ty);
                    pairs.extend(given.iter().skip(*from).map(|given| pair(given, to)));
                }
                Slot::Default | Slot::Nothing => {}
            }
        }
        pairs
    }

    /// The parameters whose types the call decides, and how.
    fn open(&self) -> Vec<Option<Polymorphic>> {
        called_parameters(&self.routine).map(|parameter| polymorphic(&parameter.ty)).collect()
    }

    fn takes_rest(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Rest(_)))
    }
}

impl Binder<'_> {
    /// The routines that `name` means here.
    pub(super) fn routines_named(&self, name: &ast::ObjectName) -> Result<Vec<Arc<RoutineDef>>> {
        let parts = object_parts(name)?;
        let (schema, bare) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return Ok(Vec::new()),
        };
        if schema == Some("pg_catalog") {
            return Ok(Vec::new());
        }
        // Text of definitions says the schemas of its routines.
        let meant = schema.or((self.definition_depth > 0).then_some("public"));
        let found = self.catalog.routines(meant, bare);
        if let (true, Some(schema)) = (found.is_empty(), schema.filter(|schema| *schema != "main"))
            && !self.catalog.has_schema(schema)
        {
            let message = format!("schema \"{schema}\" does not exist");
            return fail(SqlState::UNDEFINED_SCHEMA, message, object_at(name));
        }
        Ok(found)
    }

    fn given(&mut self, args: &[ast::FunctionArg]) -> Result<Vec<Given>> {
        let mut given: Vec<Given> = Vec::with_capacity(args.len());
        for arg in args {
            let named = named_argument(arg).map(|(name, expr)| (folded(name), expr));
            let (name, form, bound) = match named {
                // The parser reads VARIADIC as a name.
                Some((name, expr)) if name == "variadic" => {
                    (None, Form::Spread, self.bind_expr(expr)?)
                }
                Some((name, expr)) => {
                    let bound = self.bind_expr(expr)?;
                    match name.strip_prefix(SPREAD) {
                        Some(name) => (Some(name.to_owned()), Form::Spread, bound),
                        None => (Some(name), Form::Value, bound),
                    }
                }
                None => {
                    if let Some(Given { name: Some(name), .. }) = given.last() {
                        let message =
                            format!("positional argument cannot follow named argument \"{name}\"");
                        return fail(SqlState::SYNTAX_ERROR, message, None);
                    }
                    (None, Form::Value, self.bind_plain_argument(arg)?)
                }
            };
            given.push(Given { name, form, bound: self.retyped(bound) });
        }
        Ok(given)
    }

    /// The routine that a call means, and its arguments; None when none fits.
    ///
    /// # Errors
    /// 42725 when several are equally good; 42501.
    pub(super) fn chosen(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
        kind: RoutineKind,
    ) -> Result<Option<Chosen>> {
        let found = self.routines_named(name)?;
        if found.is_empty() {
            return Ok(None);
        }
        let given = self.given(args)?;
        self.chosen_of(found, given, CallName { name, kind })
    }

    /// The routine among `found` that a call with these arguments means; None when none fits.
    ///
    /// # Errors
    /// As [`Self::chosen`].
    pub(super) fn chosen_of(
        &mut self,
        found: Vec<Arc<RoutineDef>>,
        given: Vec<Given>,
        call: CallName<'_>,
    ) -> Result<Option<Chosen>> {
        let CallName { name, kind } = call;
        let at = object_at(name);
        let Some(candidate) = self.best(found, &given, name)? else { return Ok(None) };
        if kind == RoutineKind::Aggregate && candidate.routine.kind != kind {
            return Ok(None);
        }
        refuse_kind(&candidate.routine, kind, at)?;
        refuse_open(&candidate.taken, candidate.instance).map_err(|error| place(error, at))?;
        self.catalog.check_execute(&candidate.routine).map_err(|error| place(error, at))?;
        if let (Some(at), 1) = (at, name.0.len()) {
            let schema = RelationName::schema_of_key(&candidate.routine.name);
            if schema != "public" && self.definition_depth == 0 {
                self.placed.push((at, schema.to_owned()));
            }
        }
        let arguments = self.arguments(&candidate, given)?;
        let Candidate { routine, instance, .. } = candidate;
        let routine =
            if instance.is_plain() { routine } else { Arc::new(instance.routine(&routine)) };
        Ok(Some(Chosen { routine, instance, arguments }))
    }

    /// # Errors
    /// 42883 for a call with named arguments that none of the routines of the name takes.
    pub(super) fn refuse_unfit_names(
        &mut self,
        function: &ast::Function,
        args: &[ast::FunctionArg],
    ) -> Result<()> {
        let is_named = args.iter().any(|arg| named_argument(arg).is_some());
        if !is_named || self.routines_named(&function.name)?.is_empty() {
            return Ok(());
        }
        let shown = |given: &Given| match (&given.name, given.form) {
            (Some(name), _) => format!("{name} => {}", given.bound.ty().name()),
            (None, Form::Spread) => format!("VARIADIC {}", given.bound.ty().name()),
            (None, Form::Value) => given.bound.ty().name().to_owned(),
        };
        let shown: Vec<String> = self.given(args)?.iter().map(shown).collect();
        let message = format!("function {}({}) does not exist", function.name, shown.join(", "));
        Err(no_function(message, object_at(&function.name)))
    }

    /// The best of the routines that fit.
    ///
    /// # Errors
    /// 42725 when several are equally good.
    pub(super) fn best(
        &mut self,
        found: Vec<Arc<RoutineDef>>,
        given: &[Given],
        name: &ast::ObjectName,
    ) -> Result<Option<Candidate>> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for routine in found {
            let Some(candidate) = self.candidate(routine, given)? else { continue };
            let types = |candidate: &Candidate| -> Vec<DataType> {
                candidate.pairs(given).iter().map(|pair| pair.to).collect()
            };
            let own = types(&candidate);
            let same = |known: &Candidate| {
                known.slots.len() == candidate.slots.len()
                    && known.types == candidate.types
                    && known.open() == candidate.open()
                    || (known.takes_rest() || candidate.takes_rest()) && types(known) == own
            };
            match candidates.iter().position(same) {
                // One that takes the arguments one by one hides one that takes an array of them.
                Some(at) if candidates[at].takes_rest() && !candidate.takes_rest() => {
                    candidates[at] = candidate;
                }
                // One of an earlier schema hides those of later ones.
                Some(_) => {}
                None => candidates.push(candidate),
            }
        }
        keep_best(&mut candidates, given);
        if candidates.len() > 1 {
            let types: Vec<&str> = given.iter().map(|given| given.bound.ty().name()).collect();
            let message = format!("function {name}({}) is not unique", types.join(", "));
            let error = types::Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            );
            return Err(place(error, object_at(name)));
        }
        Ok(candidates.pop())
    }

    /// The routine with the sources of its parameters' values; None when it does not fit.
    fn candidate(
        &mut self,
        routine: Arc<RoutineDef>,
        given: &[Given],
    ) -> Result<Option<Candidate>> {
        let parameters: Vec<&ParameterDef> = called_parameters(&routine).collect();
        let Some(slots) = slots(&parameters, given) else { return Ok(None) };
        let taken = self.taken(&parameters, &slots, given)?;
        let Some(instance) = instance_of(&taken) else { return Ok(None) };
        let mut types = Vec::with_capacity(slots.len());
        for (slot, parameter) in slots.iter().zip(&parameters) {
            // What literals leave open is refused when the routine is chosen.
            let ty = match instance.routine_type(&parameter.ty) {
                RoutineType::Polymorphic(_) => DataType::Unknown,
                ty => self.held_type(&ty)?,
            };
            let fits = |given: &Given, ty| {
                ty == DataType::Unknown || can_cast(given.bound.ty(), ty, Context::Implicit)
            };
            let is_fit = match slot {
                Slot::Given(at) => given.get(*at).is_some_and(|given| fits(given, ty)),
                Slot::Rest(from) => {
                    let element = ty.element().unwrap_or(ty);
                    given.iter().skip(*from).all(|given| fits(given, element))
                }
                Slot::Default | Slot::Nothing => true,
            };
            if !is_fit {
                return Ok(None);
            }
            types.push(ty);
        }
        Ok(Some(Candidate { routine, slots, types, instance, taken }))
    }

    /// The arguments of polymorphic parameters.
    fn taken(
        &mut self,
        parameters: &[&ParameterDef],
        slots: &[Slot],
        given: &[Given],
    ) -> Result<Vec<Taken>> {
        let mut taken = Vec::new();
        for (slot, parameter) in slots.iter().zip(parameters) {
            let Some(by) = polymorphic(&parameter.ty) else { continue };
            let argument = |by, given: &Given| Taken { by, ty: given.bound.ty() };
            match slot {
                Slot::Given(at) => taken.extend(given.get(*at).map(|given| argument(by, given))),
                Slot::Rest(from) => {
                    let by = element_of(by);
                    taken.extend(given.iter().skip(*from).map(|given| argument(by, given)));
                }
                Slot::Default => {
                    let tree =
                        crate::parse::parse_expr(parameter.default.as_deref().unwrap_or(""))?;
                    let bound = self.in_definition(|binder| binder.bind_expr(&tree))?;
                    taken.push(Taken { by, ty: bound.ty() });
                }
                Slot::Nothing => {}
            }
        }
        Ok(taken)
    }

    fn arguments(&mut self, candidate: &Candidate, given: Vec<Given>) -> Result<Vec<Expr>> {
        let mut given: Vec<Bound> = given.into_iter().map(|given| given.bound).collect();
        let parameters = called_parameters(&candidate.routine);
        let mut list = Vec::with_capacity(candidate.slots.len());
        for ((slot, ty), parameter) in candidate.slots.iter().zip(&candidate.types).zip(parameters)
        {
            let expr = match slot {
                Slot::Nothing => continue,
                Slot::Given(at) => {
                    let Some(bound) = given.get_mut(*at).map(Bound::taken) else { continue };
                    self.coerce(bound, *ty, Context::Implicit)?
                }
                Slot::Rest(from) => {
                    let element = ty.element().unwrap_or(*ty);
                    let mut rest = Vec::new();
                    for bound in given.split_off((*from).min(given.len())) {
                        let expr = self.coerce(bound, element, Context::Implicit)?;
                        rest.push(if expr.ty == element { expr } else { self.cast(expr, element) });
                    }
                    made(rest, *ty)?
                }
                Slot::Default => {
                    let text = parameter.default.as_deref().unwrap_or("NULL");
                    let tree = crate::parse::parse_expr(text)?;
                    self.in_definition(|binder| binder.default_value(&tree, *ty, &parameter.name))?
                }
            };
            // The callee knows the type by the parameter alone.
            let expr = if expr.ty == *ty { expr } else { self.cast(expr, *ty) };
            list.push(match &parameter.ty {
                RoutineType::Value(_, domain) => self.in_domain(expr, *domain)?,
                _ => expr,
            });
        }
        Ok(list)
    }
}

/// The sources of the parameters' values; None when the arguments are others.
fn slots(parameters: &[&ParameterDef], given: &[Given]) -> Option<Vec<Slot>> {
    let is_spread = given.iter().any(|given| given.form == Form::Spread);
    let variadic = parameters.iter().position(|known| known.mode == ParameterMode::Variadic);
    let mut slots: Vec<Option<Slot>> = vec![None; parameters.len()];
    let mut singles = given;
    match variadic {
        None if is_spread => return None,
        Some(_) if is_spread => {}
        Some(_) if given.iter().any(|given| given.name.is_some()) => return None,
        Some(at) if given.len() > at => {
            slots[at] = Some(Slot::Rest(at));
            singles = &given[..at];
        }
        _ => {}
    }
    for (at, given) in singles.iter().enumerate() {
        let place = match &given.name {
            None => Some(at),
            Some(name) => parameters.iter().position(|known| known.name == *name),
        };
        match place.and_then(|place| slots.get_mut(place)) {
            Some(slot @ None) => *slot = Some(Slot::Given(at)),
            _ => return None,
        }
    }
    let spread = |at: &usize| given.get(*at).is_some_and(|given| given.form == Form::Spread);
    if is_spread && !matches!(slots.last(), Some(Some(Slot::Given(at))) if spread(at)) {
        return None;
    }
    let mut all = Vec::with_capacity(slots.len());
    for (slot, parameter) in slots.into_iter().zip(parameters) {
        all.push(match slot {
            Some(Slot::Given(_)) if !parameter.mode.goes_in() => Slot::Nothing,
            Some(slot) => slot,
            None if parameter.default.is_some() => Slot::Default,
            None => return None,
        });
    }
    Some(all)
}

/// The parameters that a call has arguments for: a CALL those that come out, too.
fn called_parameters(routine: &RoutineDef) -> impl Iterator<Item = &ParameterDef> {
    let takes_all = routine.kind == RoutineKind::Procedure;
    let is_called = move |parameter: &&ParameterDef| {
        parameter.mode.goes_in() || takes_all && parameter.mode != ParameterMode::Table
    };
    routine.parameters.iter().filter(is_called)
}

/// # Errors
/// 42809 for a procedure in an expression, and for CALL of a function; 42803 for an aggregate where
/// it stands for a function.
fn refuse_kind(routine: &RoutineDef, wanted: RoutineKind, at: Place) -> Result<()> {
    if routine.kind == wanted {
        return Ok(());
    }
    let (message, hint) = match wanted {
        RoutineKind::Function if routine.kind == RoutineKind::Aggregate => {
            let message = "aggregate functions are not allowed in functions in FROM";
            return fail(SqlState::GROUPING_ERROR, message, at);
        }
        RoutineKind::Function | RoutineKind::Aggregate => {
            (format!("{} is a procedure", routine.shown()), "To call a procedure, use CALL.")
        }
        RoutineKind::Procedure => {
            (format!("{} is not a procedure", routine.shown()), "To call a function, use SELECT.")
        }
    };
    let error = types::Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint);
    Err(place(error, at))
}

/// Leaves the candidates that PostgreSQL's rules prefer.
fn keep_best(candidates: &mut Vec<Candidate>, given: &[Given]) {
    let count = |candidate: &Candidate, test: &dyn Fn(&Pair) -> bool| {
        candidate.pairs(given).iter().filter(|pair| test(pair)).count()
    };
    let is_known = |pair: &Pair| pair.from != DataType::Unknown;
    let rules: [&dyn Fn(&Candidate) -> usize; 4] = [
        &|candidate| count(candidate, &Pair::is_exact),
        &|candidate| {
            count(candidate, &|pair| is_known(pair) && (pair.is_exact() || is_preferred(pair.to)))
        },
        // Untyped literals are texts first.
        &|candidate| count(candidate, &|pair| !is_known(pair) && pair.to.is_text()),
        // Fewer defaults are closer.
        &|candidate| {
            candidate.slots.iter().filter(|slot| !matches!(slot, Slot::Default)).count() * 2
                + usize::from(!candidate.slots.iter().any(|slot| matches!(slot, Slot::Default)))
        },
    ];
    for rule in rules {
        let best = candidates.iter().map(rule).max().unwrap_or(0);
        candidates.retain(|candidate| rule(candidate) == best);
    }
    // Of one category, the preferred type.
    if candidates.len() > 1 {
        let categories = |candidate: &Candidate| -> Vec<_> {
            candidate.types.iter().map(|ty| category(*ty)).collect()
        };
        let preferred = |candidate: &Candidate| count(candidate, &|pair| is_preferred(pair.to));
        let first = candidates.first().map(categories).unwrap_or_default();
        if candidates.iter().all(|candidate| categories(candidate) == first) {
            let best = candidates.iter().map(preferred).max().unwrap_or(0);
            candidates.retain(|candidate| preferred(candidate) == best);
        }
    }
}

/// True for the type of its category that others are converted to.
fn is_preferred(ty: DataType) -> bool {
    matches!(
        ty,
        DataType::Double
            | DataType::Text
            | DataType::Boolean
            | DataType::TimestampTz(_)
            | DataType::Interval(_)
            | DataType::Oid
    )
}
