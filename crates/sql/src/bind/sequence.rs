//! Sequences: their definitions, and nextval and its kin.

use sqlparser::ast;
use types::{DataType, Error, RegKind, Result, SqlState};

use super::literal::constant_text;
use super::name::{expr_at, object_at};
use super::types::Context;
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{Expr, Function, Identity, Place, SessionFunction};
use crate::catalog::{SequenceDef, SequenceWrap, TableRef};
use crate::parse::SequenceOption;
use crate::statement::{
    AlterSequence, CreateSequence, Extent, IfExists, IfMissing, Persistence, Privileges,
    RelationName, SequenceChange, Statement,
};

/// `nextval` of a sequence known by name.
pub(super) fn next_value(sequence: &RelationName) -> Expr {
    let name = Expr::text(&sequence.quoted_in_schema());
    Expr::call(Function::NextVal, vec![name], DataType::BigInt)
}

/// The options of a sequence, as far as given.
#[derive(Default)]
pub(super) struct Options {
    ty: Option<DataType>,
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycle: Option<bool>,
    owner: Option<Option<(TableRef, usize)>>,
}

impl Binder<'_> {
    pub(super) fn bind_create_sequence(
        &mut self,
        name: &ast::ObjectName,
        if_exists: IfExists,
        persistence: Persistence,
        options: &[SequenceOption],
    ) -> Result<Statement> {
        let at = object_at(name);
        let name = self.new_name(name, persistence)?;
        let options = self.sequence_options(options)?;
        if options.restart.is_some() {
            return fail(SqlState::SYNTAX_ERROR, "syntax error at or near \"RESTART\"", at);
        }
        let owner = options.owner.clone().flatten();
        let definition = define(&options, None).map_err(|error| place(error, at))?;
        let create = CreateSequence { name, definition, owner, if_exists, persistence };
        Ok(Statement::CreateSequence(Box::new(create)))
    }

    pub(super) fn bind_alter_sequence(
        &mut self,
        name: &ast::ObjectName,
        if_missing: IfMissing,
        options: &[SequenceOption],
    ) -> Result<Statement> {
        let at = object_at(name);
        let Some((name, known)) = self.sequence_named(name, if_missing)? else {
            return Ok(Statement::AlterSequence(None));
        };
        let options = self.sequence_options(options)?;
        let (definition, restart) = redefined(&options, &known, at)?;
        let change = SequenceChange::Options { definition, restart, owner: options.owner };
        Ok(Statement::AlterSequence(Some(Box::new(AlterSequence { name, if_missing, change }))))
    }

    /// How the sequence of an identity column counts after these options, and where it goes on
    /// when they restart it.
    pub(super) fn changed_sequence(
        &mut self,
        name: &RelationName,
        options: &[SequenceOption],
        at: Place,
    ) -> Result<(SequenceDef, Option<i64>)> {
        let Some(known) = self.catalog.sequence(Some(name.schema_name()), &name.name) else {
            return Err(Error::internal("an identity has a sequence"));
        };
        let options = self.sequence_options(options)?;
        if options.owner.is_some() || options.ty.is_some_and(|ty| ty != known.ty) {
            let message = "identity column type must be that of its sequence";
            return fail(SqlState::INVALID_PARAMETER, message, at);
        }
        redefined(&options, &known, at)
    }

    /// The definition of the sequence of an identity whose column gets type `ty`.
    pub(super) fn sequence_of_type(
        &self,
        name: &RelationName,
        ty: DataType,
    ) -> Result<SequenceDef> {
        let Some(known) = self.catalog.sequence(Some(name.schema_name()), &name.name) else {
            return Err(Error::internal("an identity has a sequence"));
        };
        let ty = sequence_type(ty).map_err(|error| {
            let message = "identity column type must be smallint, integer, or bigint";
            Error::new(error.state(), message)
        })?;
        define(&Options { ty: Some(ty), ..Options::default() }, Some(&known))
    }

    pub(super) fn bind_rename_sequence(
        &mut self,
        name: &ast::ObjectName,
        if_missing: IfMissing,
        to: &str,
    ) -> Result<Statement> {
        let Some((name, _)) = self.sequence_named(name, if_missing)? else {
            return Ok(Statement::AlterSequence(None));
        };
        let change = SequenceChange::Rename(to.to_owned());
        Ok(Statement::AlterSequence(Some(Box::new(AlterSequence { name, if_missing, change }))))
    }

    /// ALTER TABLE ... RENAME TO of a sequence, which is ALTER SEQUENCE.
    pub(super) fn bind_sequence_as_table(
        &mut self,
        alter: &ast::AlterTable,
        name: &RelationName,
    ) -> Result<Option<Statement>> {
        use ast::AlterTableOperation as Op;
        let [Op::RenameTable { table_name: ast::RenameTableNameKind::To(to) }] =
            alter.operations.as_slice()
        else {
            return Ok(None);
        };
        if self.catalog.sequence(name.schema.as_deref(), &name.name).is_none() {
            return Ok(None);
        }
        let to = super::name::object_parts(to)?.pop().unwrap_or_default();
        self.bind_rename_sequence(&alter.name, IfMissing::Fail, &to).map(Some)
    }

    fn sequence_named(
        &self,
        name: &ast::ObjectName,
        if_missing: IfMissing,
    ) -> Result<Option<(RelationName, SequenceDef)>> {
        let full = self.relation_name(name)?;
        match self.catalog.sequence(full.schema.as_deref(), &full.name) {
            Some(definition) => Ok(Some((full, definition))),
            None if if_missing == IfMissing::Skip => Ok(None),
            None => match self.catalog.relation(full.schema.as_deref(), &full.name) {
                Some(_) => {
                    let message = format!("\"{full}\" is not a sequence");
                    fail(SqlState::WRONG_OBJECT_TYPE, message, object_at(name))
                }
                None => {
                    let message = format!("relation \"{full}\" does not exist");
                    fail(SqlState::UNDEFINED_TABLE, message, object_at(name))
                }
            },
        }
    }

    fn sequence_options(&mut self, list: &[SequenceOption]) -> Result<Options> {
        let mut options = Options::default();
        for option in list {
            let repeated = match option {
                SequenceOption::As(ty) => {
                    options.ty.replace(sequence_type(self.data_type(ty, None)?)?).is_some()
                }
                SequenceOption::Increment(value) => {
                    options.increment.replace(self.whole(value)?).is_some()
                }
                SequenceOption::Min(value) => {
                    let value = value.as_ref().map(|value| self.whole(value)).transpose()?;
                    options.min.replace(value).is_some()
                }
                SequenceOption::Max(value) => {
                    let value = value.as_ref().map(|value| self.whole(value)).transpose()?;
                    options.max.replace(value).is_some()
                }
                SequenceOption::Start(value) => options.start.replace(self.whole(value)?).is_some(),
                SequenceOption::Restart(value) => {
                    let value = value.as_ref().map(|value| self.whole(value)).transpose()?;
                    options.restart.replace(value).is_some()
                }
                SequenceOption::Cache(value) => options.cache.replace(self.whole(value)?).is_some(),
                SequenceOption::Cycle(cycle) => options.cycle.replace(*cycle).is_some(),
                SequenceOption::Owner(owner) => {
                    let owner = owner.as_ref().map(|owner| self.owner(owner)).transpose()?;
                    options.owner.replace(owner).is_some()
                }
            };
            if repeated {
                return fail(SqlState::SYNTAX_ERROR, "conflicting or redundant options", None);
            }
        }
        Ok(options)
    }

    /// The definition that sqlparser's options of an identity column give.
    pub(super) fn identity_definition(
        &mut self,
        list: &[ast::SequenceOptions],
        ty: DataType,
    ) -> Result<SequenceDef> {
        let mut options = Options { ty: Some(sequence_type(ty)?), ..Options::default() };
        let optional = |binder: &mut Self, value: &Option<ast::Expr>| {
            value.as_ref().map(|value| binder.whole(value)).transpose()
        };
        for option in list {
            match option {
                ast::SequenceOptions::IncrementBy(value, _) => {
                    options.increment = Some(self.whole(value)?);
                }
                ast::SequenceOptions::MinValue(value) => {
                    options.min = Some(optional(self, value)?);
                }
                ast::SequenceOptions::MaxValue(value) => {
                    options.max = Some(optional(self, value)?);
                }
                ast::SequenceOptions::StartWith(value, _) => {
                    options.start = Some(self.whole(value)?);
                }
                ast::SequenceOptions::Cache(value) => options.cache = Some(self.whole(value)?),
                // sqlparser's flag is true for NO CYCLE.
                ast::SequenceOptions::Cycle(no) => options.cycle = Some(!no),
            }
        }
        define(&options, None)
    }

    /// The sequence of a `serial` column of type `ty`.
    pub(super) fn serial_definition(ty: DataType) -> Result<SequenceDef> {
        define(&Options { ty: Some(ty), ..Options::default() }, None)
    }

    /// A whole number that a definition needs.
    fn whole(&mut self, expr: &ast::Expr) -> Result<i64> {
        let at = expr_at(expr);
        let text = crate::parse::option_word(expr).unwrap_or_default();
        let text = match expr {
            ast::Expr::UnaryOp { op: ast::UnaryOperator::Plus, expr } => {
                crate::parse::option_word(expr).unwrap_or_default()
            }
            _ => text,
        };
        match text.parse::<i64>() {
            Ok(value) => Ok(value),
            Err(_) => fail(SqlState::SYNTAX_ERROR, "a whole number is needed here", at),
        }
    }

    /// `table.column` of OWNED BY.
    fn owner(&self, name: &ast::ObjectName) -> Result<(TableRef, usize)> {
        let at = object_at(name);
        let mut parts = name.0.clone();
        let Some(last) = parts.pop().filter(|_| !parts.is_empty()) else {
            let error = Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option")
                .with_hint("Specify OWNED BY table.column or OWNED BY NONE.");
            return Err(place(error, at));
        };
        let table = self.table_named(&ast::ObjectName(parts))?;
        let ast::ObjectNamePart::Identifier(column) = last else {
            return unsupported("this form of column name", at);
        };
        let ordinals = self.column_ordinals(&table, std::slice::from_ref(&column))?;
        Ok((table, ordinals.first().copied().unwrap_or_default()))
    }

    /// nextval, currval, setval and lastval; None for other functions.
    pub(super) fn sequence_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        if let Some(function) = SessionFunction::called(name, arguments.len())
            && let Some(types) = function.parameters(arguments.len())
        {
            // Of times there is another function of this name.
            if function == SessionFunction::Identity(Identity::Age)
                && arguments.first().is_none_or(|bound| bound.ty() != DataType::Xid)
            {
                return Ok(None);
            }
            if let (SessionFunction::ClockTimestamp, Some(moment)) = (function, &self.moment) {
                return Ok(Some(Bound::new(moment.clone(), at)));
            }
            return self.session_call(function, arguments, types, at).map(Some);
        }
        let function = match (name, arguments.len()) {
            ("nextval", 1) => Function::NextVal,
            ("currval", 1) => Function::CurrVal,
            ("setval", 2 | 3) => Function::SetVal,
            ("lastval", 0) => Function::LastVal,
            _ => return Ok(None),
        };
        let types = [DataType::Text, DataType::BigInt, DataType::Boolean];
        let mut list = Vec::with_capacity(arguments.len());
        for (argument, ty) in arguments.iter().zip(types) {
            let bound = self.retyped(argument.clone());
            // The name of a relation that was looked up is one that the search path finds.
            let context = match bound.ty() {
                DataType::Reg(RegKind::Class) => Context::Explicit,
                _ => Context::Implicit,
            };
            list.push(self.coerce(bound, ty, context)?);
        }
        if let Some(sequence) = list.first_mut()
            && let Some(text) = constant_text(sequence)
        {
            let full = RelationName::parse_in(&text, self.catalog.database());
            let full = full.map_err(|error| place(error, at))?;
            let full = self.found(full);
            if self.definition_depth == 0 && full.schema.is_some() {
                // Whoever names it may look into its schema.
                self.require_any(&full.key(), Privileges::NONE, Extent::Whole);
            }
            if self.catalog.sequence(full.schema.as_deref(), &full.name).is_none() {
                let (state, message) = if self.is_relation(&full) {
                    (SqlState::WRONG_OBJECT_TYPE, format!("\"{full}\" is not a sequence"))
                } else {
                    (SqlState::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"))
                };
                return fail(state, message, arguments.first().and_then(|bound| bound.at).or(at));
            }
            if let (Some(_), Some(at)) = (&full.schema, arguments.first().and_then(|a| a.at)) {
                self.zone.moved.push((at, full.quoted()));
            }
            // At run time names without a schema are looked for.
            *sequence = Expr::text(&full.quoted_in_schema());
        }
        Ok(Some(Bound::new(Expr::call(function, list, DataType::BigInt), at)))
    }

    fn session_call(
        &mut self,
        function: SessionFunction,
        arguments: &[Bound],
        types: &[DataType],
        at: Place,
    ) -> Result<Bound> {
        let mut list = Vec::with_capacity(arguments.len());
        for (argument, ty) in arguments.iter().zip(types) {
            let bound = self.retyped(argument.clone());
            list.push(self.coerce(bound, *ty, Context::Assignment)?);
        }
        let call = Expr::call(Function::Session(function), list, function.result());
        Ok(Bound::new(call, at))
    }

    fn is_relation(&self, name: &RelationName) -> bool {
        self.catalog.relation(name.schema.as_deref(), &name.name).is_some()
    }
}

