//! CREATE AGGREGATE: its options, its functions, the type of its result.
//!
//! Elsewhere: what needs values (INITCOND) and whether functions of the system are strict
//! (`engine::define::aggregate`), calls (`own_aggregate`).

use sqlparser::ast;
use types::{DataType, ElementType, Result, SqlState};

use super::polymorphic::{polymorphic, refuse_untold};
use super::routine::without_modifier;
use super::routine_choice::{Form, Given};
use super::scope::Clause;
use super::{Binder, fail, unsupported};
use crate::catalog::{
    AggregateDef, BodyForm, ColumnDef, Family, Language, LastTakes, NullInput, ParameterDef,
    ParameterMode, Polymorphic, RoutineDef, RoutineKind, RoutineType, RowCount, Security,
    StepFunction, Volatility,
};
use crate::parse::{CreateAggregateTree, ModeTree, OptionValue, ParameterTree, TypeTree};

const INVALID: SqlState = SqlState::INVALID_FUNCTION_DEFINITION;

/// Options that are kept as they were written.
const KEPT: [&str; 3] = ["sspace", "finalfunc_modify", "sortop"];

/// Options of aggregates that are not there.
const MISSING: [&str; 12] = [
    "hypothetical",
    "serialfunc",
    "deserialfunc",
    "msfunc",
    "minvfunc",
    "mstype",
    "msspace",
    "mfinalfunc",
    "mfinalfunc_extra",
    "mfinalfunc_modify",
    "minitcond",
    "sortop1",
];

/// Options by what they mean.
#[derive(Default)]
struct Options<'t> {
    base: Option<&'t OptionValue>,
    state: Option<&'t TypeTree>,
    transition: Option<&'t ast::ObjectName>,
    last: Option<&'t ast::ObjectName>,
    combine: Option<&'t ast::ObjectName>,
    initial: Option<&'t str>,
    last_takes: LastTakes,
    kept: Vec<(String, String)>,
    hints: Vec<(String, String)>,
}

impl<'t> Options<'t> {
    /// # Errors
    /// 0A000, 42601 for options that are not there.
    fn of(options: &'t [(String, OptionValue)]) -> Result<Self> {
        let mut all = Self::default();
        for (name, value) in options {
            match (name.as_str(), value) {
                ("basetype", value) => all.base = Some(value),
                ("stype" | "stype1", OptionValue::Type(ty)) => all.state = Some(ty),
                ("sfunc" | "sfunc1", OptionValue::Function(name)) => all.transition = Some(name),
                ("finalfunc", OptionValue::Function(name)) => all.last = Some(name),
                ("combinefunc", OptionValue::Function(name)) => all.combine = Some(name),
                ("initcond" | "initcond1", OptionValue::Text(text)) => all.initial = Some(text),
                ("finalfunc_extra", OptionValue::Text(text)) if is_true(text) => {
                    all.last_takes = LastTakes::Nulls;
                }
                ("finalfunc_extra", _) => {}
                ("parallel", OptionValue::Text(text)) => {
                    if !["safe", "restricted", "unsafe"].contains(&text.as_str()) {
                        let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                        return fail(SqlState::SYNTAX_ERROR, message, None);
                    }
                    all.hints.push((name.clone(), text.clone()));
                }
                (known, OptionValue::Text(text)) if KEPT.contains(&known) => {
                    all.kept.push((name.clone(), text.clone()));
                }
                (known, _) if MISSING.contains(&known) => {
                    return unsupported(format!("{known} of an aggregate"), None);
                }
                (name, _) => {
                    let message = format!("aggregate attribute \"{name}\" not recognized");
                    return fail(SqlState::SYNTAX_ERROR, message, None);
                }
            }
        }
        Ok(all)
    }
}

