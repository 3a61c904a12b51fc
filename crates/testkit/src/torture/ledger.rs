//! The ledger: transfers between accounts, each with a row in a journal.
//!
//! ```text
//! (seed, session, number) -> Transfer, always the same
//! accounts = first balances + journal      journal of a session = numbers 0 .. n, no gaps
//! acknowledged <= journal <= acknowledged + one for each session and kill
//! ```
//! So the state after a crash is known but for the transactions that were in flight.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Acknowledge, Workload};
use crate::Random;

/// Balance of each account in the beginning.
pub const FIRST_BALANCE: i64 = 1000;

/// Writes besides the transfer itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detour {
    /// Nothing.
    None,
    /// The source account is deleted and inserted again.
    Reinsert,
    /// Changes that a savepoint takes back.
    Savepoint,
    /// The transaction is done, rolled back, and done again.
    Rollback,
}

/// One transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// Which session does it.
    pub session: u32,
    /// The how-manieth of that session, from 0.
    pub number: u32,
    /// The account that pays.
    pub source: u32,
    /// The account that gets.
    pub target: u32,
    /// How much.
    pub amount: i64,
}

impl Transfer {
    /// The transfer with this number: a function of nothing else.
    pub fn of(ledger: &Ledger<'_>, session: u32, number: u32) -> Self {
        let place = u64::from(session) << 32 | u64::from(number);
        let mut random = Random::new(ledger.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let accounts = u64::from(ledger.accounts);
        let source = random.below(accounts);
        let target = (source + 1 + random.below(accounts - 1)) % accounts;
        let amount = 1 + random.below(100) as i64;
        let (source, target) = (source as u32, target as u32);
        Self { session, number, source, target, amount }
    }

    /// Further writes of its transaction.
    pub fn detour(&self) -> Detour {
        match self.number % 10 {
            7 => Detour::Reinsert,
            8 => Detour::Savepoint,
            9 => Detour::Rollback,
            _ => Detour::None,
        }
    }

    /// As a line of acknowledgement.
    pub fn line(&self) -> String {
        let Self { session, number, source, target, amount } = self;
        format!("{session} {number} {source} {target} {amount}")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        Some(Self {
            session: fields.next()?.parse().ok()?,
            number: fields.next()?.parse().ok()?,
            source: fields.next()?.parse().ok()?,
            target: fields.next()?.parse().ok()?,
            amount: fields.next()?.parse().ok()?,
        })
    }
}

/// Contents of a database, read in two ways.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Account and balance by a scan, in order of accounts.
    pub accounts: Vec<(u32, i64)>,
    /// The same by an index.
    pub accounts_by_index: Vec<(u32, i64)>,
    /// The journal by a scan, in order of session and number.
    pub journal: Vec<Transfer>,
    /// The same by an index.
    pub journal_by_index: Vec<Transfer>,
    /// Damage of files and indexes that the database itself finds.
    pub problems: Vec<String>,
}

/// A database system that can keep a ledger.
pub trait LedgerStore: Sync {
    /// Opens the database in `directory`, or makes it with `accounts` accounts.
    ///
    /// # Errors
    /// Errors of the database.
    fn open(&self, directory: &Path, accounts: u32) -> Result<Box<dyn OpenLedger>, String>;
}

/// An open database.
pub trait OpenLedger: Sync {
    /// A new session.
    ///
    /// # Errors
    /// Errors of the database.
    fn session(&self) -> Result<Box<dyn LedgerSession>, String>;

    /// Everything in it.
    ///
    /// # Errors
    /// Errors of the database.
    fn audit(&self) -> Result<Audit, String>;
}

/// One session.
pub trait LedgerSession: Send {
    /// Makes the transfer and its detour in one transaction, as often as it takes; returns when
    /// the commit is acknowledged.
    ///
    /// # Errors
    /// Errors of the database, but for conflicts.
    fn transfer(&mut self, transfer: &Transfer) -> Result<(), String>;
}

/// Durability of an acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The commit may not vanish.
    Synchronous,
    /// The commit may vanish, but then everything after it, too.
    Asynchronous,
}

/// The workload.
pub struct Ledger<'a> {
    /// Where it is kept.
    pub store: &'a dyn LedgerStore,
    /// Durability that the store promises.
    pub durability: Durability,
    /// How many accounts there are.
    pub accounts: u32,
    /// How many sessions.
    pub sessions: u32,
    /// Which transfers they make.
    pub seed: u64,
}

