//! The node of shared data that this process is, attached to its database: tables whose rows the
//! stores have are tables of SQL.
//!
//! ```text
//! engine::attached::Attachment <- SharedData -> Joined: member, open tables, known definitions
//!   begin -> NodeTransaction -> shared::Transaction: one snapshot, changes until commit
//!     source -> RowsSource: look-ups in indexes, or a scan with what can be tested by the stores
//!   count -> Counters: values that this node took and has not given yet, or more of them
//!   hold -> Hold: a transaction that is open as long as others are not to write some tables
//! stores:  sql.tables  0 -> number of the last change | 1 -> hold | key -> a table's definition
//!          sql.t<key>  rows       sql.t<key>.<n>  the index of number n
//!          sql.counters  where sequences stand
//! ```
//! Invariant: nothing here is lost with the process; a node that was declared dead joins again when
//! the next transaction begins.
//! Elsewhere: transactions (`shared`), what SQL makes of it (`engine`).

// Floors: lowest first.
mod values;
mod definitions;
mod joined;
mod scan;
mod hold;
mod counters;
mod transaction;
mod stores;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::Database;
use engine::attached::{
    AttachedHold, AttachedTransaction, Attachment, Counted, CounterId, CounterUse, NewHold,
};
use parking_lot::Mutex;
use shared::Addresses;
use sql::statement::AccessMode;
use transport::Token;
use types::{Error, Result, SqlState};

use crate::token;
use counters::Counters;
use hold::Hold;
use joined::Joined;
use stores::StoresFunction;
use transaction::NodeTransaction;

/// Schema of shared tables.
const SCHEMA: &str = "shared";

/// Time that statements wait for a store or the manager that went away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where shared data is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The commit manager.
    pub(crate) manager: SocketAddr,
    /// The stores of new shared data, in the order that all nodes name them in.
    pub(crate) stores: &'a [SocketAddr],
    /// File with the secret of all processes.
    pub(crate) token_file: Option<&'a Path>,
}

/// Shared data as this process has it.
struct SharedData {
    addresses: Addresses,
    joined: Mutex<Arc<Joined>>,
    counters: Counters,
}

/// Joins shared data as a node, whose tables `database` then has in a schema.
///
/// # Errors
/// F0000 for the token; 08006 when a process does not answer, 28000 when it lets nobody in; 42P06
/// when the database has such a schema itself.
pub(crate) fn attach(database: &Database, place: Place<'_>) -> Result<()> {
    let token = place.token_file.map(token::read).transpose()?;
    let token = token.map(|text| Token::new(&text)).transpose()?;
    let (manager, stores) = (place.manager, place.stores.to_vec());
    let addresses = Addresses { manager, stores, patience: PATIENCE, token };
    let joined = Mutex::new(Arc::new(Joined::new(&addresses)?));
    let shared: Arc<SharedData> =
        Arc::new(SharedData { addresses, joined, counters: Counters::default() });
    if database.has_schema(SCHEMA) {
        let message = format!("schema \"{SCHEMA}\" of the database is in the way of shared tables");
        return Err(Error::new(SqlState::DUPLICATE_SCHEMA, message));
    }
    database.for_each_database(move |database| {
        let registry = database.registry();
        registry.attach(Arc::clone(&shared) as Arc<dyn Attachment>);
        registry.add_function(stores::NAME, Arc::new(StoresFunction(Arc::clone(&shared))));
    });
    Ok(())
}

impl SharedData {
    /// This node, which joins again if it is none any more.
    fn joined(&self) -> Result<Arc<Joined>> {
        let mut joined = self.joined.lock();
        if joined.is_stopped() {
            *joined = Arc::new(Joined::new(&self.addresses)?);
        }
        Ok(Arc::clone(&joined))
    }
}

impl Attachment for SharedData {
    fn schema(&self) -> &str {
        SCHEMA
    }

    fn count(
        &self,
        counter: CounterUse,
        next: &dyn Fn(Option<Counted>) -> Result<i64>,
        values: &mut [i64],
    ) -> Result<()> {
        self.counters.count(&*self.joined()?, counter, next, values)
    }

    fn counted(&self, counter: CounterId) -> Result<Option<Counted>> {
        counters::counted(&*self.joined()?, counter)
    }

    fn set_counter(&self, counter: CounterId, counted: Counted) -> Result<()> {
        self.counters.set(&*self.joined()?, counter, counted)
    }

    fn begin(&self, access: AccessMode) -> Result<Arc<dyn AttachedTransaction>> {
        Ok(NodeTransaction::begin(&self.joined()?, access)?)
    }

    fn begin_at(&self, state: &[u8]) -> Result<Option<Arc<dyn AttachedTransaction>>> {
        let begun = NodeTransaction::begin_at(&self.joined()?, state)?;
        Ok(begun.map(|begun| begun as Arc<dyn AttachedTransaction>))
    }

    fn hold(&self, new: &NewHold<'_>) -> Result<Box<dyn AttachedHold>> {
        Ok(Box::new(Hold::take(&self.joined()?, new)?))
    }

    fn wait_for_hold(&self, check: &dyn Fn() -> Result<()>) -> Result<()> {
        hold::wait(&self.joined()?, check)
    }
}
