//! A processing node: no state of its own but what is open, a way to the manager and to the stores.
//!
//! A node that the manager declared dead, or that has not heard of the manager for half of the time
//! after which it would be, stops by itself; stores refuse it in any case before its transactions
//! are rolled back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use store::server::Layout;
use store::{Key, Schema, Snapshot, StoreError, Version};
use transport::{Channel, Cluster, MoveOrder, Pending, Phase, RemoteTable, Ring};

use crate::claims::{Claim, Claims};
use crate::error::{Result, SharedError};
use crate::index::{Index, IndexKeys, Uniqueness};
use crate::manager::{BeatAnswer, Beaten, Begun, Calls, Class, Moving, NodeId, Recovery, Ticket};
use crate::records::{Records as _, StoredRecords, Swap};
use crate::tree::{Fill, Tree};
use crate::undo::{self, TableUndo, UNDO};

/// A node. Threads share it; trees and tables are each thread's own.
pub struct Node {
    id: NodeId,
    manager: Arc<Channel>,
    cluster: Cluster,
    undo: StoredRecords,
    open: Mutex<BTreeMap<Ticket, Version>>,
    is_stopped: AtomicBool,
    is_recovering: AtomicBool,
    is_moving: AtomicBool,
    heard_us: AtomicI64,
}

/// A table with its indexes, as one thread uses it.
pub struct SharedTable {
    pub(crate) name: String,
    pub(crate) rows: RemoteTable,
    pub(crate) indexes: Vec<Index<StoredRecords>>,
    /// Claims on its rows, once somebody made one.
    pub(crate) claims: OnceLock<StoredRecords>,
}

/// Name that stores have for the claims on rows of the table `name`.
pub fn claims_of(name: &str) -> String {
    format!("{name}.claims")
}

impl SharedTable {
    /// Its columns.
    pub fn schema(&self) -> &Arc<Schema> {
        store::Table::schema(&self.rows)
    }

    /// Its rows in the stores.
    pub fn rows(&self) -> &RemoteTable {
        &self.rows
    }

    /// Its indexes.
    pub fn indexes(&self) -> &[Index<StoredRecords>] {
        &self.indexes
    }
}

/// An index to be opened with its table.
#[derive(Clone, Debug)]
pub struct IndexPlan {
    /// Its name, unique in the database.
    pub name: String,
    /// Content of its keys.
    pub keys: IndexKeys,
    /// Its kind.
    pub uniqueness: Uniqueness,
}

/// A table to be opened, or made if there is none.
#[derive(Clone, Debug)]
pub struct TablePlan {
    /// Its name, unique in the database.
    pub name: String,
    /// Its columns.
    pub schema: Schema,
    /// How stores keep it.
    pub layout: Layout,
    /// Its indexes.
    pub indexes: Vec<IndexPlan>,
}

/// The table of this name, made if there is none.
async fn found_or_made(
    cluster: &Cluster,
    name: &str,
    schema: &Schema,
    layout: Layout,
) -> Result<RemoteTable> {
    match cluster.find(name).await {
        Ok(table) => return Ok(table),
        Err(StoreError::InvalidTable(_)) => (),
        Err(error) => return Err(error.into()),
    }
    match cluster.create(name, schema, layout).await {
        Ok(table) => Ok(table),
        // Somebody else made it meanwhile, or is making it.
        Err(StoreError::InvalidTable(_)) => loop {
            match cluster.find(name).await {
                Err(StoreError::InvalidTable(_)) => (),
                found => return Ok(found?),
            }
        },
        Err(error) => Err(error.into()),
    }
}

