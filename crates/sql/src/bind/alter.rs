//! ALTER TABLE: each change is checked against the table as the changes before leave it, and the
//! row that results is computed along the way.

use sqlparser::ast::{self, AlterColumnOperation as ColumnOp, AlterTableOperation as Op};
use types::{DataType, ElementType, Error, Result, SqlState};

use super::constraint::{Definition, IdentityClause, identity_kind, renamed_column};
use super::domain::Declared;
use super::name::{ident_at, object_at, object_parts};
use super::retyped::NewType;
use super::scope::{Clause, Scope};
use super::types::{Context, can_cast};
use super::{Binder, Bound, adopted_index, fail, index_terms, place, unsupported};
use crate::algebra::{Expr, Place, Query};
use crate::catalog::{
    ColumnDef, IdentityKind, IndexMeta, IndexTerms, KeyDef, Relation, TableRef, Validity,
};
use crate::definition::is_json_keyed;
use crate::parse::folded;
use crate::statement::{
    AlterAction, AlterTable, DropBehaviour, Nullability, RenamedColumn, Statement,
};

/// A table while it is altered.
struct Altered {
    table: TableRef,
    definition: Definition,
    /// Ordinals of identity columns.
    identities: Vec<usize>,
    /// Value of each column, over a scan of the table as it was.
    row: Vec<Expr>,
    scope: Scope,
    /// Terms of indexes, by the name of the index.
    terms: Vec<(String, IndexTerms)>,
    actions: Vec<AlterAction>,
    /// Values change, so rows must be written anew.
    rewrites: bool,
}

