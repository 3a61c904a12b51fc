//! COMMENT ON: texts that people leave at objects, a part of the catalog.
//!
//! Invariant: nothing in [`State::comments`] is about an object that is not there: each change of
//! the catalog ends with [`State::settle_comments`].

use std::collections::BTreeSet;

use sql::catalog::TableRef;
use sql::statement::{ALWAYS_THERE, RelationName};

use crate::state::{State, TableDef};

/// Object of a comment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Commented {
    /// A permanent table, view, index or sequence.
    Relation(String),
    /// A column of a permanent table or view.
    Column(String, String),
    /// A constraint of a permanent table.
    Constraint(String, String),
    /// A schema.
    Schema(String),
    /// The database.
    Database,
    /// A role.
    Role(String),
    /// A type that users made.
    Type(String),
    /// An extension.
    Extension(String),
    /// A collation that users made, by its key.
    Collation(String),
    /// A function or procedure, by its key.
    Routine(String),
    /// A trigger of a table or view.
    Trigger(String, String),
    /// A large object, by its number: who takes it away takes the comment away.
    LargeObject(u32),
}

impl State {
    /// The ordinal of a column of a table or view.
    pub fn column_place(&self, relation: &str, column: &str) -> Option<usize> {
        if let Some(table) = self.tables.get(relation) {
            return table.def.columns.iter().position(|c| c.name == column);
        }
        self.views.get(relation)?.output.iter().position(|(name, _)| name == column)
    }

    /// Comments after the catalog changed: those on what is gone go.
    pub fn settle_comments(&mut self) {
        let gone = |on: &Commented| match on {
            Commented::Relation(name) => !self.contains(name),
            Commented::Column(relation, column) => self.column_place(relation, column).is_none(),
            Commented::Constraint(table, name) => !self.has_constraint(table, name),
            Commented::Role(name) => !self.roles.contains_key(name),
            Commented::Schema(name) => !self.has_schema(name),
            Commented::Type(key) => !self.types.contains_key(key),
            Commented::Extension(name) => {
                name != ALWAYS_THERE && !self.extensions.contains_key(name)
            }
            Commented::LargeObject(_) => false,
            Commented::Collation(key) => !self.collations.contains_key(key),
            Commented::Routine(key) => !self.routines.contains_key(key),
            Commented::Trigger(table, name) => {
                !self.triggers_of(table).iter().any(|def| def.name == *name)
            }
            Commented::Database => false,
        };
        let gone: Vec<Commented> = self.comments.keys().filter(|on| gone(on)).cloned().collect();
        gone.iter().for_each(|on| drop(self.comments.remove(on)));
    }

    /// The comment on a constraint of a table goes with it, that on its index too.
    pub fn forget_constraint(&mut self, table: &str, name: &str) {
        self.comments.remove(&Commented::Constraint(table.to_owned(), name.to_owned()));
        self.comments.remove(&Commented::Relation(RelationName::key_beside(table, name)));
    }

    /// Comments follow what `renamed` gives another name.
    pub fn move_comments(&mut self, renamed: impl Fn(&Commented) -> Option<Commented>) {
        let moved: Vec<(Commented, Commented)> =
            self.comments.keys().filter_map(|on| Some((on.clone(), renamed(on)?))).collect();
        let texts: Vec<_> = moved.iter().map(|(from, _)| self.comments.remove(from)).collect();
        for ((_, to), text) in moved.into_iter().zip(texts) {
            self.comments.extend(text.map(|text| (to, text)));
        }
    }

    /// Comments on columns of the new table `name`: each column, and the one of another table whose
    /// comment it has, too.
    pub fn copy_comments(&mut self, name: &str, columns: &[(String, TableRef, String)]) {
        for (column, table, like) in columns {
            let on = Commented::Column(table.name().to_owned(), like.clone());
            if let Some(text) = self.comments.get(&on).cloned() {
                self.comments.insert(Commented::Column(name.to_owned(), column.clone()), text);
            }
        }
        // Constraints that came along have their names.
        let from: BTreeSet<&str> = columns.iter().map(|(_, table, _)| table.name()).collect();
        let copied = |(on, text): (&Commented, &String)| match on {
            Commented::Constraint(table, constraint)
                if from.contains(table.as_str()) && self.has_constraint(name, constraint) =>
            {
                Some((Commented::Constraint(name.to_owned(), constraint.clone()), text.clone()))
            }
            _ => None,
        };
        let copied: Vec<(Commented, String)> = self.comments.iter().filter_map(copied).collect();
        self.comments.extend(copied);
    }

    /// Rights and comments follow a table that was called `from`, those on its indexes, too.
    pub fn follow_table(&mut self, from: &str, table: &TableDef) {
        if from == table.name {
            return;
        }
        self.rename_rights(from, &table.name);
        self.rename_comments(from, &table.name);
        for index in table.visible_indexes() {
            let beside = |key: &str| RelationName::key_beside(key, &index.name);
            self.rename_comments(&beside(from), &beside(&table.name));
        }
    }

    /// Comments on a relation and its columns follow its new name.
    pub fn rename_comments(&mut self, from: &str, to: &str) {
        self.move_comments(|on| match on {
            Commented::Relation(name) if name == from => Some(Commented::Relation(to.to_owned())),
            Commented::Column(relation, column) if relation == from => {
                Some(Commented::Column(to.to_owned(), column.clone()))
            }
            Commented::Constraint(table, name) if table == from => {
                Some(Commented::Constraint(to.to_owned(), name.clone()))
            }
            Commented::Trigger(table, name) if table == from => {
                Some(Commented::Trigger(to.to_owned(), name.clone()))
            }
            _ => None,
        });
    }

    /// True when a table has a constraint of this name.
    pub fn has_constraint(&self, table: &str, name: &str) -> bool {
        self.tables.get(table).is_some_and(|table| {
            let def = &table.def;
            def.keys.iter().any(|key| key.name == name)
                || def.checks.iter().any(|check| check.name == name)
                || def.foreign_keys.iter().any(|key| key.name == name)
                || def.indexes.iter().any(|index| index.excludes() && index.name == name)
        })
    }
}
