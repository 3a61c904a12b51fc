//! Types that users make: their names, statements about them, functions over enumerated types.
//!
//! Elsewhere: the types of every database (`types`), values of enumerated types
//! (`types::EnumType`).

use sqlparser::ast;
use types::packed::VECTOR_DIMENSIONS_MAX;
use types::{
    Attribute, DataType, ElementType, EnumType, PackedType, RecordField, Result, SqlState, Value,
    array, record,
};

use super::name::{object_at, object_parts};
use super::types::data_type;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, Function, Place};
use crate::catalog::{DomainUse, UserType};
use crate::parse::AttributeTree;
use crate::statement::{AttributeChange, RelationName, Statement, TypeStatement};

/// The type of vectors with the dimensions that `modifiers` say; another type as it is.
///
/// # Errors
/// 22023 for numbers of dimensions that there are none of, 22P02 for what is no number.
fn with_dimensions(ty: DataType, modifiers: &[String], at: Place) -> Result<DataType> {
    let DataType::Packed(PackedType::Vector(None)) = ty else { return Ok(ty) };
    let message = match modifiers {
        [] => return Ok(ty),
        [count] => match count.parse::<i32>().map(|count| (u16::try_from(count), count)) {
            Ok((Ok(count), 1..=DIMENSIONS_MAX)) => {
                return Ok(DataType::Packed(PackedType::Vector(Some(count))));
            }
            Ok((_, count)) if count > DIMENSIONS_MAX => {
                format!("dimensions for type vector cannot exceed {VECTOR_DIMENSIONS_MAX}")
            }
            Ok(_) => "dimensions for type vector must be at least 1".to_owned(),
            Err(_) => {
                let message = format!("invalid input syntax for type integer: \"{count}\"");
                return fail(SqlState::INVALID_TEXT, message, at);
            }
        },
        _ => "invalid type modifier".to_owned(),
    };
    fail(SqlState::INVALID_PARAMETER, message, at)
}

const DIMENSIONS_MAX: i32 = VECTOR_DIMENSIONS_MAX as i32;

