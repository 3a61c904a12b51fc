//! Work of nodes: transfers between accounts that are found by name, names that change, appends to
//! lists; and at the end, a look at everything.

use std::collections::BTreeSet;

use shared::manager::Class;
use std::sync::Arc;

use shared::{
    IndexKeys, IndexPlan, KeyMaker, Node, Result, SharedError, SharedTable, Transaction, Uniqueness,
};
use store::{FieldId, Schema, Snapshot, Tuple};
use testkit::Random;
use testkit::histories::{End, Key, Op, Txn, Value as Element};
use types::Value;

use crate::references;
use crate::tables::Tables;
use crate::world::{Lists, Notes, Phase, STORES};

const ACCOUNTS: u64 = 6;
const LISTS: u64 = 3;
const AMOUNT: i64 = 100;

/// Keys of accounts that are even: their half, and the name. No two have the same.
struct EvenHalves;

impl EvenHalves {
    fn of(amount: i64, name: &Value) -> Option<Vec<Value>> {
        (amount % 2 == 0).then(|| vec![Value::I64(amount / 2), name.clone()])
    }
}

impl KeyMaker for EvenHalves {
    fn key(&self, schema: &Schema, tuple: &Tuple) -> Option<Vec<Value>> {
        let Value::I64(amount) = tuple.value(schema, FieldId(0)) else { return None };
        Self::of(amount, &tuple.value(schema, FieldId(1)))
    }
}

/// The tables, with an index of amounts, and one of halves of some.
async fn open(node: &Node) -> Result<Tables> {
    let by_amount = IndexPlan {
        name: "by_amount".into(),
        keys: IndexKeys::Fields(vec![FieldId(0)]),
        uniqueness: Uniqueness::Many,
    };
    let by_half = IndexPlan {
        name: "by_half".into(),
        keys: IndexKeys::Made(Arc::new(EvenHalves)),
        uniqueness: Uniqueness::Unique,
    };
    Tables::open(node, &[by_amount, by_half]).await
}

