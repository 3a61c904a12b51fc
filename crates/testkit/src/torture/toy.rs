//! A ledger in one file, right or wrong on purpose: what the harness is tried on.
//!
//! ```text
//! record: session number source target amount checksum, one line     replayed when opened
//! ```
//! Invariant of the right one: a transfer is one write, and a torn last line is cut off.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use super::ledger::{Audit, FIRST_BALANCE, LedgerSession, LedgerStore, OpenLedger, Transfer};

/// Fault of a toy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The toy acknowledges commits that it has not written.
    Lost,
    /// The toy writes the two sides of a transfer one after the other, and replays halves.
    Partial,
    /// Its index misses what was replayed.
    StaleIndex,
}

/// Writes that the faulty toy keeps to itself.
const HELD_BACK: usize = 8;

/// The toy as a database system.
pub struct Toy(pub Fault);

/// Account and amount: half a transfer each.
type Half = (u32, i64);

struct State {
    file: File,
    held_back: Vec<u8>,
    held_count: usize,
    journal: Vec<Transfer>,
    journal_index: BTreeMap<(u32, u32), Transfer>,
    balances: BTreeMap<u32, i64>,
    fault: Fault,
}

struct OpenToy(Arc<Mutex<State>>);

impl LedgerStore for Toy {
    fn open(&self, directory: &Path, accounts: u32) -> Result<Box<dyn OpenLedger>, String> {
        let text = |error: std::io::Error| error.to_string();
        fs::create_dir_all(directory).map_err(text)?;
        let path = directory.join("toy");
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(&path).map_err(text)?;
        let content = fs::read_to_string(&path).map_err(text)?;
        let mut state = State {
            file,
            held_back: Vec::new(),
            held_count: 0,
            journal: Vec::new(),
            journal_index: BTreeMap::new(),
            balances: (0..accounts).map(|account| (account, FIRST_BALANCE)).collect(),
            fault: self.0,
        };
        let whole = content.rfind('\n').map_or(0, |end| end + 1);
        // Only this process has the file, and what it cuts off was never acknowledged.
        state.file.set_len(whole as u64).map_err(text)?;
        content[..whole].lines().for_each(|line| state.replay(line));
        Ok(Box::new(OpenToy(Arc::new(Mutex::new(state)))))
    }
}

impl State {
    fn replay(&mut self, line: &str) {
        let numbers: Vec<i64> = line.split(' ').filter_map(|field| field.parse().ok()).collect();
        match numbers[..] {
            [session, number, source, target, amount] => {
                let transfer = Transfer {
                    session: session as u32,
                    number: number as u32,
                    source: source as u32,
                    target: target as u32,
                    amount,
                };
                self.journal.push(transfer);
                if self.fault != Fault::StaleIndex {
                    self.journal_index.insert((transfer.session, transfer.number), transfer);
                }
                if self.fault != Fault::Partial {
                    self.pay((transfer.source, -amount));
                    self.pay((transfer.target, amount));
                }
            }
            [account, amount] => self.pay((account as u32, amount)),
            _ => {}
        }
    }

    fn pay(&mut self, (account, amount): Half) {
        *self.balances.entry(account).or_default() += amount;
    }

    fn write(&mut self, transfer: &Transfer) -> std::io::Result<()> {
        let line = format!("{}\n", transfer.line());
        match self.fault {
            Fault::None | Fault::StaleIndex => self.file.write_all(line.as_bytes())?,
            Fault::Lost => {
                self.held_back.extend_from_slice(line.as_bytes());
                self.held_count += 1;
                if self.held_count == HELD_BACK {
                    self.held_count = 0;
                    self.file.write_all(&std::mem::take(&mut self.held_back))?;
                }
            }
            Fault::Partial => {
                let Transfer { source, target, amount, .. } = transfer;
                self.file.write_all(line.as_bytes())?;
                self.file.write_all(format!("{source} -{amount}\n").as_bytes())?;
                self.file.sync_data()?;
                self.file.write_all(format!("{target} {amount}\n").as_bytes())?;
            }
        }
        Ok(())
    }
}

fn lock(state: &Mutex<State>) -> Result<MutexGuard<'_, State>, String> {
    state.lock().map_err(|_| "a session panicked".to_owned())
}

impl OpenLedger for OpenToy {
    fn session(&self) -> Result<Box<dyn LedgerSession>, String> {
        Ok(Box::new(ToySession(Arc::clone(&self.0))))
    }

    fn audit(&self) -> Result<Audit, String> {
        let state = lock(&self.0)?;
        let mut journal = state.journal.clone();
        journal.sort();
        let accounts: Vec<(u32, i64)> = state.balances.clone().into_iter().collect();
        Ok(Audit {
            accounts_by_index: accounts.clone(),
            accounts,
            journal,
            journal_by_index: state.journal_index.values().copied().collect(),
            problems: Vec::new(),
        })
    }
}

struct ToySession(Arc<Mutex<State>>);

impl LedgerSession for ToySession {
    fn transfer(&mut self, transfer: &Transfer) -> Result<(), String> {
        // What is in memory does not matter: nobody reads it before the kill.
        lock(&self.0)?.write(transfer).map_err(|error| error.to_string())
    }
}
