//! Holds: while one stands, nobody but its owner writes the tables that it names, and nobody else
//! defines any.
//!
//! ```text
//! row 1 of sql.tables   "" | version of the holder | tables, 0 of them: all | names, see below
//! holder begins -> row is committed -> whatever began before is over -> definitions -> holder ends
//! ```
//! A hold stands for a snapshot that has its row, and has the holder's version unfinished. So it
//! ends with the holder, also when that node dies and others recover it; transactions that do not
//! see its row are those that its owner waited for. The names are what its owner makes in the
//! stores: who takes the next hold has those dropped that no definition came to have.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use engine::attached::{AttachedHold, AttachedTableId, HeldTables, HoldNumber, NewHold};
use parking_lot::Mutex;
use shared::{SharedError, Transaction};
use store::{Schema, Snapshot, Tuple, Version};
use types::codec::{Input, Malformed, put_u64};
use types::waiting::waiting;
use types::{Error, Result, SqlState, Value};

use super::definitions::{Definitions, put_names, read_names};
use super::joined::{Home, Joined, Lent};

/// Key of the row that says which hold stands.
pub(crate) const HOLD: u64 = 1;

/// Number of the table of definitions in transactions of this module.
const DEFINITIONS: usize = 0;

/// The first pause between two looks, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Content of the row of holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Version of the holder.
    pub(crate) version: Version,
    tables: HeldTables,
    /// Names of what earlier ones made in the stores, in vain perhaps.
    inherited: Vec<String>,
    /// Names of what it makes there.
    made: Vec<String>,
}

impl Standing {
    /// Reads the row.
    ///
    /// # Errors
    /// XX001 for a row that is none.
    pub(crate) fn read(row: &[Value]) -> Result<Self> {
        let read = || -> Result<Self, Malformed> {
            let [_, Value::I64(version), Value::Str(tables), Value::Str(made)] = row else {
                return Err(Malformed { offset: 0, expectation: "four fields".into() });
            };
            let mut input = Input::new(tables);
            let mut ids = Vec::new();
            for _ in 0..input.count(1)? {
                ids.push(AttachedTableId(input.u64()?));
            }
            let tables = if ids.is_empty() { HeldTables::All } else { HeldTables::Only(ids) };
            let mut input = Input::new(made);
            let (inherited, made) = (read_names(&mut input)?, read_names(&mut input)?);
            Ok(Self { version: Version(*version as u64), tables, inherited, made })
        };
        read().map_err(|malformed| malformed.in_bytes_of("a hold on shared tables"))
    }

    fn row(&self, schema: &Schema) -> Result<Tuple> {
        let mut tables = Vec::new();
        let ids: &[AttachedTableId] = match &self.tables {
            HeldTables::All => &[],
            HeldTables::Only(ids) => ids,
        };
        put_u64(&mut tables, ids.len() as u64);
        ids.iter().for_each(|id| put_u64(&mut tables, id.0));
        let (version, mut made) = (Value::I64(self.version.0 as i64), Vec::new());
        put_names(&mut made, &self.inherited);
        put_names(&mut made, &self.made);
        let (tables, made) = (Value::Str(tables.into()), Value::Str(made.into()));
        Ok(Tuple::encode(schema, &[Value::text(""), version, tables, made])?)
    }

    /// True when it keeps a transaction with this snapshot, which is under the hold `own` perhaps,
    /// from writing the table, or from defining any for None.
    pub(crate) fn stops(
        &self,
        snapshot: &Snapshot,
        own: Option<HoldNumber>,
        table: Option<u64>,
    ) -> bool {
        let is_own = own == Some(HoldNumber(self.version.0));
        let is_meant = table.is_none_or(|table| self.tables.covers(AttachedTableId(table)));
        is_meant && !is_own && !snapshot.sees(self.version)
    }

    /// 40001 for who was stopped: its snapshot is older than what comes. [`wait`] knows for what.
    pub(crate) fn stopped(&self, joined: &Joined) -> Error {
        joined.stopped_by.store(self.version.0, Ordering::Relaxed);
        let message = "could not serialize access due to a concurrent definition of the table";
        Error::new(SqlState::SERIALIZATION_FAILURE, message)
    }
}

/// Waits until the last hold that stopped a transaction of this node is over, if it is not. Who
/// calls it has no transaction open: the owner of a hold may wait for that.
///
/// # Errors
/// Errors of the check and of the node.
pub(crate) fn wait(joined: &Arc<Joined>, check: &dyn Fn() -> Result<()>) -> Result<()> {
    let version = joined.stopped_by.load(Ordering::Relaxed);
    if version == 0 {
        return Ok(());
    }
    let mut pause = PAUSES[0];
    while !joined.run(joined.with_snapshot(|snapshot| snapshot.sees(Version(version))))? {
        check()?;
        pause = rest(pause);
    }
    // Another one may have come.
    let relaxed = Ordering::Relaxed;
    let _ = joined.stopped_by.compare_exchange(version, 0, relaxed, relaxed);
    Ok(())
}

