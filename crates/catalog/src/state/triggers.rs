//! Triggers in the catalog: which fire for a table, and what follows changes of tables.

use std::sync::Arc;

use sql::catalog::{
    TableMeta, TriggerDef, TriggerEvent, TriggerFiring, TriggerLevel, TriggerTiming,
};
use sql::statement::RelationName;

use super::State;

/// Moment of a statement at which triggers are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// BEFORE, AFTER or INSTEAD OF.
    pub timing: TriggerTiming,
    /// Each row, or the statement.
    pub level: TriggerLevel,
    /// Kind of the statement.
    pub event: TriggerEvent,
    /// Names of the columns that an UPDATE assigns.
    pub assigned: &'a [&'a str],
}

/// The setting `session_replication_role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicationRole {
    /// `origin` and `local`.
    Origin,
    /// `replica`.
    Replica,
}

impl ReplicationRole {
    /// The role that a value of the setting names; None is the default.
    pub fn of(value: Option<&str>) -> Self {
        match value {
            Some("replica") => Self::Replica,
            _ => Self::Origin,
        }
    }

    fn fires(self, firing: TriggerFiring) -> bool {
        match firing {
            TriggerFiring::Always => true,
            TriggerFiring::Disabled => false,
            TriggerFiring::Origin => self == Self::Origin,
            TriggerFiring::Replica => self == Self::Replica,
        }
    }
}

impl State {
    /// The triggers of a table or view, by name.
    pub fn triggers_of(&self, table: &str) -> &[Arc<TriggerDef>] {
        self.triggers.get(table).map_or(&[], Vec::as_slice)
    }

    /// The triggers that fire for rows of a table: its own, and those of the tables that it is a
    /// partition of; each with the table that has it, in the order in which they fire.
    pub fn row_triggers(&self, table: &str) -> Vec<(String, Arc<TriggerDef>)> {
        let mut all = Vec::new();
        if self.triggers.is_empty() {
            return all;
        }
        let mut of = table.to_owned();
        loop {
            let own = self.triggers_of(&of).iter();
            let own = own.filter(|def| def.level == TriggerLevel::Row);
            all.extend(own.map(|def| (of.clone(), Arc::clone(def))));
            let above = self.tables.get(&of).and_then(|entry| entry.def.partition_of.as_ref());
            match above {
                Some(above) => of.clone_from(&above.parent),
                None => break,
            }
        }
        all.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        all
    }

    /// The triggers of a table or view that fire at a moment, in the order in which they do.
    pub fn triggers_at(
        &self,
        table: &str,
        moment: Moment<'_>,
        role: ReplicationRole,
    ) -> Vec<Arc<TriggerDef>> {
        let all: Vec<Arc<TriggerDef>> = match moment.level {
            _ if self.triggers.is_empty() => return Vec::new(),
            TriggerLevel::Row => self.row_triggers(table).into_iter().map(|(_, def)| def).collect(),
            TriggerLevel::Statement => self.triggers_of(table).to_vec(),
        };
        let is_meant = |def: &Arc<TriggerDef>| {
            def.timing == moment.timing
                && def.level == moment.level
                && def.is_for(moment.event, moment.assigned)
                && role.fires(def.firing)
        };
        all.into_iter().filter(is_meant).collect()
    }

    /// True when triggers may fire when a statement writes this table.
    pub fn has_triggers(&self, table: &str) -> bool {
        !self.triggers.is_empty()
            && (!self.triggers_of(table).is_empty() || self.has_row_triggers(table))
    }

    /// True when a trigger of a table, of a partition of it, or of a table that it is a partition
    /// of may fire for rows, or has transition tables.
    pub fn has_row_triggers(&self, table: &str) -> bool {
        if self.triggers.is_empty() {
            return false;
        }
        let has = |table: &str| {
            let mut own = self.triggers_of(table).iter();
            own.any(|def| def.level == TriggerLevel::Row || def.has_tables())
        };
        if has(table) || !self.row_triggers(table).is_empty() {
            return true;
        }
        let tree = self.tables.get(table).and_then(|entry| entry.partitions());
        tree.is_some_and(|tree| tree.below().any(|table| has(table.name())))
    }

    /// Triggers of relations that are gone go.
    pub fn settle_triggers(&mut self) {
        let Self { tables, views, triggers, .. } = self;
        triggers.retain(|of, own| {
            !own.is_empty() && (tables.contains_key(of) || views.contains_key(of))
        });
    }

    /// Triggers follow a relation's new name.
    pub fn move_triggers(&mut self, from: &str, to: &str) {
        if let Some(own) = self.triggers.remove(from) {
            self.triggers.insert(to.to_owned(), own);
        }
    }

    /// Triggers follow the new names of columns.
    pub fn rename_in_triggers(&mut self, table: &str, renamed: &[(String, String)]) {
        let Some(own) = self.triggers.get_mut(table) else { return };
        for known in own {
            let mut def = TriggerDef::clone(known);
            for (from, to) in renamed {
                for column in def.columns.iter_mut().filter(|column| *column == from) {
                    column.clone_from(to);
                }
                let text = def.condition.as_deref();
                let changed =
                    text.and_then(|text| sql::with_row_column(text, from, to).ok().flatten());
                def.condition = changed.or(def.condition);
            }
            *known = Arc::new(def);
        }
    }

    /// Takes away the triggers that name a column, which goes.
    pub fn drop_triggers_of(&mut self, table: &str, column: &str) {
        if let Some(own) = self.triggers.get_mut(table) {
            own.retain(|def| !names_column(def, column));
        }
    }

    /// A trigger that names the column, as "trigger t on table u".
    pub fn trigger_of_column(&self, table: &str, column: &str) -> Option<String> {
        let def = self.triggers_of(table).iter().find(|def| names_column(def, column))?;
        Some(shown(&def.name, table))
    }

    /// The triggers that call the function with this key: their tables and names.
    pub fn triggers_calling(&self, routine: &str) -> Vec<(String, String)> {
        let calls = |def: &&Arc<TriggerDef>| def.routine == routine;
        let of = |(table, own): (&String, &Vec<Arc<TriggerDef>>)| -> Vec<(String, String)> {
            own.iter().filter(calls).map(|def| (table.clone(), def.name.clone())).collect()
        };
        self.triggers.iter().flat_map(of).collect()
    }

    /// Triggers follow the new key of the function that they call.
    pub fn rename_trigger_function(&mut self, from: &str, to: &str) {
        for known in self.triggers.values_mut().flatten().filter(|def| def.routine == from) {
            let routine = to.to_owned();
            *known = Arc::new(TriggerDef { routine, ..TriggerDef::clone(known) });
        }
    }
}

/// True when UPDATE OF or WHEN names the column.
fn names_column(def: &TriggerDef, column: &str) -> bool {
    let in_condition =
        |text: &String| matches!(sql::with_row_column(text, column, column), Ok(Some(_)));
    def.columns.iter().any(|of| of == column) || def.condition.as_ref().is_some_and(in_condition)
}

/// "trigger t on table u", as messages about dependencies have it.
pub fn shown(name: &str, table: &str) -> String {
    format!("trigger {name} on table {}", RelationName::of_key(table).quoted())
}