impl Binder<'_> {
    /// The type that a type name denotes.
    ///
    /// # Errors
    /// 42704 when there is none, 3F000 for a schema that there is none of.
    pub(super) fn data_type(&mut self, ty: &ast::DataType, at: Place) -> Result<DataType> {
        use ast::ArrayElemTypeDef as E;
        match ty {
            ast::DataType::Custom(name, modifiers) => {
                let found = data_type(ty, at);
                match found {
                    Err(error) if error.state() == SqlState::UNDEFINED_OBJECT => {
                        let found = self.named_type(name)?.ok_or(error)?;
                        with_dimensions(found, modifiers, at)
                    }
                    found => found,
                }
            }
            ast::DataType::Array(E::SquareBracket(element, _) | E::Qualified(element, _)) => {
                let element = super::types::innermost(element);
                match DataType::array_of(self.data_type(element, at)?) {
                    Some(array) => Ok(array),
                    None => unsupported("an array of such elements", at),
                }
            }
            ty => data_type(ty, at),
        }
    }

    /// The type that users made and `name` means, or the type of arrays of it.
    fn named_type(&mut self, name: &ast::ObjectName) -> Result<Option<DataType>> {
        if let Some(found) = self.user_type(name)? {
            return plain_type(found).map(Some);
        }
        let mut parts = object_parts(name)?;
        let bare = parts.pop().unwrap_or_default();
        if let Some(ty) = self.type_of_extension(parts.last().map(String::as_str), &bare) {
            return Ok(Some(ty));
        }
        let Some(element) = bare.strip_prefix('_') else { return Ok(None) };
        let found = self.catalog.user_type(parts.pop().as_deref(), element);
        found.map(plain_type).transpose().map(|ty| ty.and_then(DataType::array_of))
    }

    /// The type called `name` of an extension that somebody created, or the type of its arrays.
    fn type_of_extension(&self, schema: Option<&str>, name: &str) -> Option<DataType> {
        let element = name.strip_prefix('_');
        let ty = PackedType::of_extension(element.unwrap_or(name))?;
        let extension = ty.extension()?;
        if !self.catalog.finds_extension(extension, self.called(schema)) {
            return None;
        }
        let ty = DataType::Packed(ty);
        if element.is_some() { DataType::array_of(ty) } else { Some(ty) }
    }

    /// The type that users made and `name` means.
    ///
    /// # Errors
    /// 3F000 for a schema that there is none of.
    pub(super) fn user_type(&mut self, name: &ast::ObjectName) -> Result<Option<UserType>> {
        let parts = object_parts(name)?;
        let (schema, bare) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return Ok(None),
        };
        if let Some(schema) = schema
            && !self.catalog.has_schema(schema)
        {
            let message = format!("schema \"{schema}\" does not exist");
            return fail(SqlState::UNDEFINED_SCHEMA, message, object_at(name));
        }
        // Text of definitions says the schemas of its types.
        let is_kept = self.definition_depth > 0;
        let meant = schema.or(is_kept.then_some("public"));
        let found = self.catalog.user_type(meant, bare);
        if let (None, Some(found), Some(at)) = (meant, &found, object_at(name)) {
            let schema = RelationName::schema_of_key(found.key());
            if schema != "public" {
                self.placed.push((at, schema.to_owned()));
            }
        }
        Ok(found)
    }

    /// A type's name with the schema in which the search path finds it.
    pub(super) fn type_found(&self, name: RelationName) -> RelationName {
        match self.catalog.user_type(name.schema.as_deref(), &name.name) {
            Some(found) => RelationName::of_key(found.key()),
            None => name,
        }
    }

    /// CREATE, ALTER and DROP TYPE: what they name is found when they run.
    pub(super) fn bind_type_statement(&mut self, statement: &TypeStatement) -> Result<Statement> {
        let mut statement = statement.clone();
        if let TypeStatement::Unsupported(what) = &statement {
            return unsupported(*what, None);
        }
        if let TypeStatement::CreateEnum { name, .. } = &mut statement {
            *name = self.new_type_name(name.clone())?;
        }
        for name in statement.known_names() {
            *name = self.type_found(name.clone());
        }
        Ok(Statement::Type(Box::new(statement)))
    }

    /// CREATE TYPE ... AS (...).
    pub(super) fn bind_create_composite(
        &mut self,
        name: &RelationName,
        attributes: &[(ast::Ident, ast::DataType)],
    ) -> Result<Statement> {
        let name = self.new_type_name(name.clone())?;
        let mut declared: Vec<Attribute> = Vec::with_capacity(attributes.len());
        for (ident, ty) in attributes {
            let (field, at) = (crate::parse::folded(ident), super::name::ident_at(ident));
            if declared.iter().any(|known| known.field.name == field) {
                let message = format!("column \"{field}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
            declared.push(self.attribute(ident, ty)?);
        }
        Ok(Statement::CreateComposite { name, attributes: declared })
    }

    /// An attribute of a composite type.
    fn attribute(&mut self, ident: &ast::Ident, ty: &ast::DataType) -> Result<Attribute> {
        let (name, at) = (crate::parse::folded(ident), super::name::ident_at(ident));
        let declared = self.declared_type(ty, at)?;
        if let DataType::Record(ty) = declared.ty.element().unwrap_or(declared.ty)
            && ty.key().is_none()
        {
            return unsupported("an attribute of the row type of a relation", at);
        }
        let domain = declared.domain.map(DomainUse::number);
        Ok(Attribute { field: RecordField { name, ty: declared.ty }, domain })
    }

    /// ALTER TYPE ... ATTRIBUTE.
    pub(super) fn bind_alter_composite(
        &mut self,
        name: &RelationName,
        changes: &[AttributeTree],
    ) -> Result<Statement> {
        let name = self.type_found(name.clone());
        let mut bound = Vec::with_capacity(changes.len());
        for change in changes {
            bound.push(match change {
                AttributeTree::Add(ident, ty) => AttributeChange::Add(self.attribute(ident, ty)?),
                AttributeTree::SetType(ident, ty) => {
                    AttributeChange::SetType(self.attribute(ident, ty)?)
                }
                AttributeTree::Drop(name, if_missing) => {
                    AttributeChange::Drop { name: name.clone(), if_missing: *if_missing }
                }
                AttributeTree::Rename(from, to) => {
                    AttributeChange::Rename { from: from.clone(), to: to.clone() }
                }
            });
        }
        Ok(Statement::AlterComposite { name, changes: bound })
    }

    /// The name of a type that is to be made.
    pub(super) fn new_type_name(&self, name: RelationName) -> Result<RelationName> {
        match name.schema.as_deref() {
            Some("pg_temp") => unsupported("a temporary type", None),
            Some(schema) if !self.catalog.has_schema(schema) => {
                let message = format!("schema \"{schema}\" does not exist");
                fail(SqlState::UNDEFINED_SCHEMA, message, None)
            }
            Some(_) => Ok(name),
            None => Ok(RelationName { schema: self.catalog.schema_of_new()?, ..name }),
        }
    }

    /// Tells the catalog which labels a literal at `at` names.
    pub(super) fn note_labels(&self, value: &Value, ty: DataType, at: Place) {
        let Some(position) = at else { return };
        match (value, ty) {
            (Value::I32(label), DataType::Enum(ty)) => {
                self.catalog.names_label(ty, *label, position);
            }
            (Value::Str(bytes), DataType::Array(element)) if has_labels(ty) => {
                for value in array::values(bytes, element) {
                    self.note_labels(&value, element.data_type(), at);
                }
            }
            (Value::Str(bytes), DataType::Record(record)) if has_labels(ty) => {
                for (value, field) in record::Fields::new(bytes, record).zip(record.fields()) {
                    self.note_labels(&value, field.ty, at);
                }
            }
            _ => {}
        }
    }

    /// `enum_first(t)`, `enum_last(t)`, `enum_range(t)` and `enum_range(from, to)`: what they give
    /// depends on the type of their arguments alone, but for the last one. None for other names.
    pub(super) fn bind_enum_function(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let count = match name {
            "enum_first" | "enum_last" => 1..=1,
            "enum_range" => 1..=2,
            _ => return Ok(None),
        };
        let mut types = arguments.iter().map(|argument| self.type_now(argument));
        let known = types.clone().find_map(|ty| match ty {
            DataType::Enum(ty) => Some(ty),
            _ => None,
        });
        let fits = |ty| match (ty, known) {
            (DataType::Enum(ty), Some(known)) => ty.is_same_object(known),
            (ty, _) => ty == DataType::Unknown,
        };
        let Some(ty) = known.filter(|_| count.contains(&arguments.len()) && types.all(fits)) else {
            return Ok(None);
        };
        let labels = ty.labels();
        if labels.is_empty() && name != "enum_range" {
            let message = format!("enum {} contains no values", ty.name());
            return fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, None);
        }
        let value = |label: Option<&types::EnumLabel>| match label {
            Some(label) => Expr::literal(Value::I32(label.position), DataType::Enum(ty)),
            None => Expr::null(DataType::Enum(ty)),
        };
        let expr = match (name, arguments) {
            ("enum_first", _) => value(labels.first()),
            ("enum_last", _) => value(labels.last()),
            (_, [from, to]) => self.enum_range(ty, from.clone(), to.clone())?,
            _ => whole_range(ty)?,
        };
        Ok(Some(Bound::new(expr, at)))
    }
}

