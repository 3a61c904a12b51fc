//! A transaction of SQL on shared tables.

mod source;
mod define;

use std::collections::HashMap;
use std::sync::Arc;

use engine::attached::{
    AttachedChange, AttachedClaim, AttachedDouble, AttachedMark, AttachedRights, AttachedRow,
    AttachedSequence, AttachedSize, AttachedTable, AttachedTableId, AttachedTransaction, CounterId,
    HoldNumber, NewAttachedTable,
};
use exec::SharedBatchSource;
use parking_lot::Mutex;
use shared::manager::Class;
use shared::{Claim, Mark, Transaction};
use sql::statement::AccessMode;
use store::{FieldId, Key, Query, Table as _, Tuple, codec};
use types::codec::Input;
use types::{About, Error, Result, SqlState, Value};

use super::definitions::{
    CHANGES, Definition, Definitions, changes_of, count_row, dropped_row, sequence_row,
    unknown_table,
};
use super::hold::{HOLD, Standing};
use super::joined::{Home, Joined, Lent, TableNumber};
use super::scan::{Scan, rows_of};
use define::NewRows;
use source::RowsSource;

/// Number of the table of definitions in a transaction.
const DEFINITIONS: usize = 0;

/// A transaction that runs.
struct Open {
    shared: Transaction<Home, Lent>,
    /// Tables that it opened.
    opened: HashMap<u64, Opened>,
    /// Definitions, once it has read them.
    definitions: Option<Arc<Definitions>>,
    /// The hold that its snapshot has, once it has looked.
    standing: Option<Option<Standing>>,
    /// The hold that it is under.
    own_hold: Option<HoldNumber>,
    /// True once it has defined something.
    has_defined: bool,
}

/// A table that a transaction opened.
#[derive(Clone, Copy)]
struct Opened {
    /// Its number there.
    number: usize,
    generation: u64,
}

/// Values to be looked up in a key.
#[derive(Clone, Copy)]
pub(crate) struct LookUp<'a> {
    pub(crate) index: usize,
    pub(crate) prefixes: &'a [Vec<Value>],
    /// Place up to which changes of the transaction count.
    pub(crate) mark: Mark,
}

/// A transaction of SQL. One thread at a time works in it; rows of scans come outside of that.
pub(crate) struct NodeTransaction {
    joined: Arc<Joined>,
    /// None once it has ended.
    open: Mutex<Option<Open>>,
    this: std::sync::Weak<Self>,
}

fn ended() -> Error {
    Error::internal("the transaction of shared tables has ended")
}

impl NodeTransaction {
    /// Begins a transaction.
    ///
    /// # Errors
    /// Errors of the node.
    pub(crate) fn begin(joined: &Arc<Joined>, access: AccessMode) -> Result<Arc<Self>> {
        let class = match access {
            AccessMode::ReadOnly => Class::ReadOnly,
            AccessMode::ReadWrite => Class::ReadWrite,
        };
        let shared = joined.run(async {
            let tables = vec![joined.definitions().await?];
            let begun = Transaction::begin(Home(Arc::clone(joined)), tables, class).await;
            begun.map_err(Error::from)
        })?;
        Ok(Self::new(joined, shared))
    }

    /// Begins a transaction that reads what another one reads; None when that has ended, and rows
    /// may be gone.
    ///
    /// # Errors
    /// Errors of the node; XX001 for bytes that are no snapshot.
    pub(crate) fn begin_at(joined: &Arc<Joined>, state: &[u8]) -> Result<Option<Arc<Self>>> {
        let seen = codec::snapshot(&mut Input::new(state));
        let seen = seen.map_err(|malformed| malformed.in_bytes_of("a snapshot"))?;
        let shared = joined.run(async {
            let tables = vec![joined.definitions().await?];
            let begun = Transaction::begin_at(Home(Arc::clone(joined)), tables, &seen).await;
            begun.map_err(Error::from)
        })?;
        Ok(shared.map(|shared| Self::new(joined, shared)))
    }

