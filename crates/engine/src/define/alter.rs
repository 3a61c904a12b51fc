//! ALTER TABLE.
//!
//! ```text
//! actions -> definition, what it asks of others
//!   columns, their types or NOT NULL change -> new storage, filled by a query, indexes built after
//!   otherwise                               -> the same storage, indexes added and dropped
//! catalog changed -> views still the same? -> new constraints hold for the rows?
//! ```
//! Invariant: the table is locked and the newest rows are looked at, whatever the snapshot of the
//! transaction. Departure from PostgreSQL: SET and DROP NOT NULL write the table anew, because keys
//! of indexes and blocks know which columns have no NULLs.

use std::sync::Arc;

use catalog::comments::Commented;
use catalog::locks::LockMode;
use catalog::names::{quoted, quoted_relation};
use catalog::stored::{foreign_index, key_index};
use catalog::wide::Freshness;
use catalog::{Sequence, State, TableDef, TableEntry, derived};
use sql::Followed;
use sql::algebra::Query;
use sql::catalog::{
    CheckDef, ForeignKeyDef, IdentityKind, IndexMeta, KeyDef, Uniqueness, Validity,
};
use sql::statement::{
    AlterAction, AlterTable, ColumnSequence, DropBehaviour, Nullability, Persistence, RelationName,
    RenamedColumn,
};
use types::{DataType, Error, Result, SqlState};

use super::followers::{self, Change, Reader};
use super::redefined::{self, Redefined};
use super::table::{check_persistence, new_filled};
use super::{drop, inherit, names, needed, partition, sequence, validate, view, wide};
use crate::statement::running::Running;
use crate::write::deferred;
use crate::{QueryResult, Session};

/// A column that is gone.
struct Dropped {
    ordinal: usize,
    name: String,
    behaviour: DropBehaviour,
}

/// Message parts of DROP COLUMN about one column.
struct DroppedColumn<'a> {
    name: &'a str,
    /// Indexes whose terms read the column.
    indexes: &'a [String],
    behaviour: DropBehaviour,
}

/// A table being altered.
struct Altering {
    table: Redefined,
    /// Where each column was before; None for a new one.
    origins: Vec<Option<usize>>,
    rewrites: bool,
    sequences: Vec<Sequence>,
    dropped: Vec<Dropped>,
    /// A constraint that is gone, as an error names it.
    unconstrained: Option<(String, DropBehaviour)>,
    /// Wide tables that have a column that is gone.
    wide: Vec<String>,
    /// Columns by old and new name.
    renamed: Vec<(String, String)>,
    /// Constraints, from and to; an index may have the name, too.
    renamed_constraints: Vec<(String, String)>,
    /// Sequences of identities that are gone.
    lost_sequences: Vec<String>,
    /// Foreign keys that go with a key, as table and constraint.
    lost: Vec<(String, String)>,
    checks: Vec<CheckDef>,
    foreign_keys: Vec<ForeignKeyDef>,
    /// Keys that no unique index tests.
    keys: Vec<KeyDef>,
    /// Exclusion constraints, by name.
    exclusions: Vec<String>,
    /// Columns that got another type.
    retyped: Vec<String>,
}

/// ALTER TABLE.
pub(super) fn alter(session: &mut Session, alter: &AlterTable) -> Result<QueryResult> {
    let changes = |part: &&AlterTable| !part.actions.is_empty() || part.rewrite.is_some();
    let parts = alter.partitions.iter().filter(changes);
    let all: Vec<&AlterTable> = std::iter::once(alter).chain(parts).collect();
    // All are as the statement was bound to them. A change of one gives those that refer to it
    // new entries.
    for altered in &all {
        redefined::locked(session, &altered.table)?;
    }
    let mut key = None;
    for altered in all {
        let entry = redefined::locked_named(session, altered.table.name())?;
        if !altered.actions.iter().all(is_renaming) {
            deferred::refuse_altered(session, &entry)?;
        }
        let mut altering = Altering { rewrites: altered.rewrite.is_some(), ..Altering::new(entry) };
        for action in &altered.actions {
            altering.apply(session, action)?;
        }
        key.get_or_insert_with(|| altering.table.def.name.clone());
        altering.finish(session, altered.rewrite.as_deref())?;
    }
    if let Some(key) = key.filter(|_| !alter.partitions.is_empty()) {
        partition::follow_parts(&mut Running::own(session), &key)?;
    }
    Ok(QueryResult::command("ALTER TABLE"))
}

