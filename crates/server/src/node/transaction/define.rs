//! Tables that get other definitions in a transaction: over the rows that they have, or others.
//!
//! ```text
//! redefine   new indexes: rows of the snapshot -> entries, at once; the row of the definition
//! replace    rows of a query -> a new table in the stores, with entries, in the old one's place
//! ```
//! Both are told to the hold before they are made, which has them dropped if nothing comes of them.
//! Invariant: the snapshot has all rows, and nobody else writes them: the transaction is under a
//! hold that covers the table, or made it itself.

use std::collections::HashMap;
use std::sync::Arc;

use engine::attached::{
    AttachedDouble, AttachedRights, AttachedTableId, CounterId, NewAttachedTable,
};
use shared::Transaction;
use store::{FieldId, Key, Query, Schema, Tuple};
use types::{Error, Result, Value};

use super::{DEFINITIONS, NodeTransaction, Open, Opened, Scan, rows_of};
use crate::node::definitions::{
    Definition, SCHEMA_RIGHTS, dropped_row, row_with_rights, schema_rights_row, unknown_table,
};
use crate::node::hold::announce;
use crate::node::joined::{Home, Joined, Lent};

/// Rows of which the entries, or which themselves, go to the stores at a time.
const CHUNK: usize = 8192;

/// Bits of a row's key that count rows of a transaction: others say its version.
const COUNT_BITS: u32 = 17;

/// A table that is made of rows.
pub(super) struct NewRows<'a> {
    pub(super) table: &'a NewAttachedTable,
    pub(super) rows: &'a mut dyn Iterator<Item = Vec<Value>>,
}

/// An index that is built.
struct Building<'a> {
    definition: &'a Definition,
    /// Number of the table in the transaction.
    table: usize,
    /// Position of the index.
    index: usize,
}

impl Building<'_> {
    /// Adds entries of rows, given with the fields of the index.
    fn add(
        &self,
        joined: &Joined,
        shared: &mut Transaction<Home, Lent>,
        rows: Vec<(Key, Vec<Value>)>,
    ) -> Result<Option<AttachedDouble>> {
        let double = joined.run(shared.build(self.table, self.index, rows))?;
        double.map(|fields| self.double(&fields)).transpose()
    }

    /// The fields of the key of a row; None for a row that the index leaves out.
    fn key_of(&self, schema: &Schema, tuple: &Tuple) -> Result<Option<Vec<Value>>> {
        self.definition.key_of(self.index, &|at| tuple.value(schema, FieldId(at as u16)))
    }

    /// Says that two rows have a key of these fields.
    fn double(&self, fields: &[Value]) -> Result<AttachedDouble> {
        let values = self.definition.key_values(self.index, fields)?;
        Ok(AttachedDouble { index: self.index, values })
    }
}

impl Open {
    /// True when this transaction made the table.
    pub(super) fn has_made(&self, table: AttachedTableId) -> bool {
        self.shared.version().is_ok_and(|version| table.0 >> COUNT_BITS == version.0)
    }

    /// See [`engine::attached::AttachedTransaction::set_rights`].
    pub(super) async fn set_rights(&mut self, on: AttachedRights, rights: &[u8]) -> Result<()> {
        let schema = Arc::clone(self.shared.tables()[DEFINITIONS].schema());
        let id = match on {
            AttachedRights::Schema => SCHEMA_RIGHTS,
            AttachedRights::Table(AttachedTableId(id))
            | AttachedRights::Sequence(CounterId(id)) => id,
        };
        match self.shared.get(DEFINITIONS, id).await? {
            Some(row) if id != SCHEMA_RIGHTS => {
                let row = row_with_rights(&schema, id, &row, rights)?;
                self.shared.replace(DEFINITIONS, id, row).await?;
            }
            None if id != SCHEMA_RIGHTS => return Err(unknown_table()),
            Some(_) => {
                let row = schema_rights_row(&schema, rights)?;
                self.shared.replace(DEFINITIONS, id, row).await?;
            }
            None => {
                let row = schema_rights_row(&schema, rights)?;
                self.shared.insert(DEFINITIONS, id, row).await?;
            }
        }
        NodeTransaction::count_change(self).await
    }

    /// Opens again those tables whose definitions were taken back, or came later.
    pub(super) fn settle(&mut self, joined: &Arc<Joined>) -> Result<()> {
        let definitions = self.definitions(joined)?;
        let opened: HashMap<u64, Opened> = self.opened.clone();
        for definition in definitions.by_name.values().filter(|d| opened.contains_key(&d.id)) {
            joined.run(self.table(joined, definition))?;
        }
        Ok(())
    }

    /// Says what is about to be made in the stores, unless nobody else knows the table.
    fn announce(
        &mut self,
        joined: &Arc<Joined>,
        table: AttachedTableId,
        names: &[String],
    ) -> Result<()> {
        if names.is_empty() || self.has_made(table) {
            return Ok(());
        }
        let Some(hold) = self.own_hold else {
            return Err(Error::internal("a definition of a shared table without a hold"));
        };
        let definitions = self.definitions(joined)?;
        joined.run(announce(joined, hold, &definitions, names))
    }