    fn new(joined: &Arc<Joined>, shared: Transaction<Home, Lent>) -> Arc<Self> {
        joined.sweep(shared.snapshot().lowest_active());
        let open = Open {
            shared,
            opened: HashMap::new(),
            definitions: None,
            standing: None,
            own_hold: None,
            has_defined: false,
        };
        let joined = Arc::clone(joined);
        let open = Mutex::new(Some(open));
        Arc::new_cyclic(|this| Self { joined, open, this: this.clone() })
    }

    /// Works in the transaction.
    fn work<T>(&self, work: impl FnOnce(&Arc<Joined>, &mut Open) -> Result<T>) -> Result<T> {
        work(&self.joined, self.open.lock().as_mut().ok_or_else(ended)?)
    }

    /// The table as a scan reads it, with changes up to `mark`.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn scan(&self, definition: &Definition, mark: Mark) -> Result<Scan> {
        self.work(|joined, open| {
            let table = joined.run(open.table(joined, definition))?;
            Ok(open.scan(table, mark))
        })
    }

    /// Rows that have one of the prefixes as the first values in a key, and maybe others that were
    /// changed behind the mark; fields, by number.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn look_up(
        &self,
        definition: &Definition,
        wanted: &LookUp<'_>,
    ) -> Result<Vec<(Key, Vec<Value>)>> {
        let LookUp { index, prefixes, mark } = *wanted;
        self.work(|joined, open| {
            joined.run(async {
                let table = open.table(joined, definition).await?;
                let mut keys = Vec::new();
                for prefix in prefixes {
                    keys.extend(open.shared.look_up(table, index, prefix).await?);
                }
                let before = open.shared.before(table, mark);
                keys.extend(before.keys());
                keys.sort_unstable();
                keys.dedup();
                open.shared.fetch(table, &keys).await?;
                let mut rows = Vec::with_capacity(keys.len());
                for key in keys {
                    let row = match before.get(&key) {
                        Some(Some(row)) => row.clone(),
                        Some(None) => open.shared.committed(table, key),
                        None => open.shared.get(table, key).await?,
                    };
                    let schema = open.shared.tables()[table].schema();
                    rows.extend(row.map(|row| (key, row.decode(schema))));
                }
                Ok(rows)
            })
        })
    }

    /// Notes that a scan of all rows gave so many.
    pub(crate) fn note_rows(&self, table: u64, count: u64) {
        self.joined.counts.lock().insert(table, count);
    }

    fn definition(&self, id: AttachedTableId) -> Result<Arc<Definition>> {
        self.work(|joined, open| {
            let definitions = open.definitions(joined)?;
            let found = definitions.by_name.values().find(|definition| definition.id == id.0);
            found.cloned().ok_or_else(unknown_table)
        })
    }

    fn attached(&self, definition: &Definition) -> AttachedTable {
        AttachedTable {
            id: AttachedTableId(definition.id),
            definition: Arc::clone(&definition.sql),
            rights: Arc::clone(&definition.rights),
            rows: self.joined.counts.lock().get(&definition.id).copied(),
        }
    }

    /// One more definition changed; nobody had the tables held.
    async fn count_change(open: &mut Open) -> Result<()> {
        let before = open.shared.get(DEFINITIONS, CHANGES).await?;
        let schema = Arc::clone(open.shared.tables()[DEFINITIONS].schema());
        let row = count_row(&schema, changes_of(&schema, before.as_ref()) + 1)?;
        match before {
            Some(_) => open.shared.replace(DEFINITIONS, CHANGES, row).await?,
            None => open.shared.insert(DEFINITIONS, CHANGES, row).await?,
        }
        (open.definitions, open.has_defined) = (None, true);
        Ok(())
    }
}