/// ALTER MATERIALIZED VIEW ... RENAME.
pub(super) fn materialized(
    running: &mut Running<'_>,
    altering: &AlterTable,
) -> Result<QueryResult> {
    alter(running.session, altering)?;
    Ok(QueryResult::command("ALTER MATERIALIZED VIEW"))
}

/// Gives a table another name, in another schema perhaps; both as the catalog calls them.
///
/// # Errors
/// 42P07; 0A000 for what views read.
pub(super) fn rename_table(session: &mut Session, key: &str, to: &str) -> Result<()> {
    let mut altering = Altering::new(redefined::locked_named(session, key)?);
    altering.rename(session, to)?;
    altering.finish(session, None)
}

/// True when the action gives something another name and nothing else.
fn is_renaming(action: &AlterAction) -> bool {
    matches!(
        action,
        AlterAction::Rename(_)
            | AlterAction::RenameColumn(_)
            | AlterAction::RenameConstraint { .. }
    )
}

/// Notice that an index gets the name of the constraint that it serves.
pub(super) fn renames_index(index: &str, to: &str) -> String {
    let what = "ALTER TABLE / ADD CONSTRAINT USING INDEX";
    format!("{what} will rename index \"{index}\" to \"{to}\"")
}

impl Altering {
    fn new(entry: Arc<TableEntry>) -> Self {
        Self {
            origins: (0..entry.def.columns.len()).map(Some).collect(),
            table: Redefined::new(entry),
            rewrites: false,
            sequences: Vec::new(),
            dropped: Vec::new(),
            unconstrained: None,
            wide: Vec::new(),
            renamed: Vec::new(),
            renamed_constraints: Vec::new(),
            lost_sequences: Vec::new(),
            lost: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            keys: Vec::new(),
            exclusions: Vec::new(),
            retyped: Vec::new(),
        }
    }

    fn apply(&mut self, session: &mut Session, action: &AlterAction) -> Result<()> {
        let def = &mut self.table.def;
        match action {
            AlterAction::SetInheritance(set) => inherit::set(&mut Running::own(session), def, set)?,
            AlterAction::AddColumn { column, sequence } => {
                def.columns.push(column.clone());
                self.origins.push(None);
                if let Some(sequence) = sequence {
                    self.add_sequence(session, sequence)?;
                }
            }
            AlterAction::DropColumn { column, name, indexes, behaviour } => {
                let gone = DroppedColumn { name, indexes, behaviour: *behaviour };
                self.drop_column(session, *column, gone)?;
                let forget = |state: &mut State, table: &str| state.forget_column(table, name);
                self.forget(&mut Running::own(session), forget)?;
            }
            AlterAction::RenameColumn(renamed) => self.rename_column(renamed),
            AlterAction::Rename(to) => {
                let to = RelationName::key_beside(&def.name, to);
                self.rename(session, &to)?;
            }
            AlterAction::RenameConstraint { from, to } => {
                self.rename_constraint(session, from, to)?;
            }
            AlterAction::SetDefault { column, default } => {
                def.columns[*column].default.clone_from(default);
            }
            AlterAction::DropExpression { column } => def.columns[*column].generated = None,
            AlterAction::SetNullable { column, nulls } => {
                self.set_not_null(*column, *nulls == Nullability::NotNull);
            }
            AlterAction::SetType { column, ty, domain, collation } => {
                def.columns[*column].domain = *domain;
                def.columns[*column].collation = *collation;
                self.set_type(*column, *ty);
            }
            AlterAction::AddIdentity(sequence) => self.add_sequence(session, sequence)?,
            AlterAction::SetIdentity { column, kind, definition, restart } => {
                let options = sequence::Options { definition, restart: *restart };
                self.set_identity(session, *column, *kind, options)?;
            }
            AlterAction::DropIdentity { column } => self.drop_identity(*column),
            AlterAction::AddKey(key) => self.add_key(session, key)?,
            AlterAction::AddExclusion(index) => self.add_exclusion(session, index)?,
            AlterAction::AdoptIndex { index, key } => self.adopt_index(session, index, key)?,
            AlterAction::AddCheck(check) => {
                def.checks.push(check.clone());
                self.checks.extend((check.validity == Validity::Valid).then(|| check.clone()));
            }
            AlterAction::AddForeignKey(key) => self.add_foreign_key(session, key)?,
            AlterAction::SetOrder { column } => def.order_by = *column,
            AlterAction::SetDeferral { name, deferral } => {
                let keys = def.foreign_keys.iter_mut();
                keys.filter(|key| key.name == *name).for_each(|key| key.deferral = *deferral);
            }
            AlterAction::ValidateConstraint { name } => self.validate_constraint(name),
            AlterAction::DropConstraint { name, behaviour } => {
                self.drop_constraint(session, name, *behaviour)?;
                let forget = |state: &mut State, table: &str| state.forget_constraint(table, name);
                self.forget(&mut Running::own(session), forget)?;
            }
        }
        Ok(())
    }