impl Binder<'_> {
    pub(super) fn bind_alter_table(&mut self, alter: &ast::AlterTable) -> Result<Statement> {
        let at = object_at(&alter.name);
        let name = self.relation_name(&alter.name)?;
        let relation = self.catalog.relation(name.schema.as_deref(), &name.name);
        if let Some(altered) = self.bind_sequence_as_table(alter, &name)? {
            return Ok(altered);
        }
        if let Some(Relation::View { .. }) = &relation
            && let Some(altered) = self.bind_view_as_table(alter, &name)?
        {
            return Ok(altered);
        }
        let exists = relation.is_some();
        if alter.if_exists && !exists {
            return Ok(Statement::AlterTable(None));
        }
        if let Some(switched) = self.bind_row_security(alter)? {
            return Ok(switched);
        }
        let table = match relation {
            Some(Relation::Table(table)) if table.materialized().is_some() => {
                self.check_kept_actions(&table, &alter.operations, at)?;
                table
            }
            _ => self.writable_table(&alter.name)?,
        };
        self.altered(table, &alter.name, &alter.operations)
    }

    /// The table, called `written`, after these actions.
    pub(super) fn altered(
        &mut self,
        table: TableRef,
        written: &ast::ObjectName,
        operations: &[Op],
    ) -> Result<Statement> {
        let (at, name) = (object_at(written), self.relation_name(written)?);
        let (scan, scope) = self.bind_table(table.clone().alone(), written, None, None)?;
        let row = scan.output_types().into_iter().map(|(id, ty)| Expr::column(id, ty)).collect();
        let identities = (0..table.columns().len()).filter(|at| table.identity(*at).is_some());
        let mut altered = Altered {
            identities: identities.collect(),
            definition: Definition::of(name, &table),
            terms: index_terms::of_table(&table),
            table,
            row,
            scope,
            actions: Vec::new(),
            rewrites: false,
        };
        for operation in operations {
            self.alter(&mut altered, operation, at)?;
        }
        if altered.rewrites {
            self.check_retyped(&altered.definition, &altered.terms)?;
        }
        let rewrite = if altered.rewrites {
            let query = self.projected_exprs(scan, altered.row);
            let mut query = self.finish(query)?;
            for (column, def) in query.columns.iter_mut().zip(&altered.definition.columns) {
                column.name.clone_from(&def.name);
            }
            Some(Box::new(query))
        } else {
            None
        };
        let Altered { table, mut actions, definition, .. } = altered;
        actions.extend(definition.inheriting.changed(&table));
        Ok(altered_table(table, actions, rewrite))
    }

    fn alter(&mut self, altered: &mut Altered, operation: &Op, at: Place) -> Result<()> {
        match operation {
            Op::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                self.add_column(altered, column_def, *if_not_exists)
            }
            Op::AddConstraint {
                constraint:
                    constraint @ (ast::TableConstraint::UniqueUsingIndex(using)
                    | ast::TableConstraint::PrimaryKeyUsingIndex(using)),
                ..
            } => {
                let primary = matches!(constraint, ast::TableConstraint::PrimaryKeyUsingIndex(_));
                let (definition, table) = (&mut altered.definition, &altered.table);
                altered.actions.push(adopted_index::adopt(definition, table, using, primary)?);
                Ok(())
            }
            Op::AddConstraint { constraint, not_valid } => {
                let before = altered.constraints();
                altered.definition.add_constraint(constraint)?;
                let validity = match (not_valid, constraint) {
                    (false, _) => Validity::Valid,
                    (
                        true,
                        ast::TableConstraint::Check(_) | ast::TableConstraint::ForeignKey(_),
                    ) => Validity::NotValid,
                    (true, ast::TableConstraint::PrimaryKey(_)) => {
                        return unmarkable("PRIMARY KEY", at);
                    }
                    (true, ast::TableConstraint::Exclude(_)) => {
                        return unmarkable("EXCLUDE", at);
                    }
                    (true, _) => return unmarkable("UNIQUE", at),
                };
                self.add_constraints(altered, before, validity)
            }
            Op::ValidateConstraint { name } => altered.validate_constraint(name),
            Op::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                for ident in column_names {
                    let found = altered.find(ident);
                    match (found, if_exists) {
                        (None, true) => {}
                        _ => self.drop_column(altered, ident, behaviour(*drop_behavior))?,
                    }
                }
                Ok(())
            }
            Op::DropConstraint { if_exists, name, drop_behavior } => {
                altered.drop_constraint(name, *if_exists, behaviour(*drop_behavior))
            }
            Op::RenameColumn { old_column_name, new_column_name } => {
                altered.rename_column(old_column_name, new_column_name)
            }
            Op::RenameTable { table_name: ast::RenameTableNameKind::To(name) } => {
                let name = object_parts(name)?.pop().unwrap_or_default();
                altered.definition.name.name.clone_from(&name);
                altered.actions.push(AlterAction::Rename(name));
                Ok(())
            }
            Op::RenameConstraint { old_name, new_name } => {
                altered.rename_constraint(old_name, new_name)
            }
            Op::AlterColumn { column_name, op } => self.alter_column(altered, column_name, op),
            other => unsupported(format!("ALTER TABLE {other}"), at),
        }
    }

    fn add_column(
        &mut self,
        altered: &mut Altered,
        column: &ast::ColumnDef,
        if_not_exists: bool,
    ) -> Result<()> {
        if altered.find(&column.name).is_some() {
            if if_not_exists {
                return Ok(());
            }
            let message = format!(
                "column \"{}\" of relation \"{}\" already exists",
                folded(&column.name),
                altered.definition.name.name
            );
            return fail(SqlState::DUPLICATE_COLUMN, message, ident_at(&column.name));
        }
        let (ordinal, before) = (altered.definition.columns.len(), altered.constraints());
        self.define_column(&mut altered.definition, column)?;
        let sequence = altered.definition.sequences.pop();
        let Some(def) = altered.definition.columns.get(ordinal).cloned() else {
            return Err(Error::internal("a column was added"));
        };
        let value = match &sequence {
            Some(sequence) => {
                let next = super::sequence::next_value(&sequence.name);
                self.coerce(Bound::new(next, None), def.ty, Context::Assignment)?
            }
            None => self.kept_default(&def)?,
        };
        let tested = def.domain.filter(|_| def.generated.is_none());
        altered.row.push(self.in_domain(value, tested)?);
        altered.rewrites = true;
        if sequence.as_ref().is_some_and(|sequence| sequence.identity.is_some()) {
            altered.identities.push(ordinal);
        }
        let sequence = sequence.map(Box::new);
        altered.actions.push(AlterAction::AddColumn { column: def, sequence });
        self.add_constraints(altered, before, Validity::Valid)
    }

    /// Binds the constraints that an action brought, and adds actions for those beyond `before`.
    fn add_constraints(
        &mut self,
        altered: &mut Altered,
        before: [usize; 4],
        validity: Validity,
    ) -> Result<()> {
        let definition = &mut altered.definition;
        self.finish_constraints(definition)?;
        let [keys, checks, foreign_keys, exclusions] = before;
        definition.checks.iter_mut().skip(checks).for_each(|check| check.validity = validity);
        definition.foreign_keys.iter_mut().skip(foreign_keys).for_each(|k| k.validity = validity);
        for key in definition.keys.iter().skip(keys) {
            altered.actions.push(AlterAction::AddKey(key.clone()));
        }
        for check in definition.checks.iter().skip(checks) {
            altered.actions.push(AlterAction::AddCheck(check.clone()));
        }
        for key in definition.foreign_keys.iter().skip(foreign_keys) {
            altered.actions.push(AlterAction::AddForeignKey(Box::new(key.clone())));
        }
        for index in definition.exclusions.iter().skip(exclusions) {
            altered.actions.push(AlterAction::AddExclusion(Box::new(index.clone())));
        }
        Ok(())
    }

    /// DROP COLUMN, after the constraints that involve the column.
    fn drop_column(
        &mut self,
        altered: &mut Altered,
        ident: &ast::Ident,
        behaviour: DropBehaviour,
    ) -> Result<()> {
        let ordinal = altered.ordinal(ident)?;
        if altered.definition.columns.len() == 1 {
            return unsupported("dropping the only column", ident_at(ident));
        }
        if self.drop_generated(altered, ordinal, behaviour, ident_at(ident))? {
            return self.drop_column(altered, ident, behaviour);
        }
        let definition = &altered.definition;
        let has = |key: &&KeyDef| key.columns.contains(&ordinal) || key.included.contains(&ordinal);
        let keys = definition.keys.iter().filter(has);
        let mut names: Vec<String> = keys.map(|key| key.name.clone()).collect();
        let foreign = definition.foreign_keys.iter();
        let foreign = foreign.filter(|key| key.columns.contains(&ordinal));
        names.extend(foreign.map(|key| key.name.clone()));
        for index in &definition.exclusions {
            let (table, columns) = (&definition.name.name, &definition.columns);
            let own = index.columns.iter().map(|column| column.ordinal);
            let reads = self.term_reads(table, columns, &index.terms)?;
            let mut used = own.chain(index.terms.included.iter().copied()).chain(reads);
            if used.any(|column| column == ordinal) {
                names.push(index.name.clone());
            }
        }
        for check in &definition.checks {
            let expr = crate::parse::parse_expr(&check.sql)?;
            let (table, columns) = (&definition.name.name, &definition.columns);
            let bound =
                self.in_definition(|binder| binder.check_condition(&expr, table, columns))?;
            let mut used = false;
            bound.each_column(&mut |id| used |= id.0 as usize == ordinal);
            if used {
                names.push(check.name.clone());
            }
        }
        for name in names {
            altered.forget_constraint(&name);
            altered.actions.push(AlterAction::DropConstraint { name, behaviour });
        }
        let definition = &mut altered.definition;
        let mut indexes = Vec::new();
        for (name, terms) in &altered.terms {
            let (table, columns) = (&definition.name.name, &definition.columns);
            if self.term_reads(table, columns, terms)?.contains(&ordinal) {
                indexes.push(name.clone());
            }
        }
        altered.terms.retain(|(name, _)| !indexes.contains(name));
        let name = definition.columns.remove(ordinal).name;
        definition.column_removed(ordinal);
        altered.row.remove(ordinal);
        altered.identities.retain(|identity| *identity != ordinal);
        for identity in &mut altered.identities {
            *identity -= usize::from(*identity > ordinal);
        }
        let column = ordinal;
        altered.actions.push(AlterAction::DropColumn { column, name, indexes, behaviour });
        Ok(())
    }

    /// Drops the generated columns that are made of column `of`; whether there were any.
    ///
    /// # Errors
    /// 2BP01 without CASCADE.
    fn drop_generated(
        &mut self,
        altered: &mut Altered,
        of: usize,
        behaviour: DropBehaviour,
        at: Place,
    ) -> Result<bool> {
        let Some(column) = self.generated_from(altered, of)? else { return Ok(false) };
        let table = &altered.definition.name.name;
        if behaviour == DropBehaviour::Restrict {
            let source = altered.definition.columns.get(of).map_or("", |c| c.name.as_str());
            let what = format!("column {source} of table {table}");
            let message = format!("cannot drop {what} because other objects depend on it");
            let error = Error::new(SqlState::DEPENDENT_OBJECTS, message)
                .with_detail(format!("column {} of table {table} depends on {what}", column.name))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too.");
            return Err(place(error, at));
        }
        self.drop_column(altered, &ast::Ident::with_quote('"', column.name), behaviour)?;
        Ok(true)
    }

    /// A generated column that is made of column `of`.
    fn generated_from(&mut self, altered: &Altered, of: usize) -> Result<Option<ColumnDef>> {
        let (table, columns) = (&altered.definition.name.name, &altered.definition.columns);
        for (ordinal, column) in columns.iter().enumerate() {
            if column.generated.is_some()
                && self.generated_reads(table, columns, ordinal)?.contains(&of)
            {
                return Ok(Some(column.clone()));
            }
        }
        Ok(None)
    }

    fn alter_column(
        &mut self,
        altered: &mut Altered,
        ident: &ast::Ident,
        op: &ColumnOp,
    ) -> Result<()> {
        let column = altered.ordinal(ident)?;
        let at = ident_at(ident);
        let Some(def) = altered.definition.columns.get(column).cloned() else {
            return Err(Error::internal("column out of range"));
        };
        let is_identity = altered.identities.contains(&column);
        let of =
            format!("column \"{}\" of relation \"{}\"", def.name, altered.definition.name.name);
        let refuse_identity = || {
            if !is_identity {
                return Ok(());
            }
            fail(SqlState::SYNTAX_ERROR, format!("{of} is an identity column"), at)
        };
        let action = match op {
            ColumnOp::SetNotNull => {
                altered.set_not_null(column, true);
                AlterAction::SetNullable { column, nulls: Nullability::NotNull }
            }
            ColumnOp::DropNotNull => {
                refuse_identity()?;
                let mut keys = altered.definition.keys.iter();
                if keys.any(|key| key.primary && key.columns.contains(&column)) {
                    let message = format!("column \"{}\" is in a primary key", def.name);
                    return fail(SqlState::INVALID_DEFINITION, message, at);
                }
                altered.set_not_null(column, false);
                AlterAction::SetNullable { column, nulls: Nullability::Nullable }
            }
            ColumnOp::SetDefault { .. } | ColumnOp::DropDefault if def.generated.is_some() => {
                let error =
                    Error::new(SqlState::SYNTAX_ERROR, format!("{of} is a generated column"));
                let hint = "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.";
                let drops = *op == ColumnOp::DropDefault;
                return Err(place(if drops { error.with_hint(hint) } else { error }, at));
            }
            ColumnOp::SetDefault { value } => {
                refuse_identity()?;
                self.check_default(value, def.ty, &def.name)?;
                altered.set_default(column, Some(self.defined(value).to_string()))
            }
            ColumnOp::DropDefault => {
                refuse_identity()?;
                altered.set_default(column, None)
            }
            ColumnOp::SetDataType { data_type: ty, using, .. } => {
                let ty = self.declared_type(ty, at)?;
                let whole = [DataType::SmallInt, DataType::Integer, DataType::BigInt];
                if altered.identities.contains(&column) && !whole.contains(&ty.ty) {
                    let message = "identity column type must be smallint, integer, or bigint";
                    return fail(SqlState::INVALID_PARAMETER, message, at);
                }
                let new = NewType { declared: ty, using: using.as_ref(), at };
                return self.set_type(altered, column, new);
            }
            ColumnOp::AddGenerated { generated_as, sequence_options } => {
                let kind = generated_as.as_ref().map_or(IdentityKind::Always, identity_kind);
                let options = sequence_options.as_deref().unwrap_or_default();
                self.add_identity(altered, column, &IdentityClause { kind, options, at })?
            }
        };
        altered.actions.push(action);
        Ok(())
    }

    /// ADD GENERATED ... AS IDENTITY.
    fn add_identity(
        &mut self,
        altered: &mut Altered,
        column: usize,
        clause: &IdentityClause<'_>,
    ) -> Result<AlterAction> {
        let definition = &mut altered.definition;
        let Some(def) = definition.columns.get(column) else {
            return Err(Error::internal("column out of range"));
        };
        let of = format!("column \"{}\" of relation \"{}\"", def.name, definition.name.name);
        let refused = match (altered.identities.contains(&column), def.not_null, &def.default) {
            (true, ..) => Some(format!("{of} is already an identity column")),
            (_, false, _) => {
                Some(format!("{of} must be declared NOT NULL before identity can be added"))
            }
            (.., Some(_)) => Some(format!("{of} already has a default value")),
            _ if def.generated.is_some() => Some(format!("{of} already has a default value")),
            _ => None,
        };
        if let Some(message) = refused {
            return fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, clause.at);
        }
        self.define_identity(definition, column, clause)?;
        altered.identities.push(column);
        match altered.definition.sequences.pop() {
            Some(sequence) => Ok(AlterAction::AddIdentity(Box::new(sequence))),
            None => Err(Error::internal("an identity has a sequence")),
        }
    }

    /// Refuses another type for a column that generated ones are made of, and USING for those.
    fn refuse_generated_type(
        &mut self,
        altered: &Altered,
        column: usize,
        using: bool,
        at: Place,
    ) -> Result<()> {
        let Some(def) = altered.definition.columns.get(column) else { return Ok(()) };
        let name = &def.name;
        if using && def.generated.is_some() {
            let message = "cannot specify USING when altering type of generated column";
            let error = Error::new(SqlState::INVALID_COLUMN_DEFINITION, message)
                .with_detail(format!("Column \"{name}\" is a generated column."));
            return Err(place(error, at));
        }
        let Some(made) = self.generated_from(altered, column)? else { return Ok(()) };
        let message = "cannot alter type of a column used by a generated column";
        let detail = format!("Column \"{name}\" is used by generated column \"{}\".", made.name);
        let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail);
        Err(place(error, at))
    }

    /// ALTER COLUMN ... TYPE: values are converted as by assignment, or as USING says.
    fn set_type(
        &mut self,
        altered: &mut Altered,
        column: usize,
        NewType { declared, using, at }: NewType<'_>,
    ) -> Result<()> {
        let Declared { ty, domain } = declared;
        let def = altered.definition.columns.get(column).cloned();
        let def = def.ok_or_else(|| Error::internal("column out of range"))?;
        self.refuse_generated_type(altered, column, using.is_some(), at)?;
        let bound = match (using, altered.row.get(column)) {
            (Some(expr), _) => self.in_level(Clause::Using, |binder| {
                binder.level()?.scope = altered.scope.clone();
                binder.bind_expr(expr)
            })?,
            (None, Some(expr)) => Bound::new(expr.clone(), at),
            (None, None) => return Err(Error::internal("column out of range")),
        };
        if !can_cast(bound.ty(), ty, Context::Assignment) {
            let (name, to) = (&def.name, ty.name());
            let (message, hint) = match using {
                None => (
                    format!("column \"{name}\" cannot be cast automatically to type {to}"),
                    format!("You might need to specify \"USING {name}::{to}\"."),
                ),
                Some(_) => (
                    format!(
                        "result of USING clause for column \"{name}\" cannot be cast \
                         automatically to type {to}"
                    ),
                    "You might need to add an explicit cast.".to_owned(),
                ),
            };
            return Err(place(
                Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint(hint),
                at,
            ));
        }
        refuse_indexed(altered, column, ty, at)?;
        self.refit_exclusions(&altered.definition, column, ty, at)?;
        let value = self.coerce(bound, ty, Context::Assignment)?;
        let value = if domain == def.domain { value } else { self.in_domain(value, domain)? };
        if let Some(text) = &def.default {
            let expr = crate::parse::parse_expr(text)?;
            let bound = self.in_definition(|binder| binder.check_default(&expr, ty, &def.name));
            bound.map_err(|_| {
                let message = format!(
                    "default for column \"{}\" cannot be cast automatically to type {}",
                    def.name,
                    ty.name()
                );
                place(Error::new(SqlState::DATATYPE_MISMATCH, message), at)
            })?;
        }
        if let Some(slot) = altered.row.get_mut(column) {
            *slot = value;
        }
        let new = ColumnDef::new(&def.name, ty);
        let named = self.aside.clone().collation(at).cloned();
        let collation = named.map(|name| self.column_collation(&new, &name)).transpose()?.flatten();
        let new = ColumnDef { collation, ..new };
        refuse_other_equality(altered, column, &new, at)?;
        if let Some(def) = altered.definition.columns.get_mut(column) {
            (def.ty, def.domain, def.collation) = (ty, domain, collation);
        }
        altered.rewrites |= declared.differs_from(&def) || using.is_some();
        altered.actions.push(AlterAction::SetType { column, ty, domain, collation });
        altered.actions.extend(self.retyped_identity(&altered.table, column, ty)?);
        Ok(())
    }
}

