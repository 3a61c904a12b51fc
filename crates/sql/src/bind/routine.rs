//! CREATE, ALTER and DROP of functions and procedures: names, types, what makes no sense.
//!
//! Elsewhere: calls of them (`routine_call`), what their bodies mean (`engine`).

use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::domain::Declared;
use super::name::object_parts;
use super::polymorphic::refuse_untold;
use super::types::unmodified;
use super::{Binder, fail, unsupported};
use crate::catalog::{
    Language, ParameterDef, ParameterMode, Polymorphic, Relation, RoutineDef, RoutineKind,
    RoutineType, RowCount, routine_key,
};
use crate::definition::{BodyForm, NullInput, Security, Volatility};
use crate::parse::{
    AbsentObject, AlterRoutineTree, CreateRoutineTree, KindWord, ModeTree, ParameterTree,
    ReturnsTree, RoutineTree, TypeTree,
};
use crate::statement::{
    DoBlock, IfMissing, Objects, PrivilegeStatement, RelationName, RoutineChange, RoutineStatement,
    RoutineWord, Statement,
};

/// Types without values that routines cannot have here.
const OTHERS: [&str; 4] = ["event_trigger", "internal", "cstring", "any"];

/// A missing routine: as a notice and as an error call it, and the error's state.
type Missing = (String, String, SqlState);