impl Open {
    /// The number of a table here, which is opened if need be.
    async fn table(&mut self, joined: &Arc<Joined>, definition: &Definition) -> Result<usize> {
        let Definition { id, generation, .. } = *definition;
        let known = self.opened.get(&id).copied();
        if let Some(opened) = known.filter(|opened| opened.generation == generation) {
            return Ok(opened.number);
        }
        let number = TableNumber { id, generation };
        let table = joined.table(number, || definition.plan()).await?;
        let number = match known {
            // Defined anew since, or the definition was taken back.
            Some(Opened { number, .. }) => {
                drop(self.shared.replace_table(number, table));
                number
            }
            None => self.shared.add_table(table),
        };
        self.opened.insert(id, Opened { number, generation });
        Ok(number)
    }

    /// The hold that its snapshot has.
    fn standing(&mut self, joined: &Arc<Joined>) -> Result<Option<&Standing>> {
        if self.standing.is_none() {
            joined.run(self.shared.fetch(DEFINITIONS, &[CHANGES, HOLD]))?;
            let row = joined.run(self.shared.get(DEFINITIONS, HOLD))?;
            let schema = Arc::clone(self.shared.tables()[DEFINITIONS].schema());
            let read = |row: Tuple| Standing::read(&row.decode(&schema));
            self.standing = Some(row.map(read).transpose()?);
        }
        Ok(self.standing.as_ref().and_then(Option::as_ref))
    }

    /// # Errors
    /// 40001 when another one keeps this transaction from writing the table, or for None from
    /// defining any.
    fn admit(&mut self, joined: &Arc<Joined>, table: Option<u64>) -> Result<()> {
        let own = self.own_hold;
        let Some(standing) = self.standing(joined)?.cloned() else { return Ok(()) };
        let is_stopped = standing.stops(self.shared.snapshot(), own, table);
        if is_stopped { Err(standing.stopped(joined)) } else { Ok(()) }
    }

    /// Drops a table; the row that it had.
    async fn drop_table(&mut self, table: AttachedTableId) -> Result<Tuple> {
        let schema = Arc::clone(self.shared.tables()[DEFINITIONS].schema());
        let row = self.shared.get(DEFINITIONS, table.0).await?.ok_or_else(unknown_table)?;
        let names: Vec<String> =
            Definition::read(table.0, &row.decode(&schema))?.stored_names().collect();
        let dropped = dropped_row(&schema, &names, self.shared.version()?)?;
        self.shared.replace(DEFINITIONS, table.0, dropped).await?;
        Ok(row)
    }

    fn scan(&self, table: usize, mark: Mark) -> Scan {
        let before = self.shared.before(table, mark);
        let as_then = |(key, now): (Key, Option<&Tuple>)| match before.get(&key) {
            Some(then) => then.clone().map(|row| (key, row)),
            None => Some((key, now.cloned())),
        };
        Scan {
            rows: self.shared.tables()[table].rows().clone(),
            snapshot: self.shared.snapshot().clone(),
            changed: self.shared.changed(table).filter_map(as_then).collect(),
        }
    }

    /// The definitions in its snapshot, with what it changed.
    fn definitions(&mut self, joined: &Arc<Joined>) -> Result<Arc<Definitions>> {
        if let Some(known) = &self.definitions {
            return Ok(Arc::clone(known));
        }
        // One request for both rows.
        self.standing(joined)?;
        let count = joined.run(self.shared.get(DEFINITIONS, CHANGES))?;
        let schema = Arc::clone(self.shared.tables()[DEFINITIONS].schema());
        let changes = changes_of(&schema, count.as_ref());
        let is_own = self.shared.changed(DEFINITIONS).next().is_some();
        let known = Arc::clone(&joined.known.lock());
        if !is_own && known.changes == changes {
            self.definitions = Some(Arc::clone(&known));
            return Ok(known);
        }
        let mut definitions = Definitions { changes, ..Definitions::default() };
        let scan = self.scan(DEFINITIONS, self.shared.mark());
        let query = Query::fields((0..4).map(FieldId).collect());
        let is_changed = |key: Key| scan.changed.iter().any(|(changed, _)| *changed == key);
        rows_of(&scan, &query, &mut |rows| {
            for i in (0..rows.len()).filter(|i| rows.key(*i) > HOLD) {
                if !is_changed(rows.key(i)) {
                    definitions.add(rows.key(i), &rows.values(&schema, i))?;
                }
            }
            Ok(true)
        })?;
        for (key, tuple) in scan.changed.iter().filter(|(key, _)| *key > HOLD) {
            if let Some(tuple) = tuple {
                definitions.add(*key, &tuple.decode(&schema))?;
            }
        }
        let definitions = Arc::new(definitions);
        if !is_own {
            *joined.known.lock() = Arc::clone(&definitions);
        }
        self.definitions = Some(Arc::clone(&definitions));
        Ok(definitions)
    }