pub(super) fn altered_table(
    table: TableRef,
    actions: Vec<AlterAction>,
    rewrite: Option<Box<Query>>,
) -> Statement {
    let partitions = Vec::new();
    Statement::AlterTable(Some(Box::new(AlterTable { table, actions, rewrite, partitions })))
}

/// Refuses a type that no index has, for a column that one has.
fn refuse_indexed(altered: &Altered, column: usize, ty: DataType, at: Place) -> Result<()> {
    let in_key = altered.definition.keys.iter().any(|key| key.columns.contains(&column));
    let in_index =
        |index: &IndexMeta| index.columns.iter().any(|indexed| indexed.ordinal == column);
    let is_indexed = in_key || altered.table.indexes().iter().any(in_index);
    if is_indexed { super::comparable::refuse_index(ty, at) } else { Ok(()) }
}

/// Refuses another equality for a column that a key or an index is made of.
fn refuse_other_equality(
    altered: &Altered,
    column: usize,
    new: &ColumnDef,
    at: Place,
) -> Result<()> {
    let definition = &altered.definition;
    let Some(before) = definition.columns.get(column) else { return Ok(()) };
    let is_same =
        before.collation == new.collation && is_json_keyed(before.ty) == is_json_keyed(new.ty);
    if is_same || !(before.is_keyed() || new.is_keyed()) {
        return Ok(());
    }
    let in_key = definition.keys.iter().any(|key| key.columns.contains(&column))
        || definition.foreign_keys.iter().any(|key| key.columns.contains(&column));
    let in_index = |index: &IndexMeta| {
        index.columns.iter().any(|indexed| indexed.ordinal == column)
            || index.terms.expressions.iter().any(|known| {
                let of = known.keyed_column(&definition.columns);
                let is_key =
                    matches!(known.ty, DataType::Bytea | DataType::Array(ElementType::Bytea));
                is_key && of.is_none_or(|of| of == column)
            })
    };
    if in_key || altered.table.indexes().iter().any(in_index) {
        let of = if before.has_own_equality() || new.has_own_equality() {
            "a nondeterministic collation"
        } else {
            "jsonb"
        };
        let what = format!("to or from {of} for a column that an index has");
        return unsupported(format!("ALTER COLUMN TYPE {what}"), at);
    }
    Ok(())
}

