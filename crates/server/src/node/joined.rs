//! A node that joined: its connections, tables that transactions opened before, and what is known
//! of definitions.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;
use shared::manager::Class;
use shared::{
    Addresses, Member, Node, SharedError, SharedTable, StoredRecords, TablePlan, Transaction,
};
use store::Version;
use types::Result;

use super::definitions::{Definition, Definitions, Dropped, plan};

/// Number under which the table of definitions is kept.
pub(crate) const DEFINITIONS: u64 = 0;

/// A node, while it is one.
pub(crate) struct Joined {
    member: Member,
    /// Open tables that no transaction uses, by number.
    idle: Mutex<HashMap<u64, Vec<SharedTable>>>,
    /// The newest definitions that a transaction read.
    pub(crate) known: Mutex<Arc<Definitions>>,
    /// Rows that the last whole scan of a table gave.
    pub(crate) counts: Mutex<HashMap<u64, u64>>,
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
        Ok(Self { member, idle, known, counts, is_sweeping: AtomicBool::new(false) })
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
        number: u64,
        plan: impl FnOnce() -> Result<TablePlan>,
    ) -> Result<Lent> {
        let idle = self.idle.lock().get_mut(&number).and_then(Vec::pop);
        let table = match idle {
            Some(table) => table,
            None => self.member.node().planned_table(&plan()?).await?,
        };
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
                drop(joined.run(joined.sweep_one(&dropped.definition)));
            }
            let left = |dropped: &Dropped| !over.iter().any(|gone| gone.by == dropped.by);
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

    async fn sweep_one(self: &Arc<Self>, gone: &Definition) -> Result<()> {
        self.idle.lock().remove(&gone.id);
        self.counts.lock().remove(&gone.id);
        for name in gone.stored_names() {
            let dropped = self.member.node().cluster().drop_table(&name).await;
            dropped.map_err(SharedError::from)?;
        }
        let tables = vec![self.definitions().await?];
        let mut transaction =
            Transaction::begin(Home(Arc::clone(self)), tables, Class::ReadWrite).await?;
        if transaction.get(0, gone.id).await?.is_some() {
            transaction.remove(0, gone.id).await?;
        }
        // Lost: another node did it.
        Ok(transaction.commit().await?)
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
        self.table(DEFINITIONS, plan).await
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
    number: u64,
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
        if let Some(table) = self.table.take() {
            self.joined.idle.lock().entry(self.number).or_default().push(table);
        }
    }
}