/// Pauses; the next pause.
fn rest(pause: Duration) -> Duration {
    waiting(|| thread::sleep(pause));
    (pause * 2).min(PAUSES[1])
}

/// A hold of this node.
pub(crate) struct Hold {
    joined: Arc<Joined>,
    /// The transaction that is open as long as the hold stands; None once that is over.
    holder: Mutex<Option<Transaction<Home, Lent>>>,
    standing: Standing,
}

impl AttachedHold for Hold {
    fn number(&self) -> HoldNumber {
        HoldNumber(self.standing.version.0)
    }

    fn tables(&self) -> &HeldTables {
        &self.standing.tables
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(holder) = self.holder.get_mut().take() {
            // A node that cannot say so is declared dead, and its transactions end.
            drop(self.joined.run(holder.abort()));
        }
    }
}

impl Hold {
    /// Takes a hold; see [`engine::attached::Attachment::hold`].
    ///
    /// # Errors
    /// Errors of the check; 40001 beside a transaction while another hold stands.
    pub(crate) fn take(joined: &Arc<Joined>, new: &NewHold<'_>) -> Result<Self> {
        let mut pause = PAUSES[0];
        let hold = loop {
            (new.check)()?;
            // Begun anew each time: who has another hold waits for those that began before.
            let holder = joined.run(joined.begin())?;
            let version = holder.version()?;
            let (tables, inherited) = (new.tables.clone(), Vec::new());
            let standing = Standing { version, tables, inherited, made: Vec::new() };
            let holder = Mutex::new(Some(holder));
            let hold = Self { joined: Arc::clone(joined), holder, standing };
            if joined.run(hold.note())? {
                break hold;
            }
            drop(hold);
            if new.beside.is_some() {
                let message = "could not serialize access due to a concurrent definition";
                return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message));
            }
            pause = rest(pause);
        };
        let beside = new.beside.map(|transaction| transaction.number()).transpose()?;
        // Whoever begins from here on has the row in its snapshot.
        let last = joined.run(joined.with_snapshot(Snapshot::version))?;
        let others = Others { last, own: [Some(hold.standing.version.0), beside] };
        let mut pause = PAUSES[0];
        while !joined.run(joined.with_snapshot(|snapshot| others.are_over(snapshot)))? {
            (new.check)()?;
            pause = rest(pause);
        }
        Ok(hold)
    }

    /// Commits the row; false while another hold stands.
    async fn note(&self) -> Result<bool> {
        let noted = self.joined.change_definitions(async |transaction| {
            let schema = Arc::clone(transaction.tables()[DEFINITIONS].schema());
            let before = transaction.get(DEFINITIONS, HOLD).await?;
            let mut row = self.standing.clone();
            if let Some(before) = &before {
                let other = Standing::read(&before.decode(&schema)).map_err(corrupt)?;
                if !transaction.snapshot().sees(other.version) {
                    return Err(SharedError::Conflict);
                }
                // Whatever they left is dropped by who makes something next.
                row.inherited = other.inherited.into_iter().chain(other.made).collect();
            }
            let row = row.row(&schema).map_err(corrupt)?;
            match before {
                Some(_) => transaction.update(DEFINITIONS, HOLD, row).await,
                None => transaction.insert(DEFINITIONS, HOLD, row).await,
            }
        });
        match noted.await {
            Ok(()) => Ok(true),
            Err(SharedError::Conflict | SharedError::RowExists) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn corrupt(error: Error) -> SharedError {
    SharedError::Corrupt(error.to_string())
}

/// Transactions up to one, but for some.
struct Others {
    last: Version,
    own: [Option<u64>; 2],
}

impl Others {
    fn are_over(&self, snapshot: &Snapshot) -> bool {
        let mut open = (snapshot.base().0 + 1..=self.last.0).map(Version);
        open.all(|version| snapshot.sees(version) || self.own.contains(&Some(version.0)))
    }
}

/// Says in the row of the hold `own` that these names are about to be made in the stores; has those
/// dropped that earlier holds made in vain. `definitions` are the newest ones.
///
/// # Errors
/// Errors of the stores.
pub(crate) async fn announce(
    joined: &Arc<Joined>,
    own: HoldNumber,
    definitions: &Definitions,
    names: &[String],
) -> Result<()> {
    let announced = joined.change_definitions(async |transaction| {
        let schema = Arc::clone(transaction.tables()[DEFINITIONS].schema());
        let row = transaction.get(DEFINITIONS, HOLD).await?.ok_or(SharedError::NoRow)?;
        let mut standing = Standing::read(&row.decode(&schema)).map_err(corrupt)?;
        if standing.version.0 != own.0 {
            return Err(SharedError::Conflict);
        }
        let mut vain = std::mem::take(&mut standing.inherited);
        vain.retain(|name| !definitions.has_stored(name));
        joined.drop_stored(&vain).await?;
        standing.made.extend(names.iter().cloned());
        let row = standing.row(&schema).map_err(corrupt)?;
        transaction.update(DEFINITIONS, HOLD, row).await
    });
    Ok(announced.await?)
}