impl Node {
    /// The node `id`, which joined; its channels have that number as their session.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn open(
        id: NodeId,
        manager: Arc<Channel>,
        cluster: Cluster,
        now_us: i64,
    ) -> Result<Self> {
        let undo = found_or_made(&cluster, UNDO, &StoredRecords::schema(), Layout::Rows).await?;
        Ok(Self {
            id,
            manager,
            cluster,
            undo: StoredRecords::new(undo),
            open: Mutex::default(),
            is_stopped: AtomicBool::new(false),
            is_recovering: AtomicBool::new(false),
            is_moving: AtomicBool::new(false),
            heard_us: AtomicI64::new(now_us),
        })
    }

    /// Its number.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its stores.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Sends what waits, to the manager and to the stores.
    pub fn flush(&self) {
        self.manager.flush();
        self.cluster.flush();
    }

    /// A table with indexes, made if there is none.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn table(
        &self,
        name: &str,
        schema: &Schema,
        indexes: &[IndexPlan],
    ) -> Result<SharedTable> {
        let (schema, indexes) = (schema.clone(), indexes.to_vec());
        let plan = TablePlan { name: name.into(), schema, layout: Layout::Rows, indexes };
        self.planned_table(&plan).await
    }

    /// As [`Self::table`], in a layout of its own.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn planned_table(&self, plan: &TablePlan) -> Result<SharedTable> {
        let TablePlan { name, schema, layout, indexes } = plan;
        let rows = found_or_made(&self.cluster, name, schema, *layout).await?;
        let (indexes_of, claims) = (Vec::new(), OnceLock::new());
        let mut table = SharedTable { name: name.clone(), rows, indexes: indexes_of, claims };
        for plan in indexes {
            table.indexes.push(self.index(plan).await?);
        }
        Ok(table)
    }

    /// Records that are changed by conditional writes, made if there are none of the name.
    ///
    /// # Errors
    /// [`SharedError::Store`].
    pub async fn records(&self, name: &str) -> Result<StoredRecords> {
        let schema = StoredRecords::schema();
        Ok(StoredRecords::new(found_or_made(&self.cluster, name, &schema, Layout::Rows).await?))
    }

    async fn index(&self, plan: &IndexPlan) -> Result<Index<StoredRecords>> {
        let IndexPlan { name, keys, uniqueness } = plan;
        let tree = Tree::open(self.records(name).await?, Fill::default()).await?;
        Ok(Index::new(name, keys.clone(), *uniqueness, tree))
    }

    /// True when it does nothing any more.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Stops it: its transactions are left to others.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    fn admit(&self) -> Result<()> {
        if self.is_stopped() { Err(SharedError::Stopped) } else { Ok(()) }
    }

    pub(crate) async fn begin(&self, class: Class) -> Result<Begun> {
        loop {
            self.admit()?;
            if let Some(begun) = Calls(&self.manager).begin(class).await? {
                let mut open = self.open.lock();
                // A manager that has started again was told what is open, without this one.
                if begun.life == self.manager.incarnation() {
                    open.insert(begun.ticket, begun.snapshot.base());
                    return Ok(begun);
                }
            }
        }
    }

    /// As [`Self::begin`], at a snapshot that another transaction has; None when nobody has it any
    /// more.
    pub(crate) async fn begin_at(&self, seen: &Snapshot) -> Result<Option<Begun>> {
        loop {
            self.admit()?;
            let Some(begun) = Calls(&self.manager).begin_at(seen).await? else { continue };
            let Some(begun) = begun else { return Ok(None) };
            let mut open = self.open.lock();
            if begun.life == self.manager.incarnation() {
                open.insert(begun.ticket, begun.snapshot.base());
                return Ok(Some(begun));
            }
        }
    }

    pub(crate) async fn finish(&self, ticket: Ticket) -> Result<()> {
        self.admit()?;
        let finished = Calls(&self.manager).finish(ticket).await;
        self.open.lock().remove(&ticket);
        finished
    }

    /// Makes a beat; [`Self::beaten`] takes its answer.
    pub fn beat(&self) -> Pending {
        let open = self.open.lock();
        let life = self.manager.incarnation();
        let list: Vec<_> = open.iter().map(|(ticket, base)| (*ticket, *base)).collect();
        drop(open);
        Calls(&self.manager).beat(life, &list)
    }

    /// Takes the answer of a beat that was made at `sent_us`: stops, or recovers others and moves
    /// keys if that is asked of it.
    ///
    /// # Errors
    /// [`SharedError::Store`]: the work is given again with a later beat.
    pub async fn beaten(&self, beat: Pending, sent_us: i64) -> Result<()> {
        match Calls::beaten(beat).await? {
            BeatAnswer::Dead => self.stop(),
            BeatAnswer::Alive(news) => {
                self.heard_us.fetch_max(sent_us, Ordering::AcqRel);
                let Some(Beaten { recovery, ring, order }) = news else { return Ok(()) };
                let known = self.cluster.ring().version();
                if known < ring {
                    self.cluster.learn(known).await?;
                }
                let recovered = match recovery {
                    Some(work) => self.recover(&work).await,
                    None => Ok(()),
                };
                if let Some(order) = order {
                    self.carry_out(order).await;
                }
                return recovered;
            }
        }
        Ok(())
    }

    /// Moves keys as long as it is asked to.
    async fn carry_out(&self, first: MoveOrder) {
        if self.is_moving.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut next = Some(first);
        while let Some(order) = next
            && !self.is_stopped()
        {
            next = match self.carry_out_one(&order).await {
                Ok(next) => next,
                Err(_) => {
                    // Without an answer the manager finds out by itself.
                    drop(Calls(&self.manager).gives_up(order.attempt).await);
                    None
                }
            };
        }
        self.is_moving.store(false, Ordering::Release);
    }

    async fn carry_out_one(&self, order: &MoveOrder) -> Result<Option<MoveOrder>> {
        let manager = Calls(&self.manager);
        match order.phase {
            Phase::Copies => {
                self.cluster.copy(order).await?;
                manager.switched(order.attempt).await?;
                self.cluster.hand_over(order).await?;
            }
            Phase::Switched => self.cluster.hand_over(order).await?,
            Phase::Cancelled => self.cluster.keep(order).await?,
        }
        manager.moved(order.attempt).await
    }

    /// Has a store take part: it gets its share of the keys from the others, while calls go on.
    ///
    /// # Errors
    /// [`SharedError::Stopped`], [`SharedError::Store`].
    pub async fn add_store(&self, address: &str) -> Result<()> {
        self.admit()?;
        Calls(&self.manager).add_store(address).await
    }

    /// Has a store give its keys to the others, while calls go on. It is of no more use when
    /// [`Self::stores`] does not have it any more.
    ///
    /// # Errors
    /// [`SharedError::NoStores`] when there is none, or no other one stays; as
    /// [`Self::add_store`].
    pub async fn remove_store(&self, address: &str) -> Result<()> {
        self.admit()?;
        Calls(&self.manager).remove_store(address).await
    }

    /// Where keys are, and the move that is under way.
    ///
    /// # Errors
    /// As [`Self::add_store`].
    pub async fn stores(&self) -> Result<(Ring, Option<Moving>)> {
        self.admit()?;
        let answer = Calls(&self.manager).found(&[]).await;
        let answer = answer.map_err(|broken| StoreError::Unreachable(broken.0))?;
        Calls::found_stores(&answer)
    }

    /// Stops when no beat that was made in the last `silence_us` was answered.
    pub fn watch(&self, now_us: i64, silence_us: i64) {
        if now_us - self.heard_us.load(Ordering::Acquire) > silence_us {
            self.stop();
        }
    }

    async fn recover(&self, work: &Recovery) -> Result<()> {
        if self.is_recovering.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let outcome = self.recover_alone(work).await;
        self.is_recovering.store(false, Ordering::Release);
        outcome
    }

    async fn recover_alone(&self, work: &Recovery) -> Result<()> {
        for dead in &work.dead {
            self.cluster.fence(dead.0).await?;
        }
        for version in &work.versions {
            self.admit()?;
            if let Some((seen, tables)) = self.undo_of(*version).await? {
                self.roll_back(*version, &tables).await?;
                // Lost: another one recovers the same.
                self.undo.remove(version.0, seen).await?;
            }
            self.drop_parts(*version).await?;
        }
        Calls(&self.manager).recovered(&work.dead).await
    }

    /// Claims a row of `table` for the transaction that has `snapshot`.
    ///
    /// # Errors
    /// [`SharedError::Conflict`] when another claim is in the way; [`SharedError::Store`].
    pub(crate) async fn claim(
        &self,
        table: &SharedTable,
        key: Key,
        claim: Claim,
        snapshot: &Snapshot,
    ) -> Result<()> {
        let records = match table.claims.get() {
            Some(records) => records,
            None => {
                let opened = self.records(&claims_of(&table.name)).await?;
                table.claims.get_or_init(|| opened)
            }
        };
        let own = snapshot.writes()?;
        loop {
            let before = records.read(key).await?;
            let known = before.as_ref().map(|record| Claims::read(&record.bytes)).transpose()?;
            let mut claims = known.unwrap_or_default();
            claims.add(claim, own, snapshot)?;
            let seen = before.map(|record| record.version);
            if records.write(key, seen, &claims.bytes()).await? == Swap::Done {
                return Ok(());
            }
        }
    }

    /// Notes what a transaction is going to write; how many parts the record has.
    pub(crate) async fn put_undo(&self, version: Version, tables: &[TableUndo]) -> Result<usize> {
        let bytes = undo::bytes(tables)?;
        let stored = undo::cut(&bytes);
        for (at, part) in stored.parts.iter().enumerate() {
            self.undo.write(undo::part_key(version, at + 1), None, part).await?;
        }
        self.undo.write(version.0, None, &stored.head).await?;
        Ok(stored.parts.len())
    }

    /// Changes that a transaction was going to make, with the version of its record; None without.
    async fn undo_of(&self, version: Version) -> Result<Option<(Version, Vec<TableUndo>)>> {
        let Some(head) = self.undo.read(version.0).await? else { return Ok(None) };
        let parts = undo::parts_of(&head.bytes)?;
        let mut bytes = if parts == 0 { head.bytes } else { Vec::new() };
        for part in 1..=parts {
            match self.undo.read(undo::part_key(version, part)).await? {
                Some(part) => bytes.extend(part.bytes),
                // Somebody else is taking it away.
                None if self.undo.read(version.0).await?.is_none() => return Ok(None),
                None => return Err(SharedError::Corrupt("an undo record without a part".into())),
            }
        }
        Ok(Some((head.version, undo::read(&bytes)?)))
    }

    /// Takes away the parts of a record that is gone, or was never there.
    async fn drop_parts(&self, version: Version) -> Result<()> {
        let mut parts = Vec::new();
        while let Some(part) = self.undo.read(undo::part_key(version, parts.len() + 1)).await? {
            parts.push(part.version);
        }
        for (at, seen) in parts.into_iter().enumerate().rev() {
            self.undo.remove(undo::part_key(version, at + 1), seen).await?;
        }
        Ok(())
    }

    /// Ends the time in which a transaction may be rolled back, whose record has so many parts.
    pub(crate) async fn drop_undo(&self, version: Version, parts: usize) -> Result<()> {
        self.undo.remove(version.0, Version(1)).await?;
        if parts == 0 { Ok(()) } else { self.drop_parts(version).await }
    }

    /// Takes back whatever of these changes happened. Again, or for changes that did not happen,
    /// nothing happens.
    ///
    /// Entries of indexes are changed when all rows are written, and taken back before any row is:
    /// so those of a row whose newest version is another one were not changed, or are taken back.
    pub(crate) async fn roll_back(&self, version: Version, tables: &[TableUndo]) -> Result<()> {
        for undo in tables {
            self.roll_back_entries(version, undo).await?;
        }
        for undo in tables {
            let rows = self.cluster.find(&undo.table).await?;
            let reverts: Vec<_> =
                undo.keys.iter().map(|key| rows.revert_later(version, *key)).collect();
            for revert in reverts {
                revert.await?;
            }
        }
        Ok(())
    }

    async fn roll_back_entries(&self, version: Version, undo: &TableUndo) -> Result<()> {
        let rows = self.cluster.find(&undo.table).await?;
        let newest: Vec<_> =
            undo.entries.iter().map(|change| rows.newest_later(change.what.row)).collect();
        let mut own = Vec::new();
        for (change, newest) in undo.entries.iter().zip(newest) {
            if newest.await? == version {
                own.push(change);
            }
        }
        if own.is_empty() {
            return Ok(());
        }
        let mut indexes = Vec::new();
        for name in &undo.indexes {
            // Entries say all of their keys.
            let keys = IndexKeys::Fields(Vec::new());
            let (name, uniqueness) = (name.clone(), Uniqueness::Many);
            indexes.push(self.index(&IndexPlan { name, keys, uniqueness }).await?);
        }
        // In the other order than they were made.
        for is_new in [true, false] {
            for change in own.iter().filter(|change| change.is_new == is_new) {
                indexes[change.index].undo(change, version).await?;
            }
        }
        Ok(())
    }
}