    /// Makes a change of a row of `table`; its key.
    async fn change(
        &mut self,
        table: usize,
        definition: &Definition,
        change: &AttachedChange,
    ) -> Result<Key> {
        let (AttachedChange::Insert(values) | AttachedChange::Update(_, values)) = change else {
            let AttachedChange::Delete(AttachedRow(key)) = change else { return Err(ended()) };
            self.shared.remove(table, *key).await?;
            return Ok(*key);
        };
        let fields = definition.fields(values);
        definition.check_keys(&fields)?;
        let tuple = Tuple::encode(self.shared.tables()[table].schema(), &fields)?;
        let key = match change {
            AttachedChange::Update(AttachedRow(key), _) => *key,
            _ => self.shared.new_key()?,
        };
        if let Some(index) = self.shared.double(table, key, &tuple).await? {
            return Err(double(&definition.keys[index].name));
        }
        match change {
            AttachedChange::Insert(_) => self.shared.add(table, key, tuple).await?,
            _ => self.shared.replace(table, key, tuple).await?,
        }
        Ok(key)
    }
}

/// 23505 about a constraint.
fn double(constraint: &str) -> Error {
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    let (schema, table, column) = Default::default();
    let constraint = Some(constraint.to_owned());
    Error::new(SqlState::UNIQUE_VIOLATION, message).about_part(About {
        schema,
        table,
        column,
        constraint,
    })
}

impl AttachedTransaction for NodeTransaction {
    fn find(&self, name: &str) -> Result<Option<AttachedTable>> {
        let definitions = self.work(|joined, open| open.definitions(joined))?;
        Ok(definitions.by_name.get(name).map(|definition| self.attached(definition)))
    }

    fn all(&self) -> Result<Vec<AttachedTable>> {
        let definitions = self.work(|joined, open| open.definitions(joined))?;
        Ok(definitions.by_name.values().map(|definition| self.attached(definition)).collect())
    }

    fn sequence(&self, name: &str) -> Result<Option<AttachedSequence>> {
        let definitions = self.work(|joined, open| open.definitions(joined))?;
        Ok(definitions.sequences.get(name).cloned())
    }

    fn sequences(&self) -> Result<Vec<AttachedSequence>> {
        let definitions = self.work(|joined, open| open.definitions(joined))?;
        Ok(definitions.sequences.values().cloned().collect())
    }