    /// Has the catalog forget what it knows of a part of the table that is gone: another one may
    /// get its name at once.
    fn forget(
        &self,
        running: &mut Running<'_>,
        forget: impl FnOnce(&mut State, &str),
    ) -> Result<()> {
        running.session.change_catalog(|state| {
            forget(state, &self.table.entry.def.name);
            Ok(())
        })
    }

    fn rename_column(&mut self, renamed: &RenamedColumn) {
        let def = &mut self.table.def;
        let RenamedColumn { column, name, checks, generated, terms, key } = renamed;
        if let (Some(partition), Some(terms)) = (&mut def.partition_by, key) {
            partition.terms.clone_from(terms);
        }
        let old = std::mem::replace(&mut def.columns[*column].name, name.clone());
        def.checks.clone_from(checks);
        for (column, sql) in generated {
            def.columns[*column].generated = Some(sql.clone());
        }
        for (index, terms) in terms {
            let indexes = def.indexes.iter_mut().filter(|known| known.name == *index);
            indexes.for_each(|known| known.terms.clone_from(terms));
        }
        if let Some(materialized) = &mut def.materialized {
            materialized.follow_names(&def.columns);
        }
        self.renamed.push((old, name.clone()));
    }

    /// Another type of a column: what is said of it holds for its new values, too.
    fn set_type(&mut self, column: usize, ty: DataType) {
        let def = &mut self.table.def;
        def.columns[column].ty = ty;
        let name = &def.columns[column].name;
        let reads = |check: &&CheckDef| {
            check.validity == Validity::Valid && sql::names_in(&check.sql).contains(name)
        };
        self.checks.extend(def.checks.iter().filter(reads).cloned());
        let is_over = |key: &&KeyDef| key.deferral.is_deferrable() && key.columns.contains(&column);
        self.keys.extend(def.keys.iter().filter(is_over).cloned());
        let is_meant =
            |fk: &&ForeignKeyDef| fk.columns.contains(&column) && fk.validity == Validity::Valid;
        self.foreign_keys.extend(def.foreign_keys.iter().filter(is_meant).cloned());
        self.exclusions.extend(def.indexes.iter().filter(|i| i.excludes()).map(|i| i.name.clone()));
        self.retyped.push(name.clone());
    }

    fn set_not_null(&mut self, column: usize, not_null: bool) {
        let column = &mut self.table.def.columns[column];
        self.rewrites |= column.not_null != not_null;
        column.not_null = not_null;
    }

