//! Types of ranges that users make: CREATE TYPE ... AS RANGE, and the functions called as they are.
//!
//! Elsewhere: other functions on ranges, which take those of users, too (`packed`); names of types
//! (`user_type`).

use sqlparser::ast;
use types::packed::PackedCall;
use types::{DataType, ElementType, PackedType, RangeKind, RangeOptions, Result, SqlState};

use super::name::{object_at, object_parts};
use super::types::Context;
use super::unmatched::no_function;
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::Place;
use crate::catalog::UserType;
use crate::parse::RangeAttribute;
use crate::statement::{NewRange, RelationName, Statement};

impl Binder<'_> {
    /// CREATE TYPE ... AS RANGE (...).
    pub(super) fn bind_create_range(
        &mut self,
        name: &RelationName,
        attributes: &[RangeAttribute],
    ) -> Result<Statement> {
        let name = self.new_type_name(name.clone())?;
        let mut kinds: Vec<_> = attributes.iter().map(std::mem::discriminant).collect();
        kinds.dedup();
        if (1..kinds.len()).any(|at| kinds[..at].contains(&kinds[at]))
            || kinds.len() < attributes.len()
        {
            return fail(SqlState::SYNTAX_ERROR, "conflicting or redundant options", None);
        }
        let (mut element, mut multirange, mut collation) = (None, None, None);
        let mut options = RangeOptions::default();
        for attribute in attributes {
            match attribute {
                RangeAttribute::Subtype(ty) => element = Some(self.bound_type(ty)?),
                RangeAttribute::Class(class) => options.class.clone_from(class),
                RangeAttribute::Collation(name) => collation = Some(name),
                RangeAttribute::Canonical => {
                    return unsupported("a canonical function of a range type", None);
                }
                RangeAttribute::Difference(name) => {
                    options.difference = match name.schema.as_deref() {
                        Some("pg_catalog") => name.name.clone(),
                        _ => name.key(),
                    };
                }
                RangeAttribute::Multirange(name) => {
                    multirange = Some(self.new_type_name(name.clone())?);
                }
                RangeAttribute::Unknown(name) => {
                    let message = format!("type attribute \"{name}\" not recognized");
                    return fail(SqlState::SYNTAX_ERROR, message, None);
                }
            }
        }
        let Some(element) = element else {
            return fail(SqlState::SYNTAX_ERROR, "type attribute \"subtype\" is required", None);
        };
        if let Some(collation) = collation {
            options.collation = self.bound_collation(collation, element.data_type())?;
        }
        Ok(Statement::CreateRange(Box::new(NewRange { name, multirange, element, options })))
    }

    /// The type of the bounds that `ty` names, without lengths.
    ///
    /// # Errors
    /// 42704 for one whose values have no order, 0A000 for one of which there are no ranges here.
    fn bound_type(&mut self, ty: &ast::DataType) -> Result<ElementType> {
        let declared = self.declared_type(ty, None)?;
        let found = match declared.ty.of_all_digits() {
            DataType::Numeric(_) | DataType::WideNumeric(_) => DataType::NUMERIC,
            DataType::Varchar(_) => DataType::Varchar(None),
            DataType::Char(_) => DataType::Char(0),
            ty => ty,
        };
        if let DataType::Json | DataType::JsonPath | DataType::AclItem | DataType::RefCursor = found
        {
            let message = format!(
                "data type {} has no default operator class for access method \"btree\"",
                found.name()
            );
            let hint = "You must specify an operator class for the range type or define a default \
                        operator class for the subtype.";
            let error = types::Error::new(SqlState::UNDEFINED_OBJECT, message);
            return Err(error.with_hint(hint));
        }
        match ElementType::new(found) {
            Some(element) if declared.domain.is_none() && can_bound(found) => Ok(element),
            _ => unsupported(format!("a range of {}", declared.ty), None),
        }
    }

    /// A call of the function that makes ranges or multiranges of a type that users made, and is
    /// called as the type is; None for other calls.
    ///
    /// # Errors
    /// 42883 for arguments that no such function takes.
    pub(super) fn range_constructor(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::FunctionArg],
    ) -> Result<Option<Bound>> {
        let parts = object_parts(name)?;
        let schema = parts.len().checked_sub(2).map(|at| parts[at].as_str());
        if schema.is_some_and(|schema| !self.catalog.has_schema(schema)) {
            return Ok(None);
        }
        let (ty, function, users) = match self.user_type(name)? {
            Some(UserType::Range(ty)) => (PackedType::Range(RangeKind::User(ty)), "#range", ty),
            Some(UserType::Multirange(ty)) => {
                (PackedType::Multirange(RangeKind::User(ty)), "#multirange", ty)
            }
            _ => return Ok(None),
        };
        let bound: Result<Vec<Bound>> =
            args.iter().map(|arg| self.bind_argument(function, arg)).collect();
        let mut list: Vec<Bound> = bound?.into_iter().map(|bound| self.retyped(bound)).collect();
        let at = object_at(name);
        if let Some(bound) = self.packed_of_users(function, RangeKind::User(users), &list, at)? {
            return Ok(Some(bound));
        }
        let types: Vec<DataType> = list.iter().map(|bound| self.type_now(bound)).collect();
        match (list.pop(), types.as_slice()) {
            // A cast that is written as a call.
            (Some(only), [from])
                if from.is_text() || *from == DataType::Unknown || only.ty() == *from =>
            {
                self.cast_called(only, DataType::Packed(ty), &types, name).map(Some)
            }
            _ => Err(self.no_constructor(name, &types)),
        }
    }

    fn cast_called(
        &mut self,
        only: Bound,
        ty: DataType,
        types: &[DataType],
        name: &ast::ObjectName,
    ) -> Result<Bound> {
        let from = self.type_now(&only);
        if !super::types::can_cast(from, ty, Context::Explicit) {
            return Err(self.no_constructor(name, types));
        }
        let expr = self.coerce(only, ty, Context::Explicit)?;
        Ok(Bound::new(expr, object_at(name)))
    }

    fn no_constructor(&self, name: &ast::ObjectName, types: &[DataType]) -> types::Error {
        let types: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
        let parts = object_parts(name).unwrap_or_default();
        let message = format!("function {}({}) does not exist", parts.join("."), types.join(", "));
        no_function(message, object_at(name))
    }

    /// A function that makes values of types of users, as [`PackedCall::named`] has it.
    fn packed_of_users(
        &mut self,
        function: &str,
        kind: RangeKind,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        for call in PackedCall::named(function) {
            if let Some(expr) = self.packed_of_kind(call, kind, arguments)? {
                return Ok(Some(Bound::new(expr, at)));
            }
        }
        Ok(None)
    }
}

