//! ALTER TABLE of attached tables.
//!
//! ```text
//! hold (unless only names and defaults change) -> actions on a copy of the definition
//!   columns come, go or get other types -> a table of the rows of a query takes its place
//!   otherwise                           -> another definition over the same rows
//! -> new constraints are tested by queries
//! ```
//! Departure from PostgreSQL: a column that comes or goes has the table written anew.

use std::sync::Arc;

use catalog::derived;
use catalog::generated::Generated;
use catalog::names::{quoted, quoted_relation};
use catalog::stored::key_index;
use catalog::{State, TableDef};
use kernels::Batch;
use sql::algebra::Query;
use sql::catalog::{CheckDef, ForeignKeyDef, KeyDef, Validity};
use sql::statement::{
    AlterAction, AlterTable, DropBehaviour, Nullability, RelationName, RenamedColumn,
};
use types::{Collation, DataType, Error, Result, SqlState, Value};

use super::references::{self, Child, Going};
use super::{
    duplicated, hold, redefine, refuse_json_key, rights, sequences, table_of, uses_own_sequence,
};
use crate::QueryResult;
use crate::define::alter::{lose_column, renames_index};
use crate::define::names::{free, name_keys, taken};
use crate::define::sequence::Options;
use crate::define::validate;
use crate::instance::attached::AttachedTableId;
use crate::session::Session;
use crate::statement::attached::{AttachedRows, described};
use crate::statement::running::{Run, Running};
use crate::transaction::holds::Needs;

/// A table being altered.
struct Altering {
    def: TableDef,
    /// Relations as the transaction knows them.
    state: State,
    /// Where each column was before; None for a new one.
    origins: Vec<Option<usize>>,
    rewrites: bool,
    /// Checks to be tested.
    checks: Vec<CheckDef>,
    /// Foreign keys to be tested.
    foreign_keys: Vec<ForeignKeyDef>,
    /// Tables that refer to it.
    children: Vec<Child>,
    /// Columns that became NOT NULL.
    not_null: Vec<String>,
    /// Columns by old and new name; None for those that are gone.
    renamed: Vec<(String, Option<String>)>,
}