    fn add_sequence(&mut self, session: &Session, column: &ColumnSequence) -> Result<()> {
        let state = session.state();
        let name = column.name.key();
        if state.contains(&name) || self.sequences.iter().any(|s| s.name == name) {
            // The rewriting query was bound to this name.
            return Err(names::taken(&column.name.name));
        }
        let sequence = sequence::for_column(session, &mut self.table.def, column, name);
        self.sequences.push(sequence);
        Ok(())
    }

    /// SET GENERATED, SET of options, RESTART.
    fn set_identity(
        &mut self,
        session: &Session,
        column: usize,
        kind: IdentityKind,
        options: sequence::Options<'_>,
    ) -> Result<()> {
        let identities = self.table.def.identities.iter_mut();
        for (_, identity) in identities.filter(|(at, _)| *at == column) {
            identity.kind = kind;
            let name = identity.sequence.key();
            let changed = sequence::changed(session, &name, options)?;
            self.sequences.retain(|known| known.name != name);
            self.sequences.push(changed);
        }
        Ok(())
    }

    fn drop_identity(&mut self, column: usize) {
        let gone = self.table.def.identities.extract_if(.., |(at, _)| *at == column);
        self.lost_sequences.extend(gone.map(|(_, of)| of.sequence.key()));
    }

    fn add_key(&mut self, session: &Session, key: &KeyDef) -> Result<()> {
        self.table.def.keys.push(key.clone());
        if key.primary {
            key.columns.iter().for_each(|&column| self.set_not_null(column, true));
        }
        self.add_last_key(session)
    }

    /// Makes an index that of a key, whose name it gets.
    fn adopt_index(&mut self, session: &mut Session, index: &str, key: &KeyDef) -> Result<()> {
        if index != key.name {
            let message = renames_index(index, &key.name);
            session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            self.rename_constraint(session, index, &key.name)?;
        }
        if key.primary {
            key.columns.iter().for_each(|&column| self.set_not_null(column, true));
        }
        self.table.def.keys.push(key.clone());
        Ok(())
    }

    /// Gives the key added last a free name and its index.
    fn add_last_key(&mut self, session: &Session) -> Result<()> {
        let def = &mut self.table.def;
        let Some(key) = def.keys.pop() else { return Ok(()) };
        let mut named = TableDef::new(&def.name, Vec::new(), def.layout);
        named.keys.push(key);
        names::name_keys(&mut named, &session.state())?;
        for mut key in named.keys {
            let own = |name: &str| self.table.def.all_indexes().any(|i| i.name == name);
            key.name = names::free(&key.name, own);
            let index = key_index(&key, &self.table.def.columns);
            self.table.add_index(index);
            self.keys.extend(key.deferral.is_deferrable().then(|| key.clone()));
            self.table.def.keys.push(key);
        }
        Ok(())
    }

    /// Gives EXCLUDE a free name and its index.
    fn add_exclusion(&mut self, session: &Session, index: &IndexMeta) -> Result<()> {
        let mut index = index.clone();
        names::name_exclusion(&self.table.def, &session.state(), &mut index)?;
        self.exclusions.push(index.name.clone());
        self.table.add_index(index);
        Ok(())
    }

    fn add_foreign_key(&mut self, session: &mut Session, key: &ForeignKeyDef) -> Result<()> {
        let def = &self.table.def;
        check_persistence(&session.state(), def, key)?;
        let is_taken = |name: &str| def.all_indexes().any(|i| i.name == name);
        let key = ForeignKeyDef { name: names::free(&key.name, is_taken), ..key.clone() };
        if key.table.name != def.name {
            redefined::named_in(session, &key.table.name, LockMode::ShareRowExclusive)?;
        }
        self.table.add_index(foreign_index(&key));
        self.table.def.foreign_keys.push(key.clone());
        if key.validity == Validity::Valid {
            self.foreign_keys.push(key);
        }
        Ok(())
    }

    /// Makes a check or a foreign key hold for all rows, which are tested at the end.
    fn validate_constraint(&mut self, name: &str) {
        let def = &mut self.table.def;
        for check in def.checks.iter_mut().filter(|check| check.name == name) {
            if std::mem::take(&mut check.validity) == Validity::NotValid {
                self.checks.push(check.clone());
            }
        }
        for key in def.foreign_keys.iter_mut().filter(|key| key.name == name) {
            if std::mem::take(&mut key.validity) == Validity::NotValid {
                self.foreign_keys.push(key.clone());
            }
        }
    }

