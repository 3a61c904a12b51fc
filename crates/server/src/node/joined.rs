//! A node that joined: its connections, tables that transactions opened before, and what is known
//! of definitions.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;
use shared::manager::{Class, Moving};
use shared::{
    Addresses, Member, Node, SharedError, SharedTable, StoredRecords, TablePlan, Transaction,
};
use store::{Snapshot, Version};
use transport::Ring;
use types::Result;

use super::definitions::{Definitions, Dropped, plan};

/// Number under which the table of definitions is kept.
pub(crate) const DEFINITIONS: u64 = 0;

/// Open tables of one number and one generation: that of the newest definition.
#[derive(Default)]
struct Idle {
    generation: u64,
    tables: Vec<SharedTable>,
}

/// A table among all that ever were, in one of its generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableNumber {
    pub(crate) id: u64,
    pub(crate) generation: u64,
}

/// A node, while it is one.
pub(crate) struct Joined {
    member: Member,
    /// Open tables that no transaction uses, by number.
    idle: Mutex<HashMap<u64, Idle>>,
    /// The newest definitions that a transaction read.
    pub(crate) known: Mutex<Arc<Definitions>>,
    /// Rows that the last whole scan of a table gave.
    pub(crate) counts: Mutex<HashMap<u64, u64>>,
    /// Version of the last hold that stopped a transaction here.
    pub(crate) stopped_by: AtomicU64,
    is_sweeping: AtomicBool,
}