impl Options<'_> {
    /// STYPE and SFUNC.
    ///
    /// # Errors
    /// 42P13.
    fn needed(&self) -> Result<(&TypeTree, &ast::ObjectName)> {
        let missing = |option| fail(INVALID, format!("aggregate {option} must be specified"), None);
        match (self.state, self.transition) {
            (Some(state), Some(transition)) => Ok((state, transition)),
            (None, _) => missing("stype"),
            (_, None) => missing("sfunc"),
        }
    }
}

/// Types of the arguments of a function that an aggregate calls.
#[derive(Clone, Copy)]
struct Takes<'t> {
    types: &'t [RoutineType],
    /// How the last one is given.
    last: Form,
}

impl<'t> Takes<'t> {
    fn values(types: &'t [RoutineType]) -> Self {
        Self { types, last: Form::Value }
    }
}

/// A function that an aggregate calls, and its result.
struct Step {
    function: StepFunction,
    result: RoutineType,
}

impl Binder<'_> {
    /// The aggregate; its number is not known yet.
    ///
    /// # Errors
    /// 42P13, 42804, 42883, 0A000.
    pub(super) fn new_aggregate(&mut self, create: &CreateAggregateTree) -> Result<RoutineDef> {
        if create.is_ordered_set {
            return unsupported("an ordered-set aggregate", None);
        }
        let name = self.new_routine_name(create.name.clone())?;
        if name.schema.as_deref() == Some("pg_temp") {
            return unsupported("a temporary aggregate", None);
        }
        let options = Options::of(&create.options)?;
        let parameters = self.aggregate_parameters(create, &options)?;
        let (state, transition) = options.needed()?;
        let state = self.state_type(state, &parameters)?;
        let inputs: Vec<RoutineType> = parameters.iter().map(|input| input.ty.clone()).collect();
        let takes: Vec<RoutineType> = [&state].into_iter().chain(&inputs).cloned().collect();
        let is_variadic = parameters.iter().any(|known| known.mode == ParameterMode::Variadic);
        let last = if is_variadic { Form::Spread } else { Form::Value };
        let transition = self.step_giving(transition, Takes { types: &takes, last }, &state)?;
        let last = match options.last {
            Some(name) => {
                let all = match options.last_takes {
                    LastTakes::Nulls => Takes { types: &takes, last },
                    LastTakes::State => Takes::values(&takes[..1]),
                };
                Some(self.step(name, all)?)
            }
            None => None,
        };
        let combine = match options.combine {
            Some(name) => {
                let message = "return type of combine function";
                let states = [state.clone(), state.clone()];
                let step = self.step(name, Takes::values(&states))?;
                refuse_type(&step, &state, message, name)?;
                Some(step.function)
            }
            None => None,
        };
        let result = last.as_ref().map_or_else(|| state.clone(), |last| last.result.clone());
        refuse_untold(&parameters, &result)?;
        if options.kept.iter().any(|(known, _)| known == "sortop") && inputs.len() != 1 {
            let message = "sort operator can only be specified for single-argument aggregates";
            return fail(INVALID, message, None);
        }
        let aggregate = AggregateDef {
            transition,
            state,
            initial: options.initial.map(str::to_owned),
            last: last.map(|last| last.function),
            last_takes: options.last_takes,
            combine,
            options: options.kept,
        };
        Ok(RoutineDef {
            number: 0,
            name: name.key(),
            kind: RoutineKind::Aggregate,
            parameters,
            result,
            rows: RowCount::One,
            language: Language::Internal,
            body: "aggregate_dummy".to_owned(),
            form: BodyForm::Text,
            volatility: Volatility::Immutable,
            nulls: NullInput::Called,
            security: Security::Invoker,
            settings: Vec::new(),
            hints: options.hints,
            aggregate: Some(Box::new(aggregate)),
        })
    }

    /// STYPE.
    fn state_type(&mut self, tree: &TypeTree, parameters: &[ParameterDef]) -> Result<RoutineType> {
        let state = self.routine_type(tree)?;
        if matches!(state, RoutineType::Record | RoutineType::Void | RoutineType::Trigger) {
            let message = format!("aggregate transition data type cannot be {}", state.shown());
            return fail(INVALID, message, None);
        }
        refuse_untold(parameters, &state).map_err(|error| {
            let message = "cannot determine transition data type";
            let detail = error.detail().unwrap_or_default().to_owned();
            types::Error::new(INVALID, message).with_detail(detail)
        })?;
        Ok(state)
    }

    fn aggregate_parameters(
        &mut self,
        create: &CreateAggregateTree,
        options: &Options<'_>,
    ) -> Result<Vec<ParameterDef>> {
        let mut parameters = Vec::new();
        let Some(list) = &create.parameters else {
            let ty = match options.base {
                None => return fail(INVALID, "aggregate input type must be specified", None),
                Some(OptionValue::Type(ty)) if !is_any(ty) => ty.clone(),
                Some(_) => return Ok(parameters),
            };
            let tree = ParameterTree { mode: ModeTree::In, name: String::new(), ty, default: None };
            parameters.push(self.parameter(&tree, &[])?);
            return Ok(parameters);
        };
        if options.base.is_some() {
            let message = "basetype is redundant with aggregate input type specification";
            return fail(INVALID, message, None);
        }
        for tree in list {
            let parameter = self.parameter(tree, &parameters)?;
            if !matches!(parameter.mode, ParameterMode::In | ParameterMode::Variadic) {
                return fail(INVALID, "aggregates cannot have output arguments", None);
            }
            if parameter.default.is_some() {
                let message = "aggregates cannot have default arguments";
                return fail(SqlState::SYNTAX_ERROR, message, None);
            }
            parameters.push(parameter);
        }
        Ok(parameters)
    }

    /// SFUNC, which gives the next state.
    fn step_giving(
        &mut self,
        name: &ast::ObjectName,
        takes: Takes<'_>,
        state: &RoutineType,
    ) -> Result<StepFunction> {
        let step = self.step(name, takes)?;
        refuse_type(&step, state, "return type of transition function", name)?;
        Ok(step.function)
    }

    /// The function `name` of such arguments.
    fn step(&mut self, name: &ast::ObjectName, takes: Takes<'_>) -> Result<Step> {
        let Takes { types: takes, last } = takes;
        let missing = || {
            let shown: Vec<String> = takes.iter().map(RoutineType::shown).collect();
            let message = format!("function {name}({}) does not exist", shown.join(", "));
            fail(SqlState::UNDEFINED_FUNCTION, message, None)
        };
        let types = self.probed(takes, DataType::Integer)?;
        let found = self.routines_named(name)?;
        let mut given: Vec<Given> = types.iter().map(|ty| Given::of_type(*ty)).collect();
        if let Some(argument) = given.last_mut() {
            argument.form = last;
        }
        let Some(candidate) = self.best(found, &given, name)? else {
            return match self.system_step(name, takes)? {
                Some(step) => Ok(step),
                None => missing(),
            };
        };
        let routine = &candidate.routine;
        let pairs = takes.iter().zip(routine.inputs());
        let is_open = |(own, input): (&RoutineType, &ParameterDef)| {
            polymorphic(own).is_some() && polymorphic(&input.ty).is_none()
        };
        if routine.kind != RoutineKind::Function || pairs.into_iter().any(is_open) {
            return missing();
        }
        let is_text = |ty: &DataType| ty.is_text() && !matches!(ty, DataType::Char(_));
        let same =
            |(a, b): (&DataType, &DataType)| without_modifier(*a) == *b || is_text(a) && is_text(b);
        if !types.iter().zip(&candidate.types).all(same) && routine.variadic().is_none() {
            let message = format!("function {} requires run-time type coercion", routine.shown());
            return fail(SqlState::DATATYPE_MISMATCH, message, None);
        }
        if routine.rows == RowCount::Many {
            let message = format!("function {} returns a set", routine.shown());
            return fail(SqlState::DATATYPE_MISMATCH, message, None);
        }
        self.catalog.check_execute(routine)?;
        let is_polymorphic = takes.iter().any(|ty| polymorphic(ty).is_some());
        let result = if is_polymorphic {
            routine.result.clone()
        } else {
            candidate.instance.routine_type(&routine.result)
        };
        Ok(Step { function: StepFunction::Routine(routine.number), result })
    }

    /// A function of the system; None when there is none.
    fn system_step(
        &mut self,
        name: &ast::ObjectName,
        takes: &[RoutineType],
    ) -> Result<Option<Step>> {
        let of_integers = self.system_result(name, takes, DataType::Integer)?;
        let of_dates = self.system_result(name, takes, DataType::Date)?;
        let (Some(result), Some(other)) = (of_integers, of_dates) else { return Ok(None) };
        let family = takes.iter().find_map(polymorphic).map_or(Family::Same, Polymorphic::family);
        let result = match (result == other, result.is_array(), family) {
            (true, ..) => RoutineType::plain(without_modifier(result)),
            (_, true, Family::Same) => RoutineType::Polymorphic(Polymorphic::Array),
            (_, true, Family::Compatible) => RoutineType::Polymorphic(Polymorphic::CompatibleArray),
            (_, false, Family::Same) => RoutineType::Polymorphic(Polymorphic::Element),
            (_, false, Family::Compatible) => RoutineType::Polymorphic(Polymorphic::Compatible),
        };
        let bare = super::name::object_parts(name)?.pop().unwrap_or_default();
        let function = StepFunction::System(bare, NullInput::Called);
        Ok(Some(Step { function, result }))
    }

    /// The type that a function of the system gives, where polymorphic types are `own`.
    fn system_result(
        &mut self,
        name: &ast::ObjectName,
        takes: &[RoutineType],
        own: DataType,
    ) -> Result<Option<DataType>> {
        let types = self.probed(takes, own)?;
        let named = |at: usize| format!("a{at}");
        let columns: Vec<ColumnDef> =
            types.iter().enumerate().map(|(at, ty)| ColumnDef::new(named(at), *ty)).collect();
        let list: Vec<String> = (0..types.len()).map(named).collect();
        let call = crate::parse::parse_expr(&format!("{name}({})", list.join(", ")))?;
        match self.over_row(Clause::Default, &call, "aggregate", &columns) {
            Ok(bound) => Ok(Some(bound.ty())),
            Err(error) if error.state() == SqlState::UNDEFINED_FUNCTION => Ok(None),
            Err(error) => Err(error.without_position()),
        }
    }

    /// Types of values, `own` in the place of polymorphic ones.
    fn probed(&mut self, takes: &[RoutineType], own: DataType) -> Result<Vec<DataType>> {
        let mut types = Vec::with_capacity(takes.len());
        for ty in takes {
            types.push(match polymorphic(ty) {
                Some(ty) if ty.is_array() => {
                    ElementType::new(own).map_or(DataType::Unknown, DataType::Array)
                }
                Some(_) => own,
                None => self.held_type(ty)?,
            });
        }
        Ok(types)
    }
}

/// # Errors
/// 42804 for a function that gives no state.
fn refuse_type(step: &Step, state: &RoutineType, what: &str, name: &ast::ObjectName) -> Result<()> {
    if step.result.shown() == state.shown() {
        return Ok(());
    }
    let message = format!("{what} {name} is not {}", state.shown());
    fail(SqlState::DATATYPE_MISMATCH, message, None)
}

fn is_true(text: &str) -> bool {
    matches!(text, "true" | "on" | "1" | "yes")
}

/// `"any"`: no arguments.
fn is_any(ty: &TypeTree) -> bool {
    match ty {
        TypeTree::Declared(ty) => ty.to_string().trim_matches('"').eq_ignore_ascii_case("any"),
        TypeTree::ColumnOf(_) => false,
    }
}