/// 0A000 for a key, which has an index of all rows.
#[cold]
fn unmarkable(what: &str, at: Place) -> Result<()> {
    let message = format!("{what} constraints cannot be marked NOT VALID");
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
}

impl Altered {
    fn find(&self, ident: &ast::Ident) -> Option<usize> {
        let name = folded(ident);
        self.definition.columns.iter().position(|column| column.name == name)
    }

    fn ordinal(&self, ident: &ast::Ident) -> Result<usize> {
        match self.find(ident) {
            Some(ordinal) => Ok(ordinal),
            None => {
                let (column, table) = (folded(ident), &self.definition.name.name);
                let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
                fail(SqlState::UNDEFINED_COLUMN, message, ident_at(ident))
            }
        }
    }

    /// How many keys, checks, foreign keys and exclusions there are.
    fn constraints(&self) -> [usize; 4] {
        let definition = &self.definition;
        let (keys, checks) = (definition.keys.len(), definition.checks.len());
        [keys, checks, definition.foreign_keys.len(), definition.exclusions.len()]
    }

    fn has_constraint(&self, name: &str) -> bool {
        let definition = &self.definition;
        definition.keys.iter().any(|key| key.name == name)
            || definition.checks.iter().any(|check| check.name == name)
            || definition.foreign_keys.iter().any(|key| key.name == name)
            || definition.exclusions.iter().any(|index| index.name == name)
    }

