//! Names of relations, and what those without a schema mean.
//!
//! ```text
//! as written --search path--> schema None is `public`, the session's own, or the system's
//! text of definitions: bound by `public` alone, so names of other schemas are written out
//! ```
//! Elsewhere: the search path itself (`engine`), what the catalog calls relations
//! ([`RelationName::key`]).

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::{Binder, Bound, fail, name, place, unsupported};
use crate::algebra::{Expr, Place};
use crate::statement::{
    ObjectKind, Objects, Persistence, PrivilegeStatement, RelationName, SchemaStatement, Statement,
};

/// True when a name is that of the function, which needs no parentheses.
pub(super) fn is_current_schema(ident: &ast::Ident) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("current_schema")
}

impl Binder<'_> {
    /// The first schema of the search path that there is, or NULL.
    pub(super) fn first_schema(&self) -> Expr {
        match self.catalog.search_path().first() {
            Some(schema) => super::functions::name_of(schema),
            None => Expr::null(DataType::Name),
        }
    }

    /// `current_schema`.
    pub(super) fn current_schema(&self, ident: &ast::Ident) -> Result<Bound> {
        Ok(Bound::new(self.first_schema(), name::ident_at(ident)))
    }

    /// The name of a relation as it is written, of at most two parts behind the database.
    pub(super) fn written_name(&self, name: &ast::ObjectName) -> Result<RelationName> {
        let mut parts = name::object_parts(name)?;
        if name::is_only(name) {
            parts.remove(0);
        }
        if let Some(ast::ObjectNamePart::Identifier(first)) = name.0.first() {
            name::refuse_reserved(first)?;
        }
        match parts.as_slice() {
            [name] => Ok(RelationName::public(name)),
            [database, ..] if parts.len() == 3 && database != self.catalog.database() => {
                Err(place(RelationName::elsewhere(&parts), name::object_at(name)))
            }
            [schema, name] | [_, schema, name] => {
                Ok(RelationName { schema: Some(schema.clone()), name: name.clone() })
            }
            _ => {
                let message = format!("improper qualified name (too many dotted names): {name}");
                Err(place(Error::new(SqlState::SYNTAX_ERROR, message), name::object_at(name)))
            }
        }
    }

    /// The name of a relation that is there, in the schema in which the search path finds it.
    pub(super) fn relation_name(&self, name: &ast::ObjectName) -> Result<RelationName> {
        Ok(self.found(self.written_name(name)?))
    }

    /// The name of a relation that is to be made.
    ///
    /// # Errors
    /// 3F000 where the search path has no schema; 42P16 for a temporary one in a schema.
    pub(super) fn new_name(
        &self,
        name: &ast::ObjectName,
        persistence: Persistence,
    ) -> Result<RelationName> {
        let full = self.written_name(name)?;
        match (full.schema.as_deref(), persistence) {
            (None | Some("pg_temp"), Persistence::Temporary) => {
                Ok(RelationName { schema: Some("pg_temp".to_owned()), ..full })
            }
            (Some(_), Persistence::Temporary) => {
                let message = "cannot create temporary relation in non-temporary schema";
                fail(SqlState::INVALID_DEFINITION, message, name::object_at(name))
            }
            (Some(_), Persistence::Permanent) => Ok(full),
            (None, Persistence::Permanent) => {
                let schema = self.catalog.schema_of_new();
                let schema = schema.map_err(|error| place(error, name::object_at(name)))?;
                Ok(RelationName { schema, ..full })
            }
        }
    }

    /// `name` in the schema in which the search path finds it, unless it has one.
    pub(super) fn found(&self, name: RelationName) -> RelationName {
        match name.schema {
            None if self.definition_depth == 0 => {
                RelationName { schema: self.catalog.schema_of(&name.name), ..name }
            }
            _ => name,
        }
    }

    /// [`Self::found`] of a relation that a query reads, whose name stands at `at`: definitions
    /// with the query are written so that they mean the same by another search path.
    pub(super) fn found_at(&mut self, name: RelationName, at: Place) -> RelationName {
        if name.schema.is_some() {
            return name;
        }
        let found = self.found(name);
        match (&found.schema, at) {
            (Some(schema), Some(at)) => self.placed.push((at, schema.clone())),
            (Some(_), None) => self.has_unplaced = true,
            (None, _) => {}
        }
        found
    }

    /// A statement about privileges with the schemas of its relations.
    pub(super) fn privileges_found(&self, statement: &PrivilegeStatement) -> Result<Statement> {
        let all = |names: &mut Vec<RelationName>| {
            names.iter_mut().for_each(|name| *name = self.found(name.clone()));
        };
        let mut statement = statement.clone();
        match &mut statement {
            PrivilegeStatement::Objects {
                objects: Objects::Tables(names) | Objects::Sequences(names),
                ..
            } => all(names),
            PrivilegeStatement::Objects { objects: Objects::Types(names), .. } => {
                names.iter_mut().for_each(|name| *name = self.type_found(name.clone()));
            }
            PrivilegeStatement::Owner { kind: ObjectKind::Type, name, .. } => {
                *name = self.type_found(name.clone());
            }
            PrivilegeStatement::Unsupported(what) => return unsupported(*what, None),
            PrivilegeStatement::Owner { kind, name, .. }
                if !matches!(kind, ObjectKind::Schema | ObjectKind::Database) =>
            {
                *name = self.found(name.clone());
            }
            _ => {}
        }
        Ok(Statement::Privilege(Box::new(statement)))
    }

    /// A statement about schemas with that of its relation.
    pub(super) fn relations_found(&self, statement: &SchemaStatement) -> Statement {
        let mut statement = statement.clone();
        if let SchemaStatement::Move { name, .. } = &mut statement {
            *name = self.found(name.clone());
        }
        Statement::Schema(Box::new(statement))
    }
}