impl Binder<'_> {
    /// A statement about routines.
    pub(super) fn bind_routine_statement(&mut self, tree: &RoutineTree) -> Result<Statement> {
        let statement = match tree {
            RoutineTree::Create(create) => {
                let (def, if_exists) = (self.new_routine(create)?, create.if_exists);
                RoutineStatement::Create { def, if_exists }
            }
            RoutineTree::CreateAggregate(create) => {
                let (def, if_exists) = (self.new_aggregate(create)?, create.if_exists);
                RoutineStatement::Create { def, if_exists }
            }
            RoutineTree::Drop { kind, if_missing, objects, behaviour } => {
                let (mut keys, mut notices) = (Vec::new(), Vec::new());
                for object in objects {
                    match self.routine_named(*kind, object)? {
                        Ok(found) => {
                            refuse_aggregate(*kind, &found, "to drop aggregate functions")?;
                            keys.push(found.key());
                        }
                        Err(missing) if *if_missing == IfMissing::Skip => {
                            let message = format!("{} does not exist, skipping", missing.0);
                            notices.push((SqlState::SUCCESSFUL_COMPLETION, message));
                        }
                        Err(missing) => return fail(missing.2, missing.1, None),
                    }
                }
                let (kind, behaviour) = (*kind, *behaviour);
                RoutineStatement::Drop { kind, keys, notices, behaviour }
            }
            RoutineTree::Alter { kind, object, change } => {
                let found = self.routine_named(*kind, object)?;
                let found = found.or_else(|missing| fail(missing.2, missing.1, None))?;
                let change = changed(change)?;
                RoutineStatement::Alter { kind: *kind, key: found.key(), change }
            }
            RoutineTree::Do { language, body } if language == "plpgsql" => {
                return Ok(Statement::Do(DoBlock { body: body.clone() }));
            }
            RoutineTree::Do { language, .. } if language == "sql" => {
                let message = "language \"sql\" does not support inline code execution";
                return fail(SqlState::FEATURE_NOT_SUPPORTED, message, None);
            }
            RoutineTree::Do { language, .. } => return no_language(language),
        };
        Ok(Statement::Routine(Box::new(statement)))
    }

    /// GRANT and REVOKE on functions and procedures.
    pub(super) fn privileges_on_routines(
        &mut self,
        statement: &PrivilegeStatement,
        word: RoutineWord,
        routines: &[AbsentObject],
    ) -> Result<Statement> {
        let kind = match word {
            RoutineWord::Function => Some(RoutineKind::Function),
            RoutineWord::Procedure => Some(RoutineKind::Procedure),
            RoutineWord::Routine => None,
        };
        let mut keys = Vec::with_capacity(routines.len());
        for object in routines {
            match self.routine_named(kind, object)? {
                Ok(routine) => keys.push(routine.key()),
                Err((_, message, state)) => return fail(state, message, None),
            }
        }
        let mut statement = statement.clone();
        if let PrivilegeStatement::Objects { objects, .. } = &mut statement {
            *objects = Objects::Routines(keys);
        }
        Ok(Statement::Privilege(Box::new(statement)))
    }

    fn new_routine(&mut self, create: &CreateRoutineTree) -> Result<RoutineDef> {
        let name = self.new_routine_name(create.name.clone())?;
        let attributes = &create.attributes;
        if let Some(what) = attributes.unsupported {
            return unsupported(what, None);
        }
        let language = match attributes.language.as_deref() {
            Some("sql") => Language::Sql,
            Some("plpgsql") => Language::PlPgSql,
            Some(other) => return no_language(other),
            None if attributes.form != BodyForm::Text => Language::Sql,
            None => {
                return fail(SqlState::INVALID_FUNCTION_DEFINITION, "no language specified", None);
            }
        };
        if attributes.form != BodyForm::Text && language != Language::Sql {
            let message = "inline SQL function body only valid for language SQL";
            return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
        }
        let Some(body) = attributes.body.clone() else {
            let message = "no function body specified";
            return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
        };
        if attributes.bodies > 1 {
            let message = "duplicate function body specified";
            return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
        }
        let mut settings = Vec::new();
        for change in &attributes.settings {
            change.clone().apply(&mut settings);
        }
        let mut parameters = Vec::with_capacity(create.parameters.len());
        for parameter in &create.parameters {
            let known = self.parameter(parameter, &parameters)?;
            parameters.push(known);
        }
        let (result, rows) = self.routine_result(create, &mut parameters)?;
        refuse_untold(&parameters, &result)?;
        Ok(RoutineDef {
            number: 0,
            name: name.key(),
            kind: create.kind,
            parameters,
            result,
            rows,
            language,
            body,
            form: attributes.form,
            volatility: attributes.volatility.unwrap_or_default(),
            nulls: attributes.nulls.unwrap_or_default(),
            security: attributes.security.unwrap_or_default(),
            settings,
            // NOT LEAKPROOF is how functions are.
            hints: attributes.hints.iter().filter(|hint| hint.1 != "false").cloned().collect(),
            aggregate: None,
        })
    }

    pub(super) fn new_routine_name(&self, name: RelationName) -> Result<RelationName> {
        match name.schema.as_deref() {
            Some("pg_temp") => Ok(name),
            _ => self.new_type_name(name),
        }
    }

    pub(super) fn parameter(
        &mut self,
        tree: &ParameterTree,
        before: &[ParameterDef],
    ) -> Result<ParameterDef> {
        let mode = match tree.mode {
            ModeTree::In => ParameterMode::In,
            ModeTree::Out => ParameterMode::Out,
            ModeTree::InOut => ParameterMode::InOut,
            ModeTree::Variadic => ParameterMode::Variadic,
        };
        let ty = self.routine_type(&tree.ty)?;
        refuse_variadic(mode, &ty, before)?;
        if matches!(ty, RoutineType::Record | RoutineType::Void | RoutineType::Trigger) {
            let message = match &ty {
                RoutineType::Record => return unsupported("a parameter of type record", None),
                ty => format!("SQL function cannot accept {} as an argument", ty.shown()),
            };
            return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
        }
        let same = |known: &&ParameterDef| {
            !tree.name.is_empty()
                && known.name == tree.name
                && (known.mode.goes_in() == mode.goes_in()
                    || known.mode.comes_out() == mode.comes_out())
        };
        if before.iter().any(|known| same(&known)) {
            let message = format!("parameter name \"{}\" used more than once", tree.name);
            return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
        }
        let default = match &tree.default {
            Some(_) if !mode.goes_in() => {
                let message = "only input parameters can have default values";
                return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
            }
            Some(expr) => {
                if let RoutineType::Value(held, _) = &ty {
                    self.default_value(expr, *held, &tree.name)?;
                }
                Some(self.defined(expr).to_string())
            }
            None => {
                let has_default = |known: &ParameterDef| known.default.is_some();
                if mode.goes_in() && before.iter().any(has_default) {
                    let message =
                        "input parameters after one with a default value must also have defaults";
                    return fail(SqlState::INVALID_FUNCTION_DEFINITION, message, None);
                }
                None
            }
        };
        Ok(ParameterDef { name: tree.name.clone(), mode, ty, default })
    }

    /// The type of the result; columns of RETURNS TABLE become parameters.
    fn routine_result(
        &mut self,
        create: &CreateRoutineTree,
        parameters: &mut Vec<ParameterDef>,
    ) -> Result<(RoutineType, RowCount)> {
        let state = SqlState::INVALID_FUNCTION_DEFINITION;
        let outputs: Vec<RoutineType> = parameters
            .iter()
            .filter(|parameter| parameter.mode.comes_out())
            .map(|parameter| parameter.ty.clone())
            .collect();
        let of_outputs = |outputs: &[RoutineType]| match outputs {
            [only] => only.clone(),
            _ => RoutineType::Record,
        };
        match &create.returns {
            Some(_) if create.kind == RoutineKind::Procedure => {
                fail(SqlState::SYNTAX_ERROR, "a procedure has no RETURNS", None)
            }
            None if create.kind == RoutineKind::Procedure => {
                let all = if outputs.is_empty() { RoutineType::Void } else { RoutineType::Record };
                Ok((all, RowCount::One))
            }
            None if outputs.is_empty() => {
                fail(state, "function result type must be specified", None)
            }
            None => Ok((of_outputs(&outputs), RowCount::One)),
            Some(ReturnsTree::Table(_)) if !outputs.is_empty() => fail(
                SqlState::SYNTAX_ERROR,
                "OUT and INOUT arguments aren't allowed in TABLE functions",
                None,
            ),
            Some(ReturnsTree::Table(columns)) => {
                let mut types = Vec::with_capacity(columns.len());
                for (name, ty) in columns {
                    let ty = self.routine_type(ty)?;
                    // In SQL a name may go in and come out.
                    let is_sql = create.attributes.language.as_deref() != Some("plpgsql");
                    let clashes = |known: &ParameterDef| {
                        known.name == *name && (!is_sql || known.mode.comes_out())
                    };
                    if parameters.iter().any(clashes) {
                        let message = format!("parameter name \"{name}\" used more than once");
                        return fail(state, message, None);
                    }
                    types.push(ty.clone());
                    let (name, mode) = (name.clone(), ParameterMode::Table);
                    parameters.push(ParameterDef { name, mode, ty, default: None });
                }
                Ok((of_outputs(&types), RowCount::Many))
            }
            Some(ReturnsTree::Type(rows, ty)) => {
                let ty = self.routine_type(ty)?;
                let meant = of_outputs(&outputs);
                if !outputs.is_empty() && meant != ty {
                    let message = format!(
                        "function result type must be {} because of OUT parameters",
                        meant.shown()
                    );
                    return fail(state, message, None);
                }
                Ok((ty, *rows))
            }
        }
    }

    /// The type that a routine's definition writes.
    pub(super) fn routine_type(&mut self, tree: &TypeTree) -> Result<RoutineType> {
        match tree {
            TypeTree::ColumnOf(parts) => self.column_type(parts),
            TypeTree::Declared(ty) => self.declared_routine_type(ty),
        }
    }

    fn declared_routine_type(&mut self, ty: &ast::DataType) -> Result<RoutineType> {
        let written = ty.to_string().to_lowercase();
        let bare = written.strip_prefix("pg_catalog.").unwrap_or(&written);
        match bare {
            "void" => return Ok(RoutineType::Void),
            "record" => return Ok(RoutineType::Record),
            "trigger" => return Ok(RoutineType::Trigger),
            other if OTHERS.contains(&other.trim_matches('"')) => {
                return unsupported(format!("type {bare} in functions"), None);
            }
            _ => {}
        }
        if let Some(ty) = Polymorphic::named(bare) {
            return Ok(RoutineType::Polymorphic(ty));
        }
        if let Some(DataType::Record(_)) = self.type_of_relation(ty)?
            && let ast::DataType::Custom(name, _) = ty
        {
            let full = self.relation_name(name)?;
            return Ok(RoutineType::Row(full.key()));
        }
        let Declared { ty, domain } = self.declared_type(ty, None)?;
        let ty = if domain.is_some() { ty } else { without_modifier(ty) };
        Ok(RoutineType::Value(ty, domain))
    }

    /// The type of a column, `table.column%TYPE`.
    fn column_type(&mut self, parts: &[String]) -> Result<RoutineType> {
        let (schema, table, column) = match parts {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema.clone()), table, column),
            _ => {
                let message = "improper %TYPE reference (too few dotted names)";
                return fail(SqlState::SYNTAX_ERROR, message, None);
            }
        };
        let full = self.found(RelationName { schema, name: table.clone() });
        match self.catalog.relation(full.schema.as_deref(), &full.name) {
            Some(Relation::Table(found)) => {
                let known = found.columns().iter().find(|known| known.name == *column);
                match known {
                    Some(known) => Ok(RoutineType::Value(without_modifier(known.ty), known.domain)),
                    None => {
                        let message =
                            format!("column \"{column}\" of relation \"{table}\" does not exist");
                        fail(SqlState::UNDEFINED_COLUMN, message, None)
                    }
                }
            }
            _ => {
                let message = format!("relation \"{table}\" does not exist");
                fail(SqlState::UNDEFINED_TABLE, message, None)
            }
        }
    }

    /// The routine that a statement names, or how a notice and an error call the missing one.
    pub(super) fn routine_named(
        &mut self,
        kind: KindWord,
        object: &AbsentObject,
    ) -> Result<Result<RoutineDef, Missing>> {
        let parts = object_parts(&object.name)?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return fail(SqlState::SYNTAX_ERROR, "improper qualified name", None),
        };
        let label = kind.map_or("routine", RoutineKind::name);
        let mut found = self.catalog.routines(schema, name);
        // FUNCTION names aggregates, too.
        let is_kind = |routine: &RoutineDef| {
            kind.is_none_or(|kind| {
                routine.kind == kind
                    || kind == RoutineKind::Function && routine.kind == RoutineKind::Aggregate
            })
        };
        if object.arguments.is_none() {
            found.retain(|routine| is_kind(routine));
        }
        let written = parts.join(".");
        let Some(arguments) = &object.arguments else {
            return only_one(found, label, &written);
        };
        let mut shown = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.declared_routine_type(argument) {
                Ok(ty) => shown.push(ty.shown()),
                Err(error) if error.state() == SqlState::FEATURE_NOT_SUPPORTED => {
                    shown.push(argument.to_string().to_lowercase());
                }
                Err(_) => {
                    let text = format!("type \"{}\"", argument.to_string().to_lowercase());
                    let error = format!("{text} does not exist");
                    return Ok(Err((text, error, SqlState::UNDEFINED_OBJECT)));
                }
            }
        }
        let is_it = |routine: &RoutineDef| routine.key() == routine_key(&routine.name, &shown);
        let known = found.iter().find(|routine| is_it(routine));
        Ok(match known {
            Some(routine) if !is_kind(routine) => {
                let message = match kind {
                    Some(RoutineKind::Aggregate) => {
                        format!("function {} is not an aggregate", routine.shown())
                    }
                    _ => format!("{} is not a {label}", routine.shown()),
                };
                return fail(SqlState::WRONG_OBJECT_TYPE, message, None);
            }
            Some(routine) => Ok(RoutineDef::clone(routine)),
            None => Err((
                self.missing_routine_notice(label, &written, arguments),
                format!("{label} {written}({}) does not exist", listed(kind, &shown)),
                SqlState::UNDEFINED_FUNCTION,
            )),
        })
    }
}