    fn create_sequence(&self, name: &str, definition: &[u8]) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            joined.run(async {
                let schema = open.shared.tables()[DEFINITIONS].schema();
                let row = sequence_row(schema, name, definition, &[])?;
                let key = open.shared.new_key()?;
                open.shared.add(DEFINITIONS, key, row).await?;
                Self::count_change(open).await
            })
        })
    }

    fn redefine_sequence(&self, counter: CounterId, name: &str, definition: &[u8]) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            let definitions = open.definitions(joined)?;
            let known = definitions.sequences.values().find(|known| known.counter == counter);
            let rights = known.map_or_else(Arc::default, |known| Arc::clone(&known.rights));
            joined.run(async {
                let schema = open.shared.tables()[DEFINITIONS].schema();
                let row = sequence_row(schema, name, definition, &rights)?;
                open.shared.replace(DEFINITIONS, counter.0, row).await?;
                Self::count_change(open).await
            })
        })
    }

    fn schema_rights(&self) -> Result<Option<Arc<[u8]>>> {
        let definitions = self.work(|joined, open| open.definitions(joined))?;
        Ok(definitions.schema_rights.clone())
    }

    fn set_rights(&self, on: AttachedRights, rights: &[u8]) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            joined.run(open.set_rights(on, rights))
        })
    }

    fn has_name(&self, name: &str) -> Result<bool> {
        let definitions = self.work(|joined, open| open.definitions(joined))?;
        Ok(definitions.has_name(name))
    }

    fn number(&self) -> Result<u64> {
        self.work(|_, open| Ok(open.shared.version()?.0))
    }

    fn go_under(&self, hold: HoldNumber) {
        if let Some(open) = &mut *self.open.lock() {
            open.own_hold = Some(hold);
        }
    }

    fn has_made(&self, table: AttachedTableId) -> bool {
        self.open.lock().as_ref().is_some_and(|open| open.has_made(table))
    }

    fn redefine(
        &self,
        table: AttachedTableId,
        new: &NewAttachedTable,
    ) -> Result<Option<AttachedDouble>> {
        let definition = self.definition(table)?;
        self.work(|joined, open| {
            open.admit(joined, None)?;
            open.redefine(joined, &definition, new)
        })
    }

    fn replace(
        &self,
        table: AttachedTableId,
        new: &NewAttachedTable,
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<Option<AttachedDouble>> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            open.replace(joined, table, &mut NewRows { table: new, rows })
        })
    }

    fn drop_sequence(&self, counter: CounterId) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            joined.run(async {
                open.shared.remove(DEFINITIONS, counter.0).await?;
                Self::count_change(open).await
            })
        })
    }

    fn create(&self, table: &NewAttachedTable) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            joined.run(async {
                let schema = Arc::clone(open.shared.tables()[DEFINITIONS].schema());
                let key = open.shared.new_key()?;
                let definition = Definition::new(key, table);
                let row = definition.row(&schema)?;
                // Nobody else has a table of this number, whatever becomes of the transaction.
                open.table(joined, &definition).await?;
                open.shared.add(DEFINITIONS, key, row).await?;
                Self::count_change(open).await
            })
        })
    }

    fn drop_table(&self, table: AttachedTableId) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            joined.run(async {
                open.drop_table(table).await?;
                Self::count_change(open).await
            })
        })
    }

    fn state(&self) -> Result<Vec<u8>> {
        self.work(|_, open| {
            let mut bytes = Vec::new();
            codec::put_snapshot(&mut bytes, open.shared.snapshot());
            Ok(bytes)
        })
    }

    fn size(&self, table: AttachedTableId) -> Result<AttachedSize> {
        let definition = self.definition(table)?;
        let rows = self.work(|joined, open| {
            let number = joined.run(open.table(joined, &definition))?;
            Ok(open.shared.tables()[number].rows().clone())
        })?;
        let stores = rows.cluster().channels().len();
        Ok(AttachedSize { versions: rows.stats().versions, stores })
    }

    fn source(&self, table: AttachedTableId) -> Result<SharedBatchSource> {
        let this = self.this.upgrade().ok_or_else(ended)?;
        // Whoever reads it later, RETURNING say, sees nothing of what comes now.
        let mark = Mark::of(self.mark().0);
        Ok(Arc::new(RowsSource::new(this, self.definition(table)?, mark)))
    }

    fn rows(
        &self,
        table: AttachedTableId,
        rows: &[AttachedRow],
    ) -> Result<Vec<Option<Vec<Value>>>> {
        let definition = self.definition(table)?;
        let keys: Vec<Key> = rows.iter().map(|row| row.0).collect();
        self.work(|joined, open| {
            joined.run(async {
                let number = open.table(joined, &definition).await?;
                open.shared.fetch(number, &keys).await?;
                let schema = Arc::clone(open.shared.tables()[number].schema());
                let mut found = Vec::with_capacity(keys.len());
                for key in keys {
                    let tuple = open.shared.get(number, key).await?;
                    found.push(tuple.map(|tuple| definition.values(&tuple.decode(&schema))));
                }
                Ok(found)
            })
        })
    }

    fn holder(
        &self,
        table: AttachedTableId,
        key: usize,
        values: &[Value],
    ) -> Result<Option<AttachedRow>> {
        let definition = self.definition(table)?;
        if key >= definition.keys.len() {
            return Err(Error::internal("a key of the table"));
        }
        let fields = definition.fields(values);
        let prefix = definition.key_of(key, &|column| fields[column].clone())?;
        let Some(prefix) = prefix.filter(|prefix| !prefix.contains(&Value::Null)) else {
            return Ok(None);
        };
        self.work(|joined, open| {
            joined.run(async {
                let number = open.table(joined, &definition).await?;
                let rows = open.shared.look_up(number, key, &prefix).await?;
                Ok(rows.first().map(|row| AttachedRow(*row)))
            })
        })
    }

    fn truncate(&self, table: AttachedTableId) -> Result<()> {
        self.work(|joined, open| {
            open.admit(joined, None)?;
            joined.run(async {
                let schema = Arc::clone(open.shared.tables()[DEFINITIONS].schema());
                let row = open.drop_table(table).await?;
                let key = open.shared.new_key()?;
                let definition = Definition::read(key, &row.decode(&schema))?;
                open.table(joined, &definition).await?;
                open.shared.add(DEFINITIONS, key, row).await?;
                Self::count_change(open).await
            })
        })
    }

    fn look_ahead(&self, table: AttachedTableId, rows: &[Vec<Value>]) -> Result<()> {
        let definition = self.definition(table)?;
        self.work(|joined, open| {
            open.admit(joined, Some(table.0))?;
            joined.run(async {
                let number = open.table(joined, &definition).await?;
                let schema = Arc::clone(open.shared.tables()[number].schema());
                let mut tuples = Vec::with_capacity(rows.len());
                for values in rows {
                    let fields = definition.fields(values);
                    definition.check_keys(&fields)?;
                    tuples.push(Tuple::encode(&schema, &fields)?);
                }
                Ok(open.shared.look_ahead(number, &tuples).await?)
            })
        })
    }

    fn change(&self, table: AttachedTableId, change: &AttachedChange) -> Result<AttachedRow> {
        let definition = self.definition(table)?;
        self.work(|joined, open| {
            open.admit(joined, Some(table.0))?;
            joined.run(async {
                let number = open.table(joined, &definition).await?;
                open.change(number, &definition, change).await.map(AttachedRow)
            })
        })
    }

    fn claim(&self, table: AttachedTableId, row: AttachedRow, claim: AttachedClaim) -> Result<()> {
        let definition = self.definition(table)?;
        let claim = match claim {
            AttachedClaim::Shared => Claim::Shared,
            AttachedClaim::Sole => Claim::Sole,
        };
        self.work(|joined, open| {
            // Rows of a table that is written anew get other numbers.
            open.admit(joined, Some(table.0))?;
            joined.run(async {
                let number = open.table(joined, &definition).await?;
                Ok(open.shared.claim(number, row.0, claim).await?)
            })
        })
    }

    fn has_only_read(&self) -> bool {
        self.open.lock().as_ref().is_none_or(|open| open.shared.has_only_read())
    }

    fn mark(&self) -> AttachedMark {
        let open = self.open.lock();
        AttachedMark(open.as_ref().map_or(0, |open| open.shared.mark().steps()))
    }

    fn go_back(&self, mark: AttachedMark) {
        if let Some(open) = &mut *self.open.lock() {
            open.shared.go_back(Mark::of(mark.0));
            open.definitions = None;
        }
    }

    fn commit(&self) -> Result<()> {
        // Tables that it changed have the indexes of their definitions, whatever was taken back.
        self.work(|joined, open| if open.has_defined { open.settle(joined) } else { Ok(()) })?;
        let open = self.open.lock().take().ok_or_else(ended)?;
        Ok(self.joined.run(open.shared.commit())?)
    }
}

impl Drop for NodeTransaction {
    fn drop(&mut self) {
        if let Some(open) = self.open.get_mut().take() {
            // A node that cannot say so is declared dead, and its transactions end.
            drop(self.joined.run(open.shared.abort()));
        }
    }
}
