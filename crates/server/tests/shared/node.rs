//! Work of a node: appends to lists, transfers between accounts, names that change; and the look at
//! everything in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use shared::manager::Class;
use shared::{Addresses, Member, Node, Result, SharedError, SharedTable, Transaction};
use testkit::Random;
use testkit::histories::{End, Key, Op, Value as Element};
use types::Value;

use crate::journal::{Step, line};
use crate::processes::token;
use crate::tables::Tables;

/// Environment variable with number, manager and stores of a node.
pub(crate) const PLACE: &str = "SHARED_NODE";

const ACCOUNTS: u64 = 8;
const AMOUNT: i64 = 100;

/// Lists that are in use at a time.
const LISTS: u32 = 4;

/// Elements of a list after which others are used.
const ELEMENTS: usize = 30;

/// Nanoseconds on a clock that all processes share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Tells the parent, whole lines at a time.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The parent may have ended.
    drop(out.write_all(format!("{line}\n").as_bytes()));
    drop(out.flush());
}

async fn begin<'a>(
    tables: &'a Tables,
    member: &'a Member,
    class: Class,
) -> Result<Transaction<&'a Node, &'a SharedTable>> {
    Transaction::begin(&**member.node(), tables.all(), class).await
}

/// Joins; a process that is away for the moment lets nobody in.
fn join(addresses: &Addresses) -> Member {
    let deadline = Instant::now() + addresses.patience;
    loop {
        match Member::join(addresses) {
            Ok(member) => return member,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Makes the accounts.
pub(crate) fn found(addresses: &Addresses) {
    let member = join(addresses);
    let made = member.run(async {
        let tables = Tables::open(member.node(), &[]).await?;
        let mut txn = begin(&tables, &member, Class::ReadWrite).await?;
        for key in 0..ACCOUNTS {
            txn.insert(0, key, tables.account(AMOUNT, format!("name {key}").as_bytes())).await?;
        }
        txn.commit().await
    });
    made.expect("nobody is killed yet");
}

/// Works until it is killed.
pub(crate) fn live(place: &str) {
    let mut words = place.split(' ');
    let number: u32 = words.next().and_then(|word| word.parse().ok()).expect("a number");
    let mut addresses = words.map(|word| word.parse::<SocketAddr>().expect("an address"));
    let manager = addresses.next().expect("a manager");
    let patience = Duration::from_secs(60);
    let (stores, token) = (addresses.collect(), Some(token()));
    let addresses = Addresses { manager, stores, patience, token };
    let mut worker = Worker {
        random: Random::new(u64::from(number)),
        number,
        last: 0,
        element: 0,
        first_list: 0,
    };
    loop {
        let member = join(&addresses);
        match member.run(worker.work(&member)) {
            // Declared dead while processes were away, or does not know what became of a commit.
            Ok(()) | Err(SharedError::Stopped | SharedError::Store(_)) => (),
            Err(error) => panic!("{error}"),
        }
    }
}

struct Worker {
    random: Random,
    number: u32,
    /// Number of the last transaction on lists.
    last: u64,
    /// The last element.
    element: u32,
    first_list: u32,
}

impl Worker {
    async fn work(&mut self, member: &Member) -> Result<()> {
        let tables = Tables::open(member.node(), &[]).await?;
        loop {
            let outcome = match self.random.below(4) {
                0 | 1 => self.lists(member, &tables).await,
                2 => self.transfer(member, &tables).await,
                _ => self.rename(member, &tables).await,
            };
            match outcome {
                Ok(()) | Err(SharedError::Conflict | SharedError::UniqueViolation) => (),
                Err(error) => return Err(error),
            }
        }
    }

    async fn transfer(&mut self, member: &Member, tables: &Tables) -> Result<()> {
        let mut txn = begin(tables, member, Class::ReadWrite).await?;
        let (from, to) = (self.random.below(ACCOUNTS), self.random.below(ACCOUNTS));
        let by = self.random.within(1..50);
        let change = async {
            for (key, by) in [(from, -by), (to, by)] {
                let row = txn.get(0, key).await?.ok_or(SharedError::NoRow)?;
                let (amount, name) = tables.amount_and_name(&row);
                let found = txn.look_up(0, 0, &[Value::Str(name[..].into())]).await?;
                assert_eq!(found, [key], "by its name");
                txn.update(0, key, tables.account(amount + by, &name)).await?;
            }
            Ok(())
        };
        let outcome = change.await;
        ended(txn, outcome).await?;
        say("done");
        Ok(())
    }

    async fn rename(&mut self, member: &Member, tables: &Tables) -> Result<()> {
        let mut txn = begin(tables, member, Class::ReadWrite).await?;
        let (key, name) = (self.random.below(ACCOUNTS), self.random.below(20));
        let change = async {
            let row = txn.get(0, key).await?.ok_or(SharedError::NoRow)?;
            let (amount, _) = tables.amount_and_name(&row);
            txn.update(0, key, tables.account(amount, format!("name {name}").as_bytes())).await
        };
        let outcome = change.await;
        ended(txn, outcome).await?;
        say("done");
        Ok(())
    }

    async fn lists(&mut self, member: &Member, tables: &Tables) -> Result<()> {
        self.last += 1;
        let number = self.last;
        let tell = |step| say(&line(number, &step));
        tell(Step::Begin(now()));
        let class = match self.random.below(5) {
            0 => Class::ReadOnly,
            _ => Class::ReadWrite,
        };
        let mut txn = begin(tables, member, class).await?;
        let mut ops = Vec::new();
        let change = self.lists_of(&mut txn, tables, class, &mut ops).await;
        tell(Step::Ops(&ops));
        let outcome = ended(txn, change).await;
        let end = match &outcome {
            Ok(()) => End::Committed,
            Err(SharedError::Conflict) => End::Aborted,
            Err(_) => End::Unknown,
        };
        tell(Step::End(end, now()));
        outcome
    }

    async fn lists_of(
        &mut self,
        txn: &mut Transaction<&Node, &SharedTable>,
        tables: &Tables,
        class: Class,
        ops: &mut Vec<Op>,
    ) -> Result<()> {
        for _ in 0..1 + self.random.below(4) {
            let list = self.first_list + self.random.below(u64::from(LISTS)) as u32;
            let row = txn.get(1, u64::from(list)).await?;
            let mut elements = tables.elements(row.as_ref());
            if elements.len() >= ELEMENTS {
                self.first_list = self.first_list.max(list + 1);
            }
            if class == Class::ReadOnly || self.random.chance(50) {
                ops.push(Op::Read(Key(list), elements));
                continue;
            }
            self.element += 1;
            let element = Element(self.number << 20 | self.element);
            ops.push(Op::Append(Key(list), element));
            elements.push(element);
            let tuple = tables.list(&elements);
            match row {
                None => txn.insert(1, u64::from(list), tuple).await?,
                Some(_) => txn.update(1, u64::from(list), tuple).await?,
            }
        }
        Ok(())
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

/// Lists in the end, up to `last`; looks at accounts and their index.
pub(crate) fn audit(addresses: &Addresses, last: u32) -> BTreeMap<Key, Vec<Element>> {
    let deadline = Instant::now() + addresses.patience;
    loop {
        let member = join(addresses);
        match member.run(audit_once(&member, last)) {
            Ok(Some(lists)) => return lists,
            // Dead nodes are not recovered yet, or this one came in too early.
            Ok(None) | Err(SharedError::Stopped) => (),
            Err(error) => panic!("{error}"),
        }
        assert!(Instant::now() < deadline, "what dead nodes had open stays open");
        thread::sleep(Duration::from_millis(100));
    }
}

async fn audit_once(member: &Member, last: u32) -> Result<Option<BTreeMap<Key, Vec<Element>>>> {
    let tables = Tables::open(member.node(), &[]).await?;
    let mut txn = begin(&tables, member, Class::ReadWrite).await?;
    let snapshot = txn.snapshot();
    if snapshot.base().0 + 1 != snapshot.version().0 {
        txn.abort().await?;
        return Ok(None);
    }
    let (mut sum, mut names) = (0, BTreeSet::new());
    for key in 0..ACCOUNTS {
        let row = txn.get(0, key).await?.expect("an account");
        let (amount, name) = tables.amount_and_name(&row);
        assert_eq!(txn.look_up(0, 0, &[Value::Str(name[..].into())]).await?, [key]);
        sum += amount;
        names.insert(name);
    }
    assert_eq!(sum, AMOUNT * ACCOUNTS as i64, "money");
    assert_eq!(names.len() as u64, ACCOUNTS, "names");
    let mut lists = BTreeMap::new();
    for list in 0..=last {
        let row = txn.get(1, u64::from(list)).await?;
        lists.insert(Key(list), tables.elements(row.as_ref()));
    }
    txn.abort().await?;
    let shape = tables.accounts.indexes()[0].tree().check().await?;
    let holds = |entry: &&(Vec<u8>, u64)| entry.0.ends_with(&u64::MAX.to_be_bytes());
    let entries = shape.entries.iter().filter(holds).count();
    assert_eq!(entries as u64, ACCOUNTS, "entries of the index");
    Ok(Some(lists))
}