    fn rename(&mut self, session: &Session, to: &str) -> Result<()> {
        if session.state().contains(to) {
            return Err(names::taken(RelationName::name_of_key(to)));
        }
        let from = std::mem::replace(&mut self.table.def.name, to.to_owned());
        for key in self.table.def.foreign_keys.iter_mut().filter(|fk| fk.table.name == from) {
            to.clone_into(&mut key.table.name);
        }
        Ok(())
    }

    fn rename_constraint(&mut self, session: &Session, from: &str, to: &str) -> Result<()> {
        let def = &mut self.table.def;
        let excludes = |index: &IndexMeta| index.excludes() && index.name == from;
        let is_key =
            def.keys.iter().any(|key| key.name == from) || def.indexes.iter().any(excludes);
        let is_index = def.all_indexes().any(|index| index.name == to);
        let key = RelationName::key_beside(&def.name, to);
        if is_index || (is_key && session.state().contains(&key)) {
            return Err(names::taken(to));
        }
        let names = def.keys.iter_mut().map(|key| &mut key.name);
        let names = names.chain(def.checks.iter_mut().map(|check| &mut check.name));
        let names = names.chain(def.foreign_keys.iter_mut().map(|key| &mut key.name));
        let names = names.chain(def.indexes.iter_mut().map(|index| &mut index.name));
        names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
        self.renamed_constraints.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    /// Drops a constraint, with its index and the foreign keys that rely on that.
    fn drop_constraint(
        &mut self,
        session: &Session,
        name: &str,
        behaviour: DropBehaviour,
    ) -> Result<()> {
        let what = format!("constraint {name} on table {}", self.table.def.name);
        self.unconstrained = Some((what.clone(), behaviour));
        let def = &self.table.def;
        let excludes = def.indexes.iter().any(|index| index.excludes() && index.name == name);
        if excludes || def.keys.iter().any(|key| key.name == name) {
            let position = self.table.def.indexes.iter().position(|i| i.name == name);
            if let Some(position) = position {
                self.lose_index(session, position, &what, behaviour)?;
            }
            self.table.def.keys.retain(|key| key.name != name);
        } else {
            self.table.remove_foreign_key(name);
            self.table.def.checks.retain(|check| check.name != name);
        }
        self.checks.retain(|check| check.name != name);
        self.foreign_keys.retain(|key| key.name != name);
        self.exclusions.retain(|of| of != name);
        Ok(())
    }

    /// Removes an index and the foreign keys that rely on it.
    fn lose_index(
        &mut self,
        session: &Session,
        position: usize,
        what: &str,
        behaviour: DropBehaviour,
    ) -> Result<()> {
        let state = session.state();
        let unchanged = self.table.def.name == self.table.entry.def.name;
        let name = self.table.def.indexes[position].name.clone();
        // Others know the table as it was before this statement.
        let known = self.table.entry.def.indexes.iter().position(|i| i.name == name);
        let known = known.filter(|_| unchanged);
        let relying = known.map_or(Vec::new(), |at| drop::relying(&state, &self.table.entry, at));
        for (table, key) in relying {
            if table == self.table.def.name {
                let gone = !self.table.def.foreign_keys.iter().any(|fk| fk.name == key);
                if gone {
                    continue;
                }
            }
            if behaviour == DropBehaviour::Restrict {
                return Err(needed(what, &format!("constraint {key} on table {table}")));
            }
            if table == self.table.def.name {
                self.table.remove_foreign_key(&key);
            } else {
                self.lost.push((table, key));
            }
        }
        self.table.remove_constraint_index(&name);
        Ok(())
    }

    fn drop_column(
        &mut self,
        session: &Session,
        ordinal: usize,
        DroppedColumn { name, indexes, behaviour }: DroppedColumn<'_>,
    ) -> Result<()> {
        let what = format!("column {name} of table {}", self.table.def.name);
        let before = &self.table.entry.def;
        if let Some(known) = before.columns.iter().position(|column| column.name == name) {
            self.wide.extend(wide::holders(&session.state(), &before.name, known));
        }
        if behaviour == DropBehaviour::Restrict
            && let Some(policy) = session.state().policy_of_column(&before.name, name)
        {
            return Err(needed(&what, &policy));
        }
        if behaviour == DropBehaviour::Restrict
            && let Some(trigger) = session.state().trigger_of_column(&before.name, name)
        {
            return Err(needed(&what, &trigger));
        }
        let over = |index: &sql::catalog::IndexMeta| {
            index.columns.iter().any(|column| column.ordinal == ordinal)
                || index.terms.included.contains(&ordinal)
                || indexes.contains(&index.name)
        };
        while let Some(position) = self.table.def.indexes.iter().position(over) {
            if self.table.def.indexes[position].unique == Uniqueness::No {
                self.table.remove_index(position);
            } else {
                self.lose_index(session, position, &what, behaviour)?;
            }
        }
        self.table.retain_block_indexes(|index| !over(index));
        let own = self.table.def.name.clone();
        lose_column(&mut self.table.def, ordinal);
        for key in self.table.def.foreign_keys.iter_mut().chain(&mut self.foreign_keys) {
            shift(&mut key.columns, ordinal);
            if key.table.name == own {
                shift(&mut key.references, ordinal);
            }
        }
        self.origins.remove(ordinal);
        self.rewrites = true;
        self.dropped.push(Dropped { ordinal, name: name.to_owned(), behaviour });
        Ok(())
    }

    /// The readers of the table that have to follow: none where names stay.
    fn readers(&self, session: &Session, old: &str) -> Vec<Reader> {
        let keeps_names = self.renamed.is_empty() && self.dropped.is_empty();
        if keeps_names && *old == *self.table.def.name {
            return Vec::new();
        }
        followers::readers(session, old)
    }

    fn finish(mut self, session: &mut Session, rewrite: Option<&Query>) -> Result<()> {
        let old = self.table.entry.def.name.clone();
        let before: Vec<String> =
            self.table.entry.def.columns.iter().map(|c| quoted(&c.name)).collect();
        let readers = self.readers(session, &old);
        let sequences = std::mem::take(&mut self.sequences);
        session.change_catalog(|state| {
            state.sequences.extend(sequences.into_iter().map(|s| (s.name.clone(), Arc::new(s))));
            Ok(())
        })?;
        let others = drop::without_foreign_keys(session, std::mem::take(&mut self.lost))?;
        let Self { table, origins, rewrites, dropped, checks, foreign_keys, keys, .. } = self;
        let exclusions = self.exclusions;
        let (renamed, renamed_constraints) = (self.renamed, self.renamed_constraints);
        let (unconstrained, wide, lost) = (self.unconstrained, self.wide, self.lost_sequences);
        let retyped = self.retyped;
        let entry = if rewrites {
            rewritten(session, &table, &origins, rewrite)?
        } else {
            table.finish(session)?
        };
        let def = entry.def.clone();
        let moved = |on: &Commented| moved_comment(&def, on, &renamed, &renamed_constraints);
        session.change_catalog(|state| {
            for other in others {
                state.tables.insert(other.def.name.clone(), other);
            }
            if rewrites {
                wide::renew(state, &old, Freshness::again);
            }
            state.tables.remove(&old);
            state.tables.insert(def.name.clone(), entry);
            state.move_triggers(&old, &def.name);
            state.rename_in_triggers(&def.name, &renamed);
            dropped.iter().for_each(|column| state.drop_triggers_of(&def.name, &column.name));
            if def.persistence == Persistence::Permanent {
                state.follow_table(&old, &def);
                state.move_comments(moved);
                state.rename_column_rights(&def.name, &renamed);
            }
            for column in &dropped {
                sequence::drop_owned(state, &old, Some(&column.name), column.behaviour)?;
            }
            sequence::drop_each(state, &lost)?;
            for (from, to) in &renamed_constraints {
                partition::rename_index(state, &def.name, from, to);
            }
            follow(state, &old, &def.name, &dropped);
            sequence::change_owned(state, &old, |(_, column)| {
                let new = renamed.iter().find(|(from, _)| *from == column);
                (def.name.clone(), new.map_or(column, |(_, to)| to.clone()))
            });
            let what = |c: &Dropped| (format!("column {} of table {old}", c.name), c.behaviour);
            match dropped.first().map(what).or(unconstrained) {
                Some((what, behaviour)) => wide::drop_unfit(state, &wide, &what, behaviour),
                None => wide::refuse_unfit(state, &old),
            }
        })?;
        let shown = quoted_relation(&def.name);
        let mut parts = followed_columns(&before, &renamed, &dropped);
        parts.extend((old != def.name).then_some(Followed::Name(&shown)));
        let change = Change { from: &old, to: &def.name, parts: &parts };
        followers::follow(session, &readers, &change)?;
        let first = dropped.first().map(|column| (column.name.as_str(), column.behaviour));
        view::check_readers(session, &def.name, first)?;
        let wanted = NewTests { retyped, checks, foreign_keys, keys, exclusions };
        wanted.run(&mut Running::own(session), &def)
    }
}

/// Tests of rows that an altered table owes.
struct NewTests {
    retyped: Vec<String>,
    checks: Vec<CheckDef>,
    foreign_keys: Vec<ForeignKeyDef>,
    keys: Vec<KeyDef>,
    exclusions: Vec<String>,
}

impl NewTests {
    /// Tests the rows; of a partitioned table its partitions do that.
    fn run(&self, running: &mut Running<'_>, def: &TableDef) -> Result<()> {
        if def.partition_by.is_some() {
            return Ok(());
        }
        validate::retyped(running.session, def, &self.retyped)?;
        for check in &self.checks {
            validate::check(running.session, def, check)?;
        }
        for key in &self.keys {
            validate::key(running, def, key)?;
        }
        for index in def.indexes.iter().filter(|index| self.exclusions.contains(&index.name)) {
            validate::exclusion(running, def, index)?;
        }
        for key in &self.foreign_keys {
            validate::foreign_key(running.session, def, key)?;
        }
        Ok(())
    }
}

/// Changes that readers see: columns with new names or dropped; `before` are the old names.
fn followed_columns<'a>(
    before: &'a [String],
    renamed: &[(String, String)],
    dropped: &[Dropped],
) -> Vec<Followed<'a>> {
    let place =
        |(from, _): &(String, String)| before.iter().position(|known| *known == quoted(from));
    let renamed = renamed.iter().filter_map(place);
    let named = renamed.map(|place| Followed::Column(&before[..=place]));
    named.chain(dropped.iter().map(|column| Followed::Dropped(column.ordinal))).collect()
}