/// Works until the phase is over, or the node is.
pub(crate) async fn live(node: &Node, notes: &Notes, mut random: Random) {
    let outcome = async {
        let tables = open(node).await?;
        if notes.phase.get() == Phase::Audit {
            return audit(node, &tables, notes).await;
        }
        found(node, &tables).await?;
        while notes.phase.get() == Phase::Work {
            if random.chance(6) {
                change_stores(node, notes, &mut random).await?;
            }
            let outcome = match random.below(5) {
                0 | 1 => lists(node, &tables, notes, &mut random).await,
                2 => transfer(node, &tables, &mut random).await,
                3 => refer(node, &tables, &mut random).await,
                _ => rename(node, &tables, &mut random).await,
            };
            match outcome {
                Ok(()) => notes.committed.set(notes.committed.get() + 1),
                Err(SharedError::Conflict | SharedError::UniqueViolation) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    match outcome.await {
        // The party starts again when its node has stopped.
        Ok(()) | Err(SharedError::Stopped) => (),
        Err(error) => panic!("{error}"),
    }
}

/// Has a store come, or go.
async fn change_stores(node: &Node, notes: &Notes, random: &mut Random) -> Result<()> {
    let address = (1 + random.below(STORES as u64)).to_string();
    let outcome = if random.chance(50) {
        node.add_store(&address).await
    } else {
        node.remove_store(&address).await
    };
    match outcome {
        // It is not there, or the only one.
        Err(SharedError::NoStores) => Ok(()),
        outcome => {
            notes.store_changes.set(notes.store_changes.get() + 1);
            outcome
        }
    }
}

/// Makes the accounts, unless somebody else did.
async fn found(node: &Node, tables: &Tables) -> Result<()> {
    loop {
        let mut txn = Transaction::begin(node, tables.all(), Class::ReadWrite).await?;
        let mut outcome = txn.get(0, 0).await.map(drop);
        if txn.get(0, 0).await.is_ok_and(|row| row.is_some()) {
            return txn.abort().await;
        }
        for key in 0..ACCOUNTS {
            let tuple = tables.account(AMOUNT, format!("name {key}").as_bytes());
            outcome = outcome.and(txn.insert(0, key, tuple).await);
        }
        match ended(txn, outcome).await {
            Err(SharedError::Conflict | SharedError::UniqueViolation | SharedError::RowExists) => {}
            outcome => return outcome,
        }
    }
}

/// Commits what went well, and ends what did not.
async fn ended(txn: Transaction<&Node, &SharedTable>, outcome: Result<()>) -> Result<()> {
    match outcome {
        Ok(()) => txn.commit().await,
        Err(error) => {
            txn.abort().await?;
            Err(error)
        }
    }
}

async fn transfer(node: &Node, tables: &Tables, random: &mut Random) -> Result<()> {
    let mut txn = Transaction::begin(node, tables.all(), Class::ReadWrite).await?;
    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    let amount = random.within(1..50);
    let change = async {
        for (key, by) in [(from, -amount), (to, amount)] {
            let row = txn.get(0, key).await?.ok_or(SharedError::NoRow)?;
            let (amount, name) = tables.amount_and_name(&row);
            assert_eq!(
                txn.look_up(0, 0, &[Value::Str(name.as_slice().into())]).await?,
                [key],
                "by its name"
            );
            txn.update(0, key, tables.account(amount + by, &name)).await?;
        }
        Ok(())
    };
    let outcome = change.await;
    ended(txn, outcome).await
}

/// Gives an account a new name, or two accounts each other's, or one a name that is taken.
async fn rename(node: &Node, tables: &Tables, random: &mut Random) -> Result<()> {
    let mut txn = Transaction::begin(node, tables.all(), Class::ReadWrite).await?;
    let (one, two) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    let kind = random.below(3);
    let fresh = format!("name {}", random.below(20)).into_bytes();
    let change = async {
        let row = txn.get(0, one).await?.ok_or(SharedError::NoRow)?;
        let (amount, name) = tables.amount_and_name(&row);
        if kind == 0 {
            txn.remove(0, one).await?;
            txn.insert(0, one, tables.account(amount, &fresh)).await?;
            return Ok(());
        }
        let other = txn.get(0, two).await?.ok_or(SharedError::NoRow)?;
        let (_, taken) = tables.amount_and_name(&other);
        let outcome = txn.update(0, one, tables.account(amount, &taken)).await;
        if one != two {
            assert!(outcome != Ok(()), "a name that is taken");
        }
        if outcome.is_ok() {
            txn.update(0, one, tables.account(amount, &name)).await?;
        }
        outcome
    };
    let outcome = change.await;
    ended(txn, outcome).await
}

/// Has rows come, go, or refer to others.
async fn refer(node: &Node, tables: &Tables, random: &mut Random) -> Result<()> {
    let mut txn = Transaction::begin(node, tables.all(), Class::ReadWrite).await?;
    let outcome = references::refer(&mut txn, tables, random).await;
    ended(txn, outcome).await
}

async fn lists(node: &Node, tables: &Tables, notes: &Notes, random: &mut Random) -> Result<()> {
    let place = {
        let mut history = notes.history.borrow_mut();
        let started = notes.tick();
        history.txns.push(Txn { ops: Vec::new(), end: End::Unknown, started, ended: 0 });
        history.txns.len() - 1
    };
    let class = match random.below(5) {
        0 => Class::ReadOnly,
        _ => Class::ReadWrite,
    };
    let mut txn = Transaction::begin(node, tables.all(), class).await?;
    let change = async {
        for _ in 0..1 + random.below(4) {
            let key = random.below(LISTS);
            let row = txn.get(1, key).await?;
            let mut elements = tables.elements(row.as_ref());
            let list = Key(key as u32);
            if class == Class::ReadOnly || random.chance(50) {
                notes.history.borrow_mut().txns[place].ops.push(Op::Read(list, elements));
                continue;
            }
            notes.next_value.set(notes.next_value.get() + 1);
            let element = Element(notes.next_value.get());
            notes.history.borrow_mut().txns[place].ops.push(Op::Append(list, element));
            elements.push(element);
            let tuple = tables.list(&elements);
            match row {
                None => txn.insert(1, key, tuple).await?,
                Some(_) => txn.update(1, key, tuple).await?,
            }
        }
        Ok(())
    };
    let outcome = change.await;
    let outcome = ended(txn, outcome).await;
    let end = match &outcome {
        Ok(()) => End::Committed,
        Err(SharedError::Conflict) => End::Aborted,
        Err(_) => End::Unknown,
    };
    let txn = &mut notes.history.borrow_mut().txns[place];
    (txn.end, txn.ended) = (end, notes.tick());
    outcome
}

/// The end of a run, as one transaction and the trees tell it.
pub(crate) struct Audit {
    pub(crate) lists: Lists,
    accounts: Vec<(i64, Vec<u8>)>,
    /// Entries of the indexes that hold.
    entries: [usize; 3],
    undo_records: usize,
}

impl Audit {
    pub(crate) fn check(&self, seed: u64) {
        if self.accounts.is_empty() {
            return;
        }
        assert_eq!(self.accounts.len() as u64, ACCOUNTS, "seed {seed}");
        let sum: i64 = self.accounts.iter().map(|account| account.0).sum();
        assert_eq!(sum, AMOUNT * ACCOUNTS as i64, "seed {seed}: money");
        let names: BTreeSet<_> = self.accounts.iter().map(|account| &account.1).collect();
        assert_eq!(names.len() as u64, ACCOUNTS, "seed {seed}: names");
        let even = self.accounts.iter().filter(|(amount, _)| amount % 2 == 0).count();
        let wanted = [self.accounts.len(), self.accounts.len(), even];
        assert_eq!(self.entries, wanted, "seed {seed}: entries of indexes");
        assert_eq!(self.undo_records, 0, "seed {seed}: undo records");
    }
}

async fn audit(node: &Node, tables: &Tables, notes: &Notes) -> Result<()> {
    if notes.is_audited.replace(true) {
        return Ok(());
    }
    let mut txn = Transaction::begin(node, tables.all(), Class::Analytical).await?;
    let (mut accounts, mut lists) = (Vec::new(), Lists::new());
    for key in 0..ACCOUNTS {
        if let Some(row) = txn.get(0, key).await? {
            let account = tables.amount_and_name(&row);
            let name = [Value::Str(account.1.as_slice().into())];
            assert_eq!(txn.look_up(0, 0, &name).await?, [key]);
            let by_amount = txn.look_up(0, 1, &[Value::I64(account.0)]).await?;
            assert!(by_amount.contains(&key), "{by_amount:?}");
            if let Some(half) = EvenHalves::of(account.0, &name[0]) {
                assert_eq!(txn.look_up(0, 2, &half).await?, [key]);
            }
            accounts.push(account);
        }
    }
    for key in 0..LISTS {
        let row = txn.get(1, key).await?;
        lists.insert(Key(key as u32), tables.elements(row.as_ref()));
    }
    let version = txn.snapshot().version().0;
    txn.abort().await?;
    references::audit(node, tables).await?;
    let mut entries = [0; 3];
    for (index, count) in tables.accounts.indexes().iter().zip(&mut entries) {
        let shape = index.tree().check().await?;
        let holds = |entry: &&(Vec<u8>, u64)| entry.0.ends_with(&u64::MAX.to_be_bytes());
        *count = shape.entries.iter().filter(holds).count();
    }
    let undo = node.cluster().find("undo").await?;
    let mut undo_records = 0;
    for version in 1..=version {
        let found = undo.get_later(&Snapshot::newest(), version).await;
        undo_records += usize::from(found.is_ok());
    }
    let audit = Audit { lists, accounts, entries, undo_records };
    *notes.audit.borrow_mut() = Some(audit);
    Ok(())
}