impl Joined {
    /// Joins.
    ///
    /// # Errors
    /// As [`Member::join`].
    pub(crate) fn new(addresses: &Addresses) -> Result<Self> {
        let member = Member::join(addresses)?;
        let (idle, known, counts) = Default::default();
        let (stopped_by, is_sweeping) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { member, idle, known, counts, stopped_by, is_sweeping })
    }

    /// True when it does nothing any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.member.node().is_stopped()
    }

    /// Runs one task on this thread.
    pub(crate) fn run<T>(&self, task: impl Future<Output = T>) -> T {
        self.member.run(task)
    }

    /// The table of this number for one transaction; `plan` says what it is.
    ///
    /// # Errors
    /// As [`Node::planned_table`].
    pub(crate) async fn table(
        self: &Arc<Self>,
        number: TableNumber,
        plan: impl FnOnce() -> Result<TablePlan>,
    ) -> Result<Lent> {
        match self.idle(number) {
            Some(lent) => Ok(lent),
            None => Ok(self.planned(number, &plan()?).await?),
        }
    }

    /// An open table that no transaction uses.
    fn idle(self: &Arc<Self>, number: TableNumber) -> Option<Lent> {
        let of_number = |idle: &mut Idle| {
            if idle.generation == number.generation { idle.tables.pop() } else { None }
        };
        let table = self.idle.lock().get_mut(&number.id).and_then(of_number)?;
        Some(Lent { number, table: Some(table), joined: Arc::clone(self) })
    }

    async fn planned(
        self: &Arc<Self>,
        number: TableNumber,
        plan: &TablePlan,
    ) -> Result<Lent, SharedError> {
        if let Some(lent) = self.idle(number) {
            return Ok(lent);
        }
        let table = self.member.node().planned_table(plan).await?;
        Ok(Lent { number, table: Some(table), joined: Arc::clone(self) })
    }

    /// Begins to take away the rows of dropped tables that no transaction uses any more, now that
    /// all see `lowest_active`. A node that dies in it leaves the rest to others.
    pub(crate) fn sweep(self: &Arc<Self>, lowest_active: Version) {
        let known = Arc::clone(&self.known.lock());
        let is_over = |dropped: &&Dropped| dropped.by <= lowest_active;
        let over: Vec<Dropped> = known.dropped.iter().filter(is_over).cloned().collect();
        if over.is_empty() || self.is_sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let joined = Arc::clone(self);
        let sweep = move || {
            for dropped in &over {
                // What failed is tried again behind the next change of definitions.
                drop(joined.run(joined.sweep_one(dropped)));
            }
            let left = |dropped: &Dropped| !over.iter().any(|gone| gone.row == dropped.row);
            let mut known = joined.known.lock();
            let mut rest = Definitions::clone(&known);
            rest.dropped.retain(left);
            *known = Arc::new(rest);
            drop(known);
            joined.is_sweeping.store(false, Ordering::Release);
        };
        if thread::Builder::new().name("shared-sweep".into()).spawn(sweep).is_err() {
            self.is_sweeping.store(false, Ordering::Release);
        }
    }

    /// Has the stores drop what they have under these names; again, nothing happens.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) async fn drop_stored(&self, names: &[String]) -> Result<(), SharedError> {
        for name in names {
            self.member.node().cluster().drop_table(name).await?;
        }
        Ok(())
    }

    async fn sweep_one(self: &Arc<Self>, gone: &Dropped) -> Result<()> {
        self.idle.lock().remove(&gone.row);
        self.counts.lock().remove(&gone.row);
        self.drop_stored(&gone.names).await?;
        let row = gone.row;
        let removed = self.change_definitions(async |transaction| {
            if transaction.get(0, row).await?.is_some() {
                transaction.remove(0, row).await?;
            }
            Ok(())
        });
        // Lost: another node did it.
        Ok(removed.await?)
    }

    /// Changes rows of the table of definitions, which has number 0, in a transaction of its own.
    ///
    /// # Errors
    /// Errors of `change`, or of the commit: nothing happened.
    pub(crate) async fn change_definitions<T>(
        self: &Arc<Self>,
        change: impl AsyncFnOnce(&mut Transaction<Home, Lent>) -> Result<T, SharedError>,
    ) -> Result<T, SharedError> {
        let mut transaction = self.begin().await?;
        match change(&mut transaction).await {
            Ok(done) => transaction.commit().await.map(|()| done),
            Err(error) => {
                // Left open, it would be waited for.
                transaction.abort().await?;
                Err(error)
            }
        }
    }

    /// Begins a transaction on the table of definitions.
    ///
    /// # Errors
    /// Errors of the node.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<Transaction<Home, Lent>, SharedError> {
        let number = TableNumber { id: DEFINITIONS, generation: 0 };
        let plan = plan().map_err(|error| SharedError::Corrupt(error.to_string()))?;
        let tables = vec![self.planned(number, &plan).await?];
        Transaction::begin(Home(Arc::clone(self)), tables, Class::ReadWrite).await
    }

    /// Looks at the snapshot of this moment.
    ///
    /// # Errors
    /// Errors of the node.
    pub(crate) async fn with_snapshot<T>(
        self: &Arc<Self>,
        look: impl FnOnce(&Snapshot) -> T,
    ) -> Result<T> {
        let (home, none) = (Home(Arc::clone(self)), Vec::<Lent>::new());
        let transaction = Transaction::begin(home, none, Class::ReadOnly).await?;
        let found = look(transaction.snapshot());
        transaction.abort().await?;
        Ok(found)
    }

    /// Where keys are, and the move that is under way.
    ///
    /// # Errors
    /// As [`Node::stores`].
    pub(crate) async fn stores(&self) -> Result<(Ring, Option<Moving>)> {
        Ok(self.member.node().stores().await?)
    }

    /// Records under a name.
    ///
    /// # Errors
    /// As [`Node::records`].
    pub(crate) async fn records(&self, name: &str) -> Result<StoredRecords> {
        Ok(self.member.node().records(name).await?)
    }

    /// The table of definitions.
    ///
    /// # Errors
    /// As [`Self::table`].
    pub(crate) async fn definitions(self: &Arc<Self>) -> Result<Lent> {
        self.table(TableNumber { id: DEFINITIONS, generation: 0 }, plan).await
    }
}

/// The node of a transaction.
#[derive(Clone)]
pub(crate) struct Home(pub(crate) Arc<Joined>);

impl Deref for Home {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.0.member.node()
    }
}

/// An open table of one transaction, which goes back when it ends.
pub(crate) struct Lent {
    number: TableNumber,
    /// Until it is dropped.
    table: Option<SharedTable>,
    joined: Arc<Joined>,
}

impl Deref for Lent {
    type Target = SharedTable;

    fn deref(&self) -> &SharedTable {
        self.table.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(table) = self.table.take() else { return };
        let TableNumber { id, generation } = self.number;
        let newest = self.joined.known.lock().generation(id);
        let mut idle = self.joined.idle.lock();
        let known = idle.entry(id).or_default();
        if known.generation != generation && newest == Some(generation) {
            *known = Idle { generation, tables: Vec::new() };
        }
        // Others lack indexes, or have more.
        if known.generation == generation {
            known.tables.push(table);
        }
    }
}