/// Takes a column out of a definition, but for its foreign keys: no key and no index has it.
pub(super) fn lose_column(def: &mut TableDef, ordinal: usize) {
    def.columns.remove(ordinal);
    def.order_by = def.order_by.filter(|column| *column != ordinal);
    def.identities.retain(|(column, _)| *column != ordinal);
    let keys = def.keys.iter_mut().flat_map(|key| [&mut key.columns, &mut key.included]);
    let keys = keys.flatten();
    let indexes = def.indexes.iter_mut().chain(&mut def.block_indexes);
    indexes.for_each(|index| index.column_removed(ordinal));
    let identities = def.identities.iter_mut().map(|(column, _)| column);
    let of_key = def.partition_by.iter_mut().flat_map(|key| &mut key.columns);
    let of_key = of_key.filter(|c| c.expression().is_none()).map(|c| &mut c.ordinal);
    let ordinals = keys.chain(identities).chain(of_key);
    let ordinals = ordinals.chain(&mut def.order_by);
    ordinals.for_each(|column| *column -= usize::from(*column > ordinal));
}

fn shift(ordinals: &mut [usize], gone: usize) {
    ordinals.iter_mut().for_each(|column| *column -= usize::from(*column > gone));
}

/// The table with new storage, filled by `rewrite` or from the columns that stay.
fn rewritten(
    session: &mut Session,
    table: &Redefined,
    origins: &[Option<usize>],
    rewrite: Option<&Query>,
) -> Result<Arc<TableEntry>> {
    let own;
    let query = match rewrite {
        Some(query) => query,
        None => {
            let old = &table.entry.def;
            let name = |origin: &Option<usize>| {
                origin.map(|o| quoted(&old.columns[o].name)).unwrap_or_default()
            };
            let columns: Vec<String> = origins.iter().map(name).collect();
            let from = quoted_relation(&old.name);
            let text = format!("SELECT {} FROM ONLY {from}", columns.join(", "));
            own = validate::bind(session, &text)?;
            &own
        }
    };
    let mut def = table.def.clone();
    derived::retype(&mut def)?;
    let lock = Arc::clone(&table.entry.lock);
    let run = validate::run_newest(session);
    let filled = new_filled(&mut Running::own(session), def, lock, Some((query, run)));
    filled.map(|(entry, _)| entry).map_err(|error| contains_nulls(&table.def, error))
}

