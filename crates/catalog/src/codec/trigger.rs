//! The form of triggers.

use sql::catalog::{TriggerDef, TriggerEvent, TriggerFiring, TriggerLevel, TriggerTiming};
use types::Result;

use super::field::{Codec, Decode, Reader, Writer, damaged, variants};

variants!(TriggerTiming { Before = 0, After = 1, InsteadOf = 2 });
variants!(TriggerLevel { Row = 0, Statement = 1 });
variants!(TriggerEvent { Insert = 0, Delete = 1, Update = 2, Truncate = 3 });
variants!(TriggerFiring { Origin = 0, Always = 1, Replica = 2, Disabled = 3 });

impl Codec for TriggerDef {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.name);
        out.field(&self.timing);
        out.field(&self.level);
        out.field(&self.events);
        out.field(&self.columns);
        out.field(&self.condition);
        out.field(&self.routine);
        out.field(&self.arguments);
        out.field(&self.old_table);
        out.field(&self.new_table);
        out.field(&self.firing);
        if self.constraint.is_some() {
            out.field(&self.constraint);
        }
    }
}

impl Decode for TriggerDef {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let mut def = Self {
            name: from.field()?,
            timing: from.field()?,
            level: from.field()?,
            events: from.field()?,
            columns: from.field()?,
            condition: from.field()?,
            routine: from.field()?,
            arguments: from.field()?,
            old_table: from.field()?,
            new_table: from.field()?,
            firing: from.field()?,
            constraint: None,
        };
        if from.end().is_err() {
            def.constraint = from.field()?;
        }
        Ok(def)
    }
}