/// 22023 unless a sequence can be of type `ty`.
fn sequence_type(ty: DataType) -> Result<DataType> {
    match ty {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => Ok(ty),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            Err(Error::new(SqlState::INVALID_PARAMETER, message))
        }
    }
}

/// The definition that ALTER leaves, and the value that RESTART gives.
fn redefined(
    options: &Options,
    known: &SequenceDef,
    at: Place,
) -> Result<(SequenceDef, Option<i64>)> {
    let definition = define(options, Some(known)).map_err(|error| place(error, at))?;
    let restart = options.restart.map(|value| value.unwrap_or(definition.start));
    if let Some(value) = restart {
        check_bounds("RESTART", value, &definition).map_err(|error| place(error, at))?;
    }
    Ok((definition, restart))
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::new(SqlState::INVALID_PARAMETER, message))
}

/// The least and the greatest value of a type of sequences.
fn bounds_of(ty: DataType) -> (i64, i64) {
    match ty {
        DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

/// The definition that `options` give, over `known` when it exists already.
fn define(options: &Options, known: Option<&SequenceDef>) -> Result<SequenceDef> {
    let ty = options.ty.or(known.map(|known| known.ty)).unwrap_or(DataType::BigInt);
    let (lowest, highest) = bounds_of(ty);
    let increment = options.increment.or(known.map(|known| known.increment)).unwrap_or(1);
    if increment == 0 {
        return invalid("INCREMENT must not be zero".to_owned());
    }
    let ascending = increment > 0;
    // Bounds that were those of the type before follow it.
    let before = known.filter(|known| known.ty != ty).map(|known| bounds_of(known.ty));
    let kept_max = known.filter(|known| before.is_none_or(|(_, max)| known.max != max));
    let kept_min = known.filter(|known| before.is_none_or(|(min, _)| known.min != min));
    let is_new = known.is_none();
    let max = match options.max {
        Some(Some(max)) => max,
        Some(None) => {
            if ascending {
                highest
            } else {
                -1
            }
        }
        None => kept_max.map_or(if ascending || !is_new { highest } else { -1 }, |k| k.max),
    };
    let min = match options.min {
        Some(Some(min)) => min,
        Some(None) => {
            if ascending {
                1
            } else {
                lowest
            }
        }
        None => kept_min.map_or(if ascending && is_new { 1 } else { lowest }, |k| k.min),
    };
    for (name, value) in [("MAXVALUE", max), ("MINVALUE", min)] {
        if value < lowest || value > highest {
            let ty = ty.name();
            return invalid(format!(
                "{name} ({value}) is out of range for sequence data type {ty}"
            ));
        }
    }
    if min >= max {
        return invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
    }
    let first = if ascending { min } else { max };
    let start = options.start.or(known.map(|known| known.start)).unwrap_or(first);
    let cache = options.cache.or(known.map(|known| known.cache)).unwrap_or(1);
    if cache < 1 {
        return invalid(format!("CACHE ({cache}) must be greater than zero"));
    }
    let wrap = match (options.cycle, known) {
        (Some(true), _) => SequenceWrap::Cycle,
        (Some(false), _) | (None, None) => SequenceWrap::Fail,
        (None, Some(known)) => known.wrap,
    };
    let definition = SequenceDef { ty, increment, min, max, start, cache, wrap };
    check_bounds("START", start, &definition)?;
    Ok(definition)
}

fn check_bounds(name: &str, value: i64, definition: &SequenceDef) -> Result<()> {
    let SequenceDef { min, max, .. } = definition;
    if value < *min {
        return invalid(format!("{name} value ({value}) cannot be less than MINVALUE ({min})"));
    }
    if value > *max {
        return invalid(format!("{name} value ({value}) cannot be greater than MAXVALUE ({max})"));
    }
    Ok(())
}