/// # Errors
/// 42809 for an aggregate where FUNCTION is written.
fn refuse_aggregate(kind: KindWord, routine: &RoutineDef, what: &str) -> Result<()> {
    if routine.kind != RoutineKind::Aggregate || kind != Some(RoutineKind::Function) {
        return Ok(());
    }
    let message = format!("\"{}\" is an aggregate function", routine.bare_name());
    let error = types::Error::new(SqlState::WRONG_OBJECT_TYPE, message);
    Err(error.with_hint(format!("Use DROP AGGREGATE {what}.")))
}

fn refuse_variadic(mode: ParameterMode, ty: &RoutineType, before: &[ParameterDef]) -> Result<()> {
    let state = SqlState::INVALID_FUNCTION_DEFINITION;
    let has_variadic = before.iter().any(|known| known.mode == ParameterMode::Variadic);
    if mode.goes_in() && has_variadic {
        return fail(state, "VARIADIC parameter must be the last input parameter", None);
    }
    let is_array = match ty {
        RoutineType::Value(ty, None) => ty.is_array(),
        RoutineType::Polymorphic(ty) => ty.is_array(),
        _ => false,
    };
    if mode == ParameterMode::Variadic && !is_array {
        return fail(state, "VARIADIC parameter must be an array", None);
    }
    Ok(())
}