/// True for types whose values are compared as the bytes are that ranges hold.
fn can_bound(ty: DataType) -> bool {
    use DataType as T;
    match ty {
        T::Boolean | T::SmallInt | T::Integer | T::BigInt | T::Oid | T::Real | T::Double => true,
        T::WideNumeric(None) | T::Char(0) | T::Varchar(None) | T::Text | T::Name => true,
        T::Bytea | T::Date | T::Time(None) | T::Timestamp(None) | T::TimestampTz(None) => true,
        T::Packed(ty) => ty.range().is_none() && ty.extension().is_none(),
        _ => false,
    }
}

impl Binder<'_> {
    /// The name of a collation in which texts are compared as bytes.
    ///
    /// # Errors
    /// 42809 for bounds that have none, 42704, 0A000 for another order.
    fn bound_collation(&mut self, name: &ast::ObjectName, ty: DataType) -> Result<String> {
        if !ty.is_text() {
            let message = "range collation specified but subtype does not support collation";
            return fail(SqlState::WRONG_OBJECT_TYPE, message, None);
        }
        let collation = self.collation_named(name)?;
        match collation.name().filter(|_| collation.is_of_bytes()) {
            Some(known) => Ok(known.to_owned()),
            None => unsupported("a range type with this collation", object_at(name)),
        }
    }
}