impl Workload for Ledger<'_> {
    fn run(&self, directory: &Path, acknowledge: &Acknowledge<'_>) -> Result<(), String> {
        let open = self.store.open(directory, self.accounts)?;
        let journal = open.audit()?.journal;
        let next = |session| journal.iter().filter(|t| t.session == session).count() as u32;
        let mut sessions = Vec::new();
        for session in 0..self.sessions {
            sessions.push((open.session()?, session, next(session)));
        }
        std::thread::scope(|scope| {
            let run = |(mut connection, session, first): (Box<dyn LedgerSession>, u32, u32)| {
                scope.spawn(move || -> Result<(), String> {
                    for number in first.. {
                        let transfer = Transfer::of(self, session, number);
                        connection.transfer(&transfer)?;
                        acknowledge(&transfer.line());
                    }
                    Ok(())
                })
            };
            let threads: Vec<_> = sessions.into_iter().map(run).collect();
            let join = |result: std::thread::Result<_>| {
                result.unwrap_or_else(|_| Err("a session panicked".into()))
            };
            threads.into_iter().try_for_each(|thread| join(thread.join()))
        })
    }

    fn verify(&self, directory: &Path, lines: &[String], kills: usize) -> Result<(), String> {
        let parse = |line: &String| Transfer::parse(line).ok_or(format!("not a line: {line}"));
        let acknowledged: Vec<Transfer> = lines.iter().map(parse).collect::<Result<_, _>>()?;
        let audit = self.store.open(directory, self.accounts)?.audit()?;
        if let Some(problem) = audit.problems.first() {
            return Err(problem.clone());
        }
        self.verify_journal(&audit, &acknowledged, kills)?;
        self.verify_accounts(&audit)?;
        if audit.accounts != audit.accounts_by_index {
            return Err(differ("accounts", &audit.accounts, &audit.accounts_by_index));
        }
        if audit.journal != audit.journal_by_index {
            return Err(differ("journal", &audit.journal, &audit.journal_by_index));
        }
        Ok(())
    }
}

impl Ledger<'_> {
    /// No transfer lost, none invented, none without the ones before it.
    fn verify_journal(
        &self,
        audit: &Audit,
        acknowledged: &[Transfer],
        kills: usize,
    ) -> Result<(), String> {
        for session in 0..self.sessions {
            let of_session = |t: &&Transfer| t.session == session;
            let kept: Vec<&Transfer> = audit.journal.iter().filter(of_session).collect();
            for (number, transfer) in (0..).zip(&kept) {
                let right = Transfer::of(self, session, number);
                if **transfer != right {
                    return Err(format!("journal: {transfer:?} in the place of {right:?}"));
                }
            }
            let promised = acknowledged.iter().filter(of_session);
            let promised = promised.map(|t| t.number as usize + 1).max().unwrap_or(0);
            if self.durability == Durability::Synchronous && kept.len() < promised {
                let lost = Transfer::of(self, session, kept.len() as u32);
                return Err(format!("lost: {lost:?}, {promised} were acknowledged"));
            }
            if kept.len() > promised + kills {
                let count = kept.len();
                return Err(format!("session {session}: {count} rows, {promised} acknowledged"));
            }
        }
        let foreign = audit.journal.iter().find(|t| t.session >= self.sessions);
        foreign.map_or(Ok(()), |transfer| Err(format!("nobody made {transfer:?}")))
    }

    /// Balances are what the journal makes of the first ones.
    fn verify_accounts(&self, audit: &Audit) -> Result<(), String> {
        let first = (0..self.accounts).map(|account| (account, FIRST_BALANCE));
        let mut balances: BTreeMap<u32, i64> = first.collect();
        for transfer in &audit.journal {
            *balances.entry(transfer.source).or_default() -= transfer.amount;
            *balances.entry(transfer.target).or_default() += transfer.amount;
        }
        let expected: Vec<(u32, i64)> = balances.into_iter().collect();
        if expected == audit.accounts {
            Ok(())
        } else {
            Err(differ("accounts and journal", &audit.accounts, &expected))
        }
    }
}

/// The first difference of two lists.
fn differ<T: std::fmt::Debug + PartialEq>(what: &str, left: &[T], right: &[T]) -> String {
    let at = left.iter().zip(right).position(|(left, right)| left != right);
    let at = at.unwrap_or(left.len().min(right.len()));
    format!("{what} differ at {at}: {:?} and {:?}", left.get(at), right.get(at))
}