/// A type as parameters and results have it: without length and digits.
pub(super) fn without_modifier(ty: DataType) -> DataType {
    match ty {
        ty if ty.is_numeric() => DataType::NUMERIC,
        DataType::Array(element) => {
            DataType::array_of(without_modifier(element.data_type())).unwrap_or(ty)
        }
        ty => unmodified(ty),
    }
}

/// The only routine of a name that a statement writes without arguments.
///
/// # Errors
/// 42725 for several.
fn only_one(
    mut found: Vec<Arc<RoutineDef>>,
    label: &str,
    written: &str,
) -> Result<Result<RoutineDef, Missing>> {
    if found.len() > 1 {
        let message = format!("{label} name \"{written}\" is not unique");
        let error = types::Error::new(SqlState::AMBIGUOUS_FUNCTION, message);
        let hint = format!("Specify the argument list to select the {label} unambiguously.");
        return Err(error.with_hint(hint));
    }
    Ok(found.pop().map(|routine| RoutineDef::clone(&routine)).ok_or_else(|| {
        let found = if label == "routine" { "function" } else { label };
        (
            format!("{label} {written}()"),
            format!("could not find a {found} named \"{written}\""),
            SqlState::UNDEFINED_FUNCTION,
        )
    }))
}

/// Types of arguments in a message; `*` for an aggregate without.
fn listed(kind: KindWord, shown: &[String]) -> String {
    match (kind, shown) {
        (Some(RoutineKind::Aggregate), []) => "*".to_owned(),
        _ => shown.join(", "),
    }
}

/// 42704 for a language that is none, 0A000 for others of PostgreSQL.
fn no_language<T>(name: &str) -> Result<T> {
    if matches!(name, "c" | "internal" | "plperl" | "plperlu" | "plpython3u" | "pltcl" | "pltclu") {
        return unsupported(format!("language {name}"), None);
    }
    fail(SqlState::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"), None)
}

fn changed(tree: &AlterRoutineTree) -> Result<RoutineChange> {
    Ok(match tree {
        AlterRoutineTree::Rename(to) => RoutineChange::Rename(to.clone()),
        AlterRoutineTree::Owner(to) => RoutineChange::Owner(to.clone()),
        AlterRoutineTree::Schema(to) => RoutineChange::Schema(to.clone()),
        AlterRoutineTree::Attributes(attributes) => {
            if let Some(what) = attributes.unsupported {
                return unsupported(what, None);
            }
            let volatility: Option<Volatility> = attributes.volatility;
            let (nulls, security): (Option<NullInput>, Option<Security>) =
                (attributes.nulls, attributes.security);
            RoutineChange::Attributes {
                volatility,
                nulls,
                security,
                settings: attributes.settings.clone(),
                hints: attributes.hints.clone(),
            }
        }
    })
}