/// PostgreSQL's error for rows that have NULL where a column became NOT NULL.
fn contains_nulls(def: &TableDef, error: Error) -> Error {
    match error.about().and_then(|about| about.column.as_deref()) {
        Some(column) if error.state() == SqlState::NOT_NULL_VIOLATION => {
            validate::contains_nulls(def, column)
        }
        _ => error,
    }
}

/// Foreign keys of other tables follow the table's new name and the new places of its columns,
/// partitions and heirs its new name.
fn follow(state: &mut State, old: &str, new: &str, dropped: &[Dropped]) {
    for entry in state.tables.clone().into_values().filter(|_| old != new) {
        let mut def = entry.def.clone();
        let place = def.partition_of.as_mut().map(|place| &mut place.parent);
        let parents = place.into_iter().chain(&mut def.inheritance.parents);
        let mut parents: Vec<_> = parents.filter(|parent| **parent == old).collect();
        if parents.is_empty() {
            continue;
        }
        parents.iter_mut().for_each(|parent| new.clone_into(parent));
        let changed = entry.redefined(def, entry.built());
        state.tables.insert(entry.def.name.clone(), Arc::new(changed));
    }
    for entry in state.tables.clone().into_values() {
        if entry.def.name == new || !entry.def.foreign_keys.iter().any(|fk| fk.table.name == old) {
            continue;
        }
        let mut def = entry.def.clone();
        for key in def.foreign_keys.iter_mut().filter(|fk| fk.table.name == old) {
            new.clone_into(&mut key.table.name);
            dropped.iter().for_each(|column| shift(&mut key.references, column.ordinal));
        }
        let changed = entry.redefined(def, entry.built());
        state.tables.insert(entry.def.name.clone(), Arc::new(changed));
    }
}

/// Object of a comment after columns and constraints of `def` got other names; None for one
/// that stays.
fn moved_comment(
    def: &TableDef,
    on: &Commented,
    columns: &[(String, String)],
    constraints: &[(String, String)],
) -> Option<Commented> {
    match on {
        Commented::Column(relation, column) if *relation == def.name => {
            let (_, to) = columns.iter().find(|(from, _)| from == column)?;
            Some(Commented::Column(relation.clone(), to.clone()))
        }
        Commented::Constraint(relation, constraint) if *relation == def.name => {
            let (_, to) = constraints.iter().find(|(from, _)| from == constraint)?;
            Some(Commented::Constraint(relation.clone(), to.clone()))
        }
        Commented::Relation(name) => {
            let beside = |name: &str| RelationName::key_beside(&def.name, name);
            let (_, to) = constraints.iter().find(|(from, _)| beside(from) == *name)?;
            let is_index = def.indexes.iter().any(|i| i.name == *to);
            is_index.then(|| Commented::Relation(beside(to)))
        }
        _ => None,
    }
}