impl Binder<'_> {
    /// The labels from `from` to `to`, where NULL is an end.
    fn enum_range(&mut self, ty: EnumType, from: Bound, to: Bound) -> Result<Expr> {
        let whole = whole_range(ty)?;
        let integer = DataType::Integer;
        let mut place_of = |bound: Bound, end: usize| -> Result<Expr> {
            let label = self.coerce(bound, DataType::Enum(ty), super::types::Context::Implicit)?;
            let found = Expr::call(Function::ArrayPosition, vec![whole.clone(), label], integer);
            // A type has fewer labels than i32 has numbers.
            let end = Expr::integer(i32::try_from(end).unwrap_or(i32::MAX));
            Ok(Expr::call(Function::Coalesce, vec![found, end], integer))
        };
        let (from, to) = (place_of(from, 1)?, place_of(to, ty.labels().len())?);
        let array = whole.ty;
        Ok(Expr::call(Function::ArraySlice, vec![whole, from, to], array))
    }
}

/// True for arrays and records that have values of an enumerated type.
fn has_labels(ty: DataType) -> bool {
    match ty {
        DataType::Enum(_) => true,
        DataType::Array(element) => has_labels(element.data_type()),
        DataType::Record(record) => record.any_field(&has_labels),
        _ => false,
    }
}

/// A type in a place that knows nothing of domains.
fn plain_type(found: UserType) -> Result<DataType> {
    match found {
        UserType::Domain(domain) => unsupported(format!("domain {} here", domain.name()), None),
        other => Ok(other.data_type()),
    }
}

/// An array of all labels.
fn whole_range(ty: EnumType) -> Result<Expr> {
    let element = ElementType::Enum(ty);
    let values: Vec<Value> = ty.labels().iter().map(|label| Value::I32(label.position)).collect();
    Ok(Expr::literal(array::from_values(&values, element)?, DataType::Array(element)))
}
