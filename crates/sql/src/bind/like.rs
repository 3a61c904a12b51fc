//! LIKE in CREATE TABLE: what a new table takes over from one that exists.
//!
//! Columns are taken over where LIKE stands, indexes and keys behind all columns.

use types::Result;

use super::Binder;
use super::constraint::{Definition, KeyForm, object_name};
use super::ddl::refuse_repeat;
use super::name::object_at;
use super::unsupported;
use crate::catalog::{
    CheckDef, ColumnDef, IndexColumn, IndexMeta, IndexTerms, KeyDef, TableRef, Validity,
};
use crate::parse::LikeTree;
use crate::statement::{ColumnSequence, Privilege};

/// A table that another one is like.
pub(super) struct TakenOver {
    table: TableRef,
    /// The ordinals of its columns in the new table.
    places: Vec<usize>,
    with_indexes: bool,
    /// See [`crate::statement::CreateTable::comments`].
    pub(super) comments: Vec<(String, TableRef, String)>,
}

impl Binder<'_> {
    /// Adds the columns of another table.
    pub(super) fn define_like(
        &mut self,
        definition: &mut Definition,
        like: &LikeTree,
    ) -> Result<TakenOver> {
        let at = object_at(&like.table);
        let table = self.table_named(&like.table)?;
        self.require(table.name(), Privilege::Select);
        let (mut places, including) = (Vec::new(), like.including);
        for (ordinal, column) in table.columns().iter().enumerate() {
            let mut def = ColumnDef::new(&column.name, column.ty);
            (def.not_null, def.domain) = (column.not_null, column.domain);
            def.collation = column.collation;
            if let Some(place) = definition.takes_inherited(&def, at)? {
                places.push(place);
                continue;
            }
            places.push(definition.columns.len());
            refuse_repeat(&definition.columns, &column.name, at)?;
            let identity = table.identity(ordinal);
            if including.defaults && identity.is_none() {
                def.default.clone_from(&column.default);
            }
            if including.generated {
                def.generated.clone_from(&column.generated);
            }
            definition.columns.push(def);
            let Some(identity) = identity.filter(|_| including.identity) else { continue };
            let schema = Some(identity.sequence.schema_name());
            let Some(sequence) = self.catalog.sequence(schema, &identity.sequence.name) else {
                return Err(types::Error::internal("an identity has a sequence"));
            };
            let name = self.column_sequence(definition, &column.name);
            definition.sequences.push(ColumnSequence {
                column: definition.columns.len() - 1,
                identity: Some(identity.kind),
                name,
                definition: sequence,
            });
        }
        if including.constraints {
            // Of no rows, all satisfy them.
            for check in table.checks() {
                let check = CheckDef { validity: Validity::Valid, ..check.clone() };
                if !definition.is_inherited(&check)? {
                    definition.checks.push(check);
                }
            }
        }
        let comment =
            |column: &ColumnDef| (column.name.clone(), table.clone(), column.name.clone());
        let comments = if including.comments {
            table.columns().iter().map(comment).collect()
        } else {
            Vec::new()
        };
        Ok(TakenOver { table, places, with_indexes: including.indexes, comments })
    }

    /// Adds the keys of the other tables; their indexes that are no constraints.
    pub(super) fn take_over(
        &mut self,
        definition: &mut Definition,
        from: &[TakenOver],
    ) -> Result<Vec<IndexMeta>> {
        let mut indexes = Vec::new();
        for TakenOver { table, places, .. } in from.iter().filter(|from| from.with_indexes) {
            let moved = |ordinal: &usize| places[*ordinal];
            for key in table.keys() {
                let columns = key.columns.iter().map(moved).collect();
                let KeyDef { primary, nulls, deferral, .. } = *key;
                let included = key.included.iter().map(moved).collect();
                let form = KeyForm { primary, nulls, deferral, included };
                definition.add_key(None, columns, form, None)?;
            }
            let is_constraint = |name: &str| {
                table.keys().iter().any(|key| key.name == name)
                    || table.foreign_keys().iter().any(|key| key.name == name)
            };
            for index in table.indexes().iter().filter(|index| !is_constraint(&index.name)) {
                if index.kind.is_of_blocks() {
                    return unsupported("LIKE of a table with indexes of blocks", None);
                }
                let place = |column: &IndexColumn| match column.expression() {
                    Some(_) => *column,
                    None => IndexColumn { ordinal: places[column.ordinal], ..*column },
                };
                let columns: Vec<IndexColumn> = index.columns.iter().map(place).collect();
                let included: Vec<usize> = index.terms.included.iter().map(moved).collect();
                let named = |at: usize| match columns[at].expression() {
                    Some(at) => index.terms.expressions[at].name.as_str(),
                    None => definition.columns[columns[at].ordinal].name.as_str(),
                };
                let named = index.declared().into_iter().map(named);
                let names: Vec<&str> = named.chain(definition.names(&included)).collect();
                let label = if index.excludes() { "excl" } else { "idx" };
                let name = object_name(&definition.name.name, &names, label);
                let terms = IndexTerms { included, ..index.terms.clone() };
                indexes.push(IndexMeta { name, columns, terms, ..index.clone() });
            }
        }
        Ok(indexes)
    }
}