    /// See [`engine::attached::AttachedTransaction::redefine`].
    pub(super) fn redefine(
        &mut self,
        joined: &Arc<Joined>,
        old: &Definition,
        new: &NewAttachedTable,
    ) -> Result<Option<AttachedDouble>> {
        let version = self.shared.version()?;
        let definition = old.redefined(new, version, || Ok(self.shared.new_key()?))?;
        // A second one in the transaction is another generation, too.
        let generation = definition.generation.max(old.generation + 1);
        let definition = Definition { generation, ..definition };
        let is_new = |number: &u64| !old.numbers.contains(number);
        let is_gone = |number: &&u64| !definition.numbers.contains(number);
        let made: Vec<usize> =
            (0..definition.numbers.len()).filter(|at| is_new(&definition.numbers[*at])).collect();
        let names: Vec<String> =
            made.iter().map(|at| definition.index_name(definition.numbers[*at])).collect();
        let id = AttachedTableId(old.id);
        self.announce(joined, id, &names)?;
        let table = joined.run(self.table(joined, &definition))?;
        for index in made {
            let building = Building { definition: &definition, table, index };
            if let Some(double) = self.build(joined, &building)? {
                return Ok(Some(double));
            }
        }
        let gone: Vec<String> =
            old.numbers.iter().filter(is_gone).map(|n| definition.index_name(*n)).collect();
        let schema = Arc::clone(self.shared.tables()[DEFINITIONS].schema());
        joined.run(async {
            self.shared.replace(DEFINITIONS, old.id, definition.row(&schema)?).await?;
            if !gone.is_empty() {
                let row = dropped_row(&schema, &gone, version)?;
                let key = self.shared.new_key()?;
                self.shared.add(DEFINITIONS, key, row).await?;
            }
            NodeTransaction::count_change(self).await
        })?;
        Ok(None)
    }

    /// Builds an index of the rows in the snapshot; those that the transaction changed follow when
    /// it commits, and are looked at for doubles here.
    fn build(
        &mut self,
        joined: &Arc<Joined>,
        building: &Building<'_>,
    ) -> Result<Option<AttachedDouble>> {
        let Scan { rows, snapshot, .. } = self.scan(building.table, self.shared.mark());
        let schema = Arc::clone(self.shared.tables()[building.table].schema());
        let reads = building.definition.reads(building.index)?;
        let fields: Vec<FieldId> = reads.iter().map(|column| FieldId(*column as u16)).collect();
        let projected = schema.project(&fields);
        let projected = projected.ok_or_else(|| Error::internal("a field of the table"))?;
        let (mut waiting, mut double) = (Vec::new(), None);
        let scan = Scan { rows, snapshot, changed: Vec::new() };
        rows_of(&scan, &Query::fields(fields), &mut |rows| {
            for i in 0..rows.len() {
                let values = rows.values(&projected, i);
                let value = |column: usize| {
                    let at = reads.iter().position(|read| *read == column);
                    at.map_or(Value::Null, |at| values[at].clone())
                };
                if let Some(key) = building.definition.key_of(building.index, &value)? {
                    building.definition.check_key(building.index, &key)?;
                    waiting.push((rows.key(i), key));
                }
            }
            if waiting.len() >= CHUNK {
                double = building.add(joined, &mut self.shared, std::mem::take(&mut waiting))?;
            }
            Ok(double.is_none())
        })?;
        if double.is_none() && !waiting.is_empty() {
            double = building.add(joined, &mut self.shared, waiting)?;
        }
        if double.is_some() {
            return Ok(double);
        }
        let own = joined.run(self.shared.own_double(building.table, building.index))?;
        let Some(key) = own else { return Ok(None) };
        let tuple = joined.run(self.shared.get(building.table, key))?;
        let tuple = tuple.ok_or_else(|| Error::internal("a row of the transaction"))?;
        let fields = building.key_of(&schema, &tuple)?;
        fields.map(|fields| building.double(&fields)).transpose()
    }

    /// See [`engine::attached::AttachedTransaction::replace`].
    pub(super) fn replace(
        &mut self,
        joined: &Arc<Joined>,
        old: AttachedTableId,
        new: &mut NewRows<'_>,
    ) -> Result<Option<AttachedDouble>> {
        let definitions = self.definitions(joined)?;
        let known = definitions.by_name.values().find(|known| known.id == old.0);
        let rights = Arc::clone(&known.ok_or_else(unknown_table)?.rights);
        let definition = Definition::new(self.shared.new_key()?, new.table);
        let definition = Definition { rights, ..definition };
        let names: Vec<String> = definition.stored_names().collect();
        self.announce(joined, old, &names)?;
        let table = joined.run(self.table(joined, &definition))?;
        let schema = Arc::clone(self.shared.tables()[table].schema());
        // Keys below all that transactions make from their versions.
        let (mut next, mut is_over) = (0, false);
        while !is_over {
            let mut rows: Vec<(Key, Tuple)> = Vec::new();
            while rows.len() < CHUNK {
                let Some(values) = new.rows.next() else {
                    is_over = true;
                    break;
                };
                let fields = definition.fields(&values);
                definition.check_keys(&fields)?;
                rows.push((next, Tuple::encode(&schema, &fields)?));
                next += 1;
            }
            joined.run(self.shared.load(table, &rows))?;
            for index in 0..definition.keys.len() {
                let building = Building { definition: &definition, table, index };
                let of_key = |(key, tuple): &(Key, Tuple)| {
                    Ok(building.key_of(&schema, tuple)?.map(|fields| (*key, fields)))
                };
                let entries = rows.iter().filter_map(|row| of_key(row).transpose());
                let entries = entries.collect::<Result<Vec<(Key, Vec<Value>)>>>()?;
                if let Some(double) = building.add(joined, &mut self.shared, entries)? {
                    return Ok(Some(double));
                }
            }
        }
        joined.run(async {
            let schema = Arc::clone(self.shared.tables()[DEFINITIONS].schema());
            let row = definition.row(&schema)?;
            drop(self.drop_table(old).await?);
            self.shared.add(DEFINITIONS, definition.id, row).await?;
            NodeTransaction::count_change(self).await
        })?;
        Ok(None)
    }
}