    fn forget_constraint(&mut self, name: &str) {
        self.definition.keys.retain(|key| key.name != name);
        self.definition.checks.retain(|check| check.name != name);
        self.definition.foreign_keys.retain(|key| key.name != name);
        if self.definition.exclusions.extract_if(.., |index| index.name == name).count() > 0 {
            self.terms.retain(|(index, _)| index != name);
        }
    }

    fn drop_constraint(
        &mut self,
        ident: &ast::Ident,
        if_exists: bool,
        behaviour: DropBehaviour,
    ) -> Result<()> {
        let name = folded(ident);
        if !self.has_constraint(&name) {
            if if_exists {
                return Ok(());
            }
            let message = format!(
                "constraint \"{name}\" of relation \"{}\" does not exist",
                self.definition.name.name
            );
            return fail(SqlState::UNDEFINED_OBJECT, message, ident_at(ident));
        }
        self.forget_constraint(&name);
        self.actions.push(AlterAction::DropConstraint { name, behaviour });
        Ok(())
    }

    /// VALIDATE CONSTRAINT.
    fn validate_constraint(&mut self, ident: &ast::Ident) -> Result<()> {
        let (name, at) = (folded(ident), ident_at(ident));
        let of = format!("constraint \"{name}\" of relation \"{}\"", self.definition.name.name);
        if !self.has_constraint(&name) {
            return fail(SqlState::UNDEFINED_OBJECT, format!("{of} does not exist"), at);
        }
        let is_index = |index: &IndexMeta| index.name == name;
        if self.definition.keys.iter().any(|key| key.name == name)
            || self.definition.exclusions.iter().any(is_index)
        {
            let message = format!("{of} is not a foreign key or check constraint");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        }
        self.actions.push(AlterAction::ValidateConstraint { name });
        Ok(())
    }