/// ALTER TABLE.
///
/// # Errors
/// 0A000 for changes that shared tables do not have; errors of the changes.
pub(super) fn alter(running: &mut Running<'_>, alter: &AlterTable) -> Result<QueryResult> {
    let session = &mut *running.session;
    session.work().check_writable("ALTER TABLE")?;
    let Some(rows) = AttachedRows::of(&alter.table) else {
        return Err(Error::internal("a table of the attached database"));
    };
    rights::check_owns(session, "table", &rows.def.name)?;
    let children = references::children(session, &rows.def.name)?;
    let ids = held(session, &rows, alter, &children)?;
    let is_of_names = alter.actions.iter().all(is_of_names);
    hold(running, &ids, if is_of_names { Needs::Nothing } else { Needs::Rows })?;
    let session = &mut *running.session;
    let transaction = session.work().attached_to_change(session.database().registry())?;
    let mut altering = Altering {
        def: rows.def.clone(),
        state: described(&session.state(), session.database(), &*transaction)?,
        origins: (0..rows.def.columns.len()).map(Some).collect(),
        rewrites: alter.rewrite.is_some(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        children,
        not_null: Vec::new(),
        renamed: Vec::new(),
    };
    for action in &alter.actions {
        if let AlterAction::AdoptIndex { index, key } = action
            && *index != key.name
        {
            let message = renames_index(index, &key.name);
            running.session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
        altering.apply(running.session, action)?;
    }
    altering.finish(running, &rows, alter.rewrite.as_deref())?;
    Ok(QueryResult::command("ALTER TABLE"))
}

/// Tables that others are not to write meanwhile: the table, those that it begins to refer to, and
/// those that refer to it where they follow.
fn held(
    session: &Session,
    rows: &AttachedRows,
    alter: &AlterTable,
    children: &[Child],
) -> Result<Vec<AttachedTableId>> {
    let mut ids = vec![rows.id];
    let follows = |action: &AlterAction| {
        matches!(
            action,
            AlterAction::Rename(_)
                | AlterAction::DropColumn { .. }
                | AlterAction::DropConstraint { .. }
        )
    };
    if alter.actions.iter().any(follows) {
        ids.extend(references::numbers(children));
    }
    let transaction = session.work().attached_to_change(session.database().registry())?;
    for action in &alter.actions {
        if let AlterAction::AddForeignKey(key) = action {
            let found = transaction.find(RelationName::name_of_key(&key.table.name))?;
            ids.extend(found.map(|table| table.id).filter(|id| *id != rows.id));
        }
    }
    Ok(ids)
}

/// True for an action that no row has to meet.
fn is_of_names(action: &AlterAction) -> bool {
    matches!(
        action,
        AlterAction::Rename(_)
            | AlterAction::RenameColumn(_)
            | AlterAction::RenameConstraint { .. }
            | AlterAction::SetDefault { .. }
            | AlterAction::SetIdentity { .. }
            | AlterAction::DropIdentity { .. }
            | AlterAction::DropConstraint { .. }
    )
}

fn refused(what: &str) -> Error {
    Error::unsupported(format!("{what} in ALTER TABLE of a shared table"))
}

impl Altering {
    fn apply(&mut self, session: &Session, action: &AlterAction) -> Result<()> {
        let def = &mut self.def;
        match action {
            AlterAction::AddColumn { column, .. } if column.domain.is_some() => {
                return Err(refused("a domain"));
            }
            AlterAction::AddColumn { column, sequence } => {
                if sequence.is_none() {
                    refuse_sequence(def, column.default.as_deref())?;
                }
                def.columns.push(column.clone());
                self.origins.push(None);
                if let Some(sequence) = sequence {
                    sequences::for_column(session, def, sequence)?;
                }
            }
            AlterAction::DropColumn { column, name, indexes, behaviour } => {
                let what = format!("column {name} of table {}", def.bare_name());
                let going = Going { what: &what, behaviour: *behaviour };
                self.drop_column(*column, name, indexes, going)?;
            }
            AlterAction::RenameColumn(renamed) => self.rename_column(renamed),
            AlterAction::Rename(to) => self.rename(to)?,
            AlterAction::RenameConstraint { from, to } => self.rename_constraint(from, to)?,
            AlterAction::SetDefault { column, default } => {
                refuse_sequence(def, default.as_deref())?;
                def.columns[*column].default.clone_from(default);
            }
            AlterAction::DropExpression { column } => def.columns[*column].generated = None,
            AlterAction::SetNullable { column, nulls } => self.set_nulls(*column, *nulls),
            AlterAction::SetType { domain: Some(_), .. } => return Err(refused("a domain")),
            AlterAction::SetType { column, ty, collation, .. } => {
                self.set_type(*column, *ty, *collation)?;
            }
            AlterAction::AddKey(key) => self.add_key(key)?,
            AlterAction::AddCheck(check) => {
                def.checks.push(check.clone());
                self.checks.extend((check.validity == Validity::Valid).then(|| check.clone()));
            }
            AlterAction::ValidateConstraint { name } => self.validate_constraint(name),
            AlterAction::DropConstraint { name, behaviour } => {
                self.drop_constraint(name, *behaviour)?;
            }
            AlterAction::AddExclusion(_) => return Err(refused("EXCLUDE")),
            AlterAction::AddForeignKey(key) => self.add_foreign_key(session, key)?,
            AlterAction::AdoptIndex { index, key } => self.adopt_index(index, key)?,
            AlterAction::AddIdentity(_)
            | AlterAction::SetIdentity { .. }
            | AlterAction::DropIdentity { .. } => self.change_identity(session, action)?,
            AlterAction::SetInheritance(_) => return Err(refused("INHERITS")),
            AlterAction::SetOrder { .. } | AlterAction::SetDeferral { .. } => {
                return Err(refused("this change"));
            }
        }
        Ok(())
    }

    fn rename(&mut self, to: &str) -> Result<()> {
        let def = &mut self.def;
        let key = RelationName::key_beside(&def.name, to);
        if self.state.contains(&key) {
            return Err(taken(to));
        }
        let from = std::mem::replace(&mut def.name, key);
        // The table is not new under its new name: rights are settled by this.
        if let Some(entry) = self.state.tables.remove(&from) {
            self.state.tables.insert(def.name.clone(), entry);
        }
        references::rename(&mut self.children, &from, &def.name);
        for own in def.foreign_keys.iter_mut().filter(|own| own.table.name == from) {
            def.name.clone_into(&mut own.table.name);
        }
        Ok(())
    }

    fn set_type(
        &mut self,
        column: usize,
        ty: DataType,
        collation: Option<Collation>,
    ) -> Result<()> {
        if self.is_of_foreign_key(column) {
            return Err(refused("TYPE of a column of a foreign key"));
        }
        let def = &mut self.def;
        (def.columns[column].collation, def.columns[column].ty) = (collation, ty);
        let name = &def.columns[column].name;
        let reads = |check: &&CheckDef| sql::names_in(&check.sql).contains(name);
        self.checks.extend(def.checks.iter().filter(reads).cloned());
        Ok(())
    }

    fn add_foreign_key(&mut self, session: &Session, key: &ForeignKeyDef) -> Result<()> {
        let transaction = session.work().attached_to_change(session.database().registry())?;
        references::parent(&*transaction, &self.def, key)?;
        self.def.foreign_keys.push(key.clone());
        self.foreign_keys.extend((key.validity == Validity::Valid).then(|| key.clone()));
        Ok(())
    }

    /// Gives a column an identity, changes it, or takes it away.
    fn change_identity(&mut self, session: &Session, action: &AlterAction) -> Result<()> {
        let def = &mut self.def;
        match action {
            AlterAction::AddIdentity(sequence) => sequences::for_column(session, def, sequence),
            AlterAction::SetIdentity { column, kind, definition, restart } => {
                let mut identities = def.identities.iter_mut();
                let Some((_, identity)) = identities.find(|(at, _)| at == column) else {
                    return Ok(());
                };
                identity.kind = *kind;
                let options = Options { definition, restart: *restart };
                sequences::change(session, &identity.sequence, options)
            }
            AlterAction::DropIdentity { column } => {
                let mut gone = def.identities.extract_if(.., |(at, _)| at == column);
                gone.try_for_each(|(_, identity)| sequences::lose(session, &identity.sequence))
            }
            _ => Ok(()),
        }
    }

    fn drop_column(
        &mut self,
        column: usize,
        name: &str,
        indexes: &[String],
        going: Going<'_>,
    ) -> Result<()> {
        let over = |index: &sql::catalog::IndexMeta| {
            index.columns.iter().any(|at| at.ordinal == column)
                || index.terms.included.contains(&column)
                || indexes.contains(&index.name)
        };
        while let Some(gone) = self.def.indexes.iter().find(|index| over(index)) {
            let gone = gone.name.clone();
            self.lose_index(&gone, going)?;
        }
        let def = &mut self.def;
        lose_column(def, column);
        for key in &mut def.foreign_keys {
            references::shift(&mut key.columns, column);
            if key.table.name == def.name {
                references::shift(&mut key.references, column);
            }
        }
        references::lose_column(&mut self.children, &def.name, column);
        self.origins.remove(column);
        self.rewrites = true;
        self.renamed.push((name.to_owned(), None));
        Ok(())
    }

    /// Drops an index, with its constraint and the foreign keys that rely on it.
    fn lose_index(&mut self, name: &str, going: Going<'_>) -> Result<()> {
        references::lose_index(&mut self.def, &mut self.children, name, going)?;
        self.def.keys.retain(|key| key.name != name);
        self.def.indexes.retain(|index| index.name != name);
        Ok(())
    }

    fn drop_constraint(&mut self, name: &str, behaviour: DropBehaviour) -> Result<()> {
        if self.def.keys.iter().any(|key| key.name == name) {
            let what = format!("constraint {name} on table {}", self.def.bare_name());
            return self.lose_index(name, Going { what: &what, behaviour });
        }
        self.def.foreign_keys.retain(|key| key.name != name);
        self.def.checks.retain(|check| check.name != name);
        self.foreign_keys.retain(|key| key.name != name);
        self.checks.retain(|check| check.name != name);
        Ok(())
    }

    fn validate_constraint(&mut self, name: &str) {
        for check in self.def.checks.iter_mut().filter(|check| check.name == name) {
            check.validity = Validity::Valid;
            self.checks.push(check.clone());
        }
        for key in self.def.foreign_keys.iter_mut().filter(|key| key.name == name) {
            key.validity = Validity::Valid;
            self.foreign_keys.push(key.clone());
        }
    }

    /// True for a column that a foreign key has, or refers to.
    fn is_of_foreign_key(&self, column: usize) -> bool {
        let name = &self.def.name;
        let own = self.def.foreign_keys.iter();
        let others = self.children.iter().flat_map(|child| &child.def.foreign_keys);
        let refers =
            |key: &ForeignKeyDef| key.table.name == *name && key.references.contains(&column);
        own.clone().any(|key| key.columns.contains(&column)) || own.chain(others).any(refers)
    }

    fn rename_column(&mut self, renamed: &RenamedColumn) {
        let def = &mut self.def;
        let RenamedColumn { column, name, checks, generated, terms, key: _ } = renamed;
        let old = std::mem::replace(&mut def.columns[*column].name, name.clone());
        def.checks.clone_from(checks);
        for (column, sql) in generated {
            def.columns[*column].generated = Some(sql.clone());
        }
        for (index, terms) in terms {
            let indexes = def.indexes.iter_mut().filter(|known| known.name == *index);
            indexes.for_each(|known| known.terms.clone_from(terms));
        }
        self.renamed.push((old, Some(name.clone())));
    }

    fn rename_constraint(&mut self, from: &str, to: &str) -> Result<()> {
        let def = &mut self.def;
        let is_key = def.keys.iter().any(|key| key.name == from);
        let key = RelationName::key_beside(&def.name, to);
        let is_index = def.indexes.iter().any(|index| index.name == to);
        if is_index || is_key && self.state.contains(&key) {
            return Err(taken(to));
        }
        let names = def.keys.iter_mut().map(|key| &mut key.name);
        let names = names.chain(def.checks.iter_mut().map(|check| &mut check.name));
        let names = names.chain(def.foreign_keys.iter_mut().map(|key| &mut key.name));
        let names = names.chain(def.indexes.iter_mut().map(|index| &mut index.name));
        names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
        Ok(())
    }

    fn set_nulls(&mut self, column: usize, nulls: Nullability) {
        let column = &mut self.def.columns[column];
        match (nulls, column.not_null) {
            (Nullability::NotNull, false) => self.not_null.push(column.name.clone()),
            // Stores may have been told that there are none.
            (Nullability::Nullable, true) => self.rewrites = true,
            _ => {}
        }
        column.not_null = nulls == Nullability::NotNull;
    }

    fn add_key(&mut self, key: &KeyDef) -> Result<()> {
        refuse_json_key(key, &self.def.columns)?;
        if key.primary {
            key.columns.iter().for_each(|&column| self.set_nulls(column, Nullability::NotNull));
        }
        let mut named = TableDef::new(&self.def.name, Vec::new(), self.def.layout);
        named.keys.push(key.clone());
        name_keys(&mut named, &self.state)?;
        for mut key in named.keys {
            key.name = free(&key.name, |name| self.def.all_indexes().any(|i| i.name == name));
            self.def.indexes.push(key_index(&key, &self.def.columns));
            self.def.keys.push(key);
        }
        self.keys_first();
        Ok(())
    }

    /// Makes an index that of a key, whose name it gets.
    fn adopt_index(&mut self, index: &str, key: &KeyDef) -> Result<()> {
        if index != key.name {
            if self.state.contains(&RelationName::key_beside(&self.def.name, &key.name)) {
                return Err(taken(&key.name));
            }
            self.rename_constraint(index, &key.name)?;
        }
        if key.primary {
            key.columns.iter().for_each(|&column| self.set_nulls(column, Nullability::NotNull));
        }
        self.def.keys.push(key.clone());
        self.keys_first();
        Ok(())
    }

    /// Has the indexes of keys stand before others.
    fn keys_first(&mut self) {
        let (keys, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.def.indexes)
            .into_iter()
            .partition(|index| self.def.keys.iter().any(|key| key.name == index.name));
        self.def.indexes = keys.into_iter().chain(others).collect();
    }

    /// Name of a column as it is now; None when it is gone.
    fn name_now(&self, name: &str) -> Option<String> {
        let mut now = name.to_owned();
        for (from, to) in &self.renamed {
            if *from == now {
                now.clone_from(to.as_ref()?);
            }
        }
        Some(now)
    }

    fn finish(
        self,
        running: &mut Running<'_>,
        rows: &Arc<AttachedRows>,
        rewrite: Option<&Query>,
    ) -> Result<()> {
        if self.rewrites {
            self.replace(running, rows, rewrite)?;
        } else {
            redefine(running.session, rows.id, &self.def)?;
        }
        let session = &mut *running.session;
        references::follow(session, &self.children)?;
        let transaction = session.work().attached_to_change(session.database().registry())?;
        let mut tested = Vec::new();
        for key in &self.foreign_keys {
            tested.push((key, references::parent(&*transaction, &self.def, key)?.1));
        }
        let (from, to) = (&rows.def.name, &self.def.name);
        sequences::follow(&*transaction, from, to, |name| self.name_now(name))?;
        drop(transaction);
        rights::settle(session, &self.state, Some((to, &self.renamed)))?;
        for column in &self.not_null {
            validate::not_null(running, &self.def, column)?;
        }
        for check in &self.checks {
            validate::check(running.session, &self.def, check)?;
        }
        for (key, parent) in &tested {
            validate::foreign_key_to(running.session, &self.def, key, parent)?;
        }
        Ok(())
    }

    /// Puts a table of the rows of the query in the place of the one that is.
    fn replace(
        &self,
        running: &mut Running<'_>,
        rows: &Arc<AttachedRows>,
        rewrite: Option<&Query>,
    ) -> Result<()> {
        let own;
        let query = match rewrite {
            Some(query) => query,
            None => {
                let name = |at: &Option<usize>| {
                    at.map(|at| quoted(&rows.def.columns[at].name)).unwrap_or_default()
                };
                let columns: Vec<String> = self.origins.iter().map(name).collect();
                let from = quoted_relation(&rows.def.name);
                let text = format!("SELECT {} FROM ONLY {from}", columns.join(", "));
                own = validate::bind(running.session, &text)?;
                &own
            }
        };
        let mut result = running.run_query(query, Run::default())?;
        let generated = Generated::of(&self.def.columns);
        generated.prepare(&self.def, &running.session.own_catalog())?;
        for batch in &mut result.batches {
            generated.fill(batch)?;
            self.refuse_nulls(batch)?;
        }
        let width = self.def.columns.len();
        let row = |batch: &Batch, row: usize| -> Vec<Value> {
            batch.columns[..width].iter().map(|column| column.value(row)).collect()
        };
        let mut rows_now =
            result.batches.iter().flat_map(|batch| (0..batch.rows).map(move |at| row(batch, at)));
        let session = &*running.session;
        let transaction = session.work().attached_to_change(session.database().registry())?;
        let mut def = self.def.clone();
        derived::retype(&mut def)?;
        let table = table_of(&def, def.bare_name())?;
        match transaction.replace(rows.id, &table, &mut rows_now)? {
            None => Ok(()),
            Some(double) => Err(duplicated(&self.def, &double)),
        }
    }

    /// # Errors
    /// 23502 for NULL in a column that has none.
    fn refuse_nulls(&self, batch: &Batch) -> Result<()> {
        let columns = batch.columns.iter().zip(&self.def.columns);
        for (column, spec) in columns.filter(|(_, spec)| spec.not_null) {
            if (0..batch.rows).any(|row| column.value(row).is_null()) {
                return Err(validate::contains_nulls(&self.def, &spec.name));
            }
        }
        Ok(())
    }
}

/// # Errors
/// 0A000 for a default of a sequence that is not shared.
fn refuse_sequence(def: &TableDef, default: Option<&str>) -> Result<()> {
    let schema = RelationName::schema_of_key(&def.name);
    let is_other = default.is_some_and(|default| uses_own_sequence(default, schema));
    if is_other { Err(refused("a sequence that is not shared")) } else { Ok(()) }
}
