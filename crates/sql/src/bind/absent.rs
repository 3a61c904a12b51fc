//! DROP of objects of kinds that no database here has, as PostgreSQL answers where there is none
//! of the name.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::name::object_parts;
use super::{Binder, fail};
use crate::parse::{Absent, AbsentForm, AbsentKind, AbsentObject};
use crate::statement::{IfMissing, Skipped, Statement};

/// An error instead of a notice: its SQLSTATE and text.
type Missing = (SqlState, String);

impl Binder<'_> {
    pub(super) fn bind_absent(&mut self, absent: &Absent) -> Result<Statement> {
        match absent {
            Absent::Drop { kind, if_missing, objects } => {
                let mut notices = Vec::with_capacity(objects.len());
                for object in objects {
                    let (notice, (state, message)) = self.missing(*kind, object)?;
                    if *if_missing == IfMissing::Fail {
                        return fail(state, message, None);
                    }
                    notices.push((
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("{notice} does not exist, skipping"),
                    ));
                }
                Ok(Statement::Skipped(Skipped { command: kind.command, notices }))
            }
        }
    }

    /// Describes the missing object: as the notice begins, and as the error.
    fn missing(&mut self, kind: AbsentKind, object: &AbsentObject) -> Result<(String, Missing)> {
        let undefined = SqlState::UNDEFINED_OBJECT;
        let parts = object_parts(&object.name)?;
        let written = parts.join(".");
        if let Some(table) = &object.table {
            return self.missing_of_table(kind, &written, table);
        }
        if let [schema, _] = parts.as_slice()
            && !self.catalog.has_schema(schema)
        {
            let text = format!("schema \"{schema}\"");
            return Ok((
                text.clone(),
                (SqlState::UNDEFINED_SCHEMA, format!("{text} does not exist")),
            ));
        }
        let label = kind.label;
        let plain = format!("{label} \"{written}\"");
        let missing = |state, text: &str| (state, format!("{text} does not exist"));
        match kind.form {
            AbsentForm::Global => Ok((plain.clone(), missing(undefined, &plain))),
            AbsentForm::Routine => self.routine(label, &written, object.arguments.as_deref()),
            _ => Ok((plain.clone(), missing(undefined, &plain))),
        }
    }

    fn missing_of_table(
        &self,
        kind: AbsentKind,
        name: &str,
        table: &ast::ObjectName,
    ) -> Result<(String, Missing)> {
        let full = self.relation_name(table)?;
        if self.catalog.relation(full.schema.as_deref(), &full.name).is_none() {
            let text = format!("relation \"{}\"", object_parts(table)?.join("."));
            let error = format!("{text} does not exist");
            return Ok((text, (SqlState::UNDEFINED_TABLE, error)));
        }
        let label = kind.label;
        let of = if label == "rule" { "relation" } else { "table" };
        let error = format!("{label} \"{name}\" for {of} \"{}\" does not exist", full.name);
        let notice = format!("{label} \"{name}\" for relation \"{}\"", full.name);
        Ok((notice, (SqlState::UNDEFINED_OBJECT, error)))
    }

    /// A function or its kin.
    fn routine(
        &mut self,
        label: &str,
        name: &str,
        arguments: Option<&[ast::DataType]>,
    ) -> Result<(String, Missing)> {
        let Some(arguments) = arguments else {
            let found = if label == "routine" { "function" } else { label };
            let error = format!("could not find a {found} named \"{name}\"");
            return Ok((format!("{label} {name}()"), (SqlState::UNDEFINED_FUNCTION, error)));
        };
        let mut types: Vec<DataType> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.data_type(argument, None) {
                Ok(ty) => types.push(ty),
                Err(_) => {
                    let text = format!("type \"{}\"", argument.to_string().to_lowercase());
                    let error = format!("{text} does not exist");
                    return Ok((text, (SqlState::UNDEFINED_OBJECT, error)));
                }
            }
        }
        let written: Vec<String> =
            arguments.iter().zip(&types).map(|(written, ty)| in_notice(written, *ty)).collect();
        let names: Vec<String> = types.iter().map(|ty| ty.name().to_owned()).collect();
        let star = if label == "aggregate" && names.is_empty() { "*" } else { "" };
        let error = format!("{label} {name}({}{star}) does not exist", names.join(","));
        Ok((
            format!("{label} {name}({})", written.join(",")),
            (SqlState::UNDEFINED_FUNCTION, error),
        ))
    }
}

impl Binder<'_> {
    /// A missing routine as notices name it.
    pub(super) fn missing_routine_notice(
        &mut self,
        label: &str,
        name: &str,
        arguments: &[ast::DataType],
    ) -> String {
        let shown = |written: &ast::DataType| match self.data_type(written, None) {
            Ok(ty) => in_notice(written, ty),
            Err(_) => written.to_string().to_lowercase(),
        };
        let written: Vec<String> = arguments.iter().map(shown).collect();
        format!("{label} {name}({})", written.join(","))
    }
}

/// A type as notices name it: words of SQL by their names in the catalog.
fn in_notice(written: &ast::DataType, ty: DataType) -> String {
    use ast::DataType as A;
    let name = match written {
        A::Text | A::Uuid | A::Bytea | A::Date | A::JSON | A::JSONB | A::Custom(..) => {
            return written.to_string().to_lowercase();
        }
        A::Array(_) => return written.to_string().to_lowercase(),
        _ => match ty {
            DataType::SmallInt => "int2",
            DataType::Integer => "int4",
            DataType::BigInt => "int8",
            DataType::Boolean => "bool",
            DataType::Real => "float4",
            DataType::Double => "float8",
            DataType::Numeric(_) | DataType::WideNumeric(_) => "numeric",
            DataType::Time(_) => "time",
            DataType::Timestamp(_) => "timestamp",
            DataType::TimestampTz(_) => "timestamptz",
            DataType::Interval(_) => "interval",
            DataType::Char(_) => "bpchar",
            DataType::Varchar(_) => "varchar",
            _ => return written.to_string().to_lowercase(),
        },
    };
    format!("pg_catalog.{name}")
}