    fn rename_constraint(&mut self, from: &ast::Ident, to: &ast::Ident) -> Result<()> {
        let (from, to, at) = (folded(from), folded(to), ident_at(from));
        let table = &self.definition.name.name;
        if !self.has_constraint(&from) {
            let message = format!("constraint \"{from}\" for table \"{table}\" does not exist");
            return fail(SqlState::UNDEFINED_OBJECT, message, at);
        }
        if self.has_constraint(&to) {
            let message = format!("constraint \"{to}\" for relation \"{table}\" already exists");
            return fail(SqlState::DUPLICATE_OBJECT, message, at);
        }
        let definition = &mut self.definition;
        let names = definition.keys.iter_mut().map(|key| &mut key.name);
        let names = names.chain(definition.checks.iter_mut().map(|check| &mut check.name));
        let names = names.chain(definition.foreign_keys.iter_mut().map(|key| &mut key.name));
        let names = names.chain(definition.exclusions.iter_mut().map(|index| &mut index.name));
        for name in names.filter(|name| **name == from) {
            name.clone_from(&to);
        }
        self.actions.push(AlterAction::RenameConstraint { from, to });
        Ok(())
    }

    fn rename_column(&mut self, from: &ast::Ident, to: &ast::Ident) -> Result<()> {
        let column = self.ordinal(from)?;
        let name = folded(to);
        super::name::refuse_reserved(to)?;
        super::name::refuse_system(to)?;
        if self.find(to).is_some() {
            let message = format!(
                "column \"{name}\" of relation \"{}\" already exists",
                self.definition.name.name
            );
            return fail(SqlState::DUPLICATE_COLUMN, message, ident_at(to));
        }
        let before = folded(from);
        for check in &mut self.definition.checks {
            let sql = renamed_column(&check.sql, &before, to)?;
            check.sql = sql;
        }
        let mut generated = Vec::new();
        for (ordinal, def) in self.definition.columns.iter_mut().enumerate() {
            if let Some(sql) = &def.generated {
                let sql = renamed_column(sql, &before, to)?;
                def.generated = Some(sql.clone());
                generated.push((ordinal, sql));
            }
        }
        if let Some(def) = self.definition.columns.get_mut(column) {
            def.name.clone_from(&name);
        }
        for index in &mut self.definition.exclusions {
            index.terms = index_terms::renamed(&index.terms, &before, to)?;
        }
        for (_, terms) in &mut self.terms {
            *terms = index_terms::renamed(terms, &before, to)?;
        }
        let key = self.table.partition_key().filter(|key| !key.terms.is_empty());
        let key = key.map(|key| index_terms::renamed(&key.terms, &before, to)).transpose()?;
        let (checks, terms) = (self.definition.checks.clone(), self.terms.clone());
        let renamed = RenamedColumn { column, name, checks, generated, terms, key };
        self.actions.push(AlterAction::RenameColumn(Box::new(renamed)));
        Ok(())
    }

    fn set_not_null(&mut self, column: usize, not_null: bool) {
        if let Some(def) = self.definition.columns.get_mut(column) {
            def.not_null = not_null;
        }
    }

    fn set_default(&mut self, column: usize, default: Option<String>) -> AlterAction {
        if let Some(def) = self.definition.columns.get_mut(column) {
            def.default.clone_from(&default);
        }
        AlterAction::SetDefault { column, default }
    }
}

fn behaviour(behaviour: Option<ast::DropBehavior>) -> DropBehaviour {
    match behaviour {
        Some(ast::DropBehavior::Cascade) => DropBehaviour::Cascade,
        _ => DropBehaviour::Restrict,
    }
}
