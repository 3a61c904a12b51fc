//! The ledger in the tables of an SQL database.
//!
//! ```text
//! accounts(id primary key, branch indexed, balance)
//! journal(session, number, source indexed, target, amount, primary key (session, number))
//! ```

use std::path::Path;

use super::ledger::{
    Audit, Detour, FIRST_BALANCE, LedgerSession, LedgerStore, OpenLedger, Transfer,
};
use crate::slt::{Answer, Connection, Database, SqlError};

/// Opens the database in a directory.
pub type Open = dyn Fn(&Path) -> Result<Box<dyn Database>, SqlError> + Sync;

/// An SQL database as a store of ledgers.
pub struct SqlLedger {
    /// Opens it; makes it when there is none.
    pub open: Box<Open>,
    /// First statement of each new session: `SET synchronous_commit = off`, or none.
    pub greeting: Option<String>,
    /// A query for what the database finds wrong with itself, one text a row, if it has one.
    pub check: Option<String>,
}

/// Made in one transaction, so that a kill leaves all or nothing.
const TABLES: [&str; 4] = [
    "CREATE TABLE accounts (id integer PRIMARY KEY, branch integer, balance bigint NOT NULL)",
    "CREATE INDEX accounts_branch ON accounts (branch)",
    "CREATE TABLE journal (session integer, number integer, source integer, target integer, \
     amount bigint, PRIMARY KEY (session, number))",
    "CREATE INDEX journal_source ON journal (source)",
];

impl LedgerStore for SqlLedger {
    fn open(&self, directory: &Path, accounts: u32) -> Result<Box<dyn OpenLedger>, String> {
        let database = (self.open)(directory).map_err(|error| error.to_string())?;
        let ledger =
            OpenSql { database, greeting: self.greeting.clone(), check: self.check.clone() };
        let mut session = ledger.connect()?;
        match session.connection.run("SELECT 1 FROM accounts WHERE id = 0") {
            Ok(_) => {}
            Err(error) if error.sqlstate == "42P01" => {
                session.run("BEGIN")?;
                TABLES.iter().try_for_each(|sql| session.run(sql).map(drop))?;
                session.run(&format!(
                    "INSERT INTO accounts SELECT i, i % 10, {FIRST_BALANCE} \
                     FROM generate_series(0, {}) g(i)",
                    accounts - 1
                ))?;
                session.run("COMMIT")?;
            }
            Err(error) => return Err(error.to_string()),
        }
        Ok(Box::new(ledger))
    }
}

struct OpenSql {
    database: Box<dyn Database>,
    greeting: Option<String>,
    check: Option<String>,
}

impl OpenSql {
    fn connect(&self) -> Result<SqlSession, String> {
        let connection = self.database.connect().map_err(|error| error.to_string())?;
        let mut session = SqlSession { connection };
        if let Some(greeting) = &self.greeting {
            session.run(greeting)?;
        }
        Ok(session)
    }
}

impl OpenLedger for OpenSql {
    fn session(&self) -> Result<Box<dyn LedgerSession>, String> {
        Ok(Box::new(self.connect()?))
    }

    fn audit(&self) -> Result<Audit, String> {
        let mut session = self.connect()?;
        let accounts = session.numbers("SELECT id, balance FROM accounts ORDER BY id")?;
        let mut by_index = Vec::new();
        for &(id, _) in &pairs(&accounts) {
            let sql = format!("SELECT id, balance FROM accounts WHERE id = {id}");
            by_index.extend(session.numbers(&sql)?);
        }
        let mut by_branch = Vec::new();
        for branch in 0..10 {
            let sql = format!("SELECT id, balance FROM accounts WHERE branch = {branch}");
            by_branch.extend(session.numbers(&sql)?);
        }
        by_branch.sort();
        let mut problems = Vec::new();
        if by_branch != accounts {
            problems.push("accounts: the index on branch differs from the table".to_owned());
        }
        let all = "SELECT session, number, source, target, amount FROM journal";
        let journal = session.numbers(&format!("{all} ORDER BY session, number"))?;
        let mut journal_by_index = Vec::new();
        for &(account, _) in &pairs(&accounts) {
            journal_by_index.extend(session.numbers(&format!("{all} WHERE source = {account}"))?);
        }
        journal_by_index.sort();
        if let Some(check) = &self.check {
            problems.extend(session.texts(check)?.into_iter().flatten());
        }
        Ok(Audit {
            accounts: pairs(&accounts),
            accounts_by_index: pairs(&by_index),
            journal: transfers(&journal),
            journal_by_index: transfers(&journal_by_index),
            problems,
        })
    }
}

fn pairs(rows: &[Vec<i64>]) -> Vec<(u32, i64)> {
    rows.iter().map(|row| (row[0] as u32, row[1])).collect()
}

fn transfers(rows: &[Vec<i64>]) -> Vec<Transfer> {
    let transfer = |row: &Vec<i64>| Transfer {
        session: row[0] as u32,
        number: row[1] as u32,
        source: row[2] as u32,
        target: row[3] as u32,
        amount: row[4],
    };
    rows.iter().map(transfer).collect()
}

struct SqlSession {
    connection: Box<dyn Connection>,
}

impl SqlSession {
    fn run(&mut self, sql: &str) -> Result<Answer, String> {
        self.connection.run(sql).map_err(|error| format!("{sql}: {error}"))
    }

    fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let Answer::Rows { rows, .. } = self.run(sql)? else { return Ok(Vec::new()) };
        Ok(rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect())
    }

    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>, String> {
        let number = |text: String| text.parse().map_err(|_| format!("{sql}: {text}"));
        let row = |row: Vec<String>| row.into_iter().map(number).collect();
        self.texts(sql)?.into_iter().map(row).collect()
    }

    /// The statements of a transaction, up to but without its end.
    fn body(&mut self, transfer: &Transfer) -> Result<(), SqlError> {
        let Transfer { session, number, source, target, amount } = transfer;
        let mut run = |sql: String| self.connection.run(&sql).map(drop);
        run("BEGIN".into())?;
        match transfer.detour() {
            Detour::Savepoint => {
                run("SAVEPOINT detour".into())?;
                run(format!("UPDATE accounts SET balance = 0, branch = 5 WHERE id = {source}"))?;
                run(format!("DELETE FROM accounts WHERE id = {target}"))?;
                run(format!("INSERT INTO journal VALUES ({session}, -1, 0, 0, 0)"))?;
                run("ROLLBACK TO detour".into())?;
            }
            Detour::Reinsert => {
                let row = format!("SELECT balance FROM accounts WHERE id = {source} FOR UPDATE");
                let balance = match self.connection.run(&row)? {
                    Answer::Rows { rows, .. } => rows.into_iter().flatten().flatten().next(),
                    Answer::Done(_) => None,
                };
                let balance = balance.ok_or_else(gone)?;
                let mut run = |sql: String| self.connection.run(&sql).map(drop);
                run(format!("DELETE FROM accounts WHERE id = {source}"))?;
                run(format!("INSERT INTO accounts VALUES ({source}, {}, {balance})", source % 10))?;
            }
            Detour::None | Detour::Rollback => {}
        }
        for (account, change) in [(source, -amount), (target, *amount)] {
            let update =
                format!("UPDATE accounts SET balance = balance + {change} WHERE id = {account}");
            if self.connection.run(&update)? != Answer::Done(1) {
                return Err(gone());
            }
        }
        let mut run = |sql: String| self.connection.run(&sql).map(drop);
        run(format!(
            "INSERT INTO journal VALUES ({session}, {number}, {source}, {target}, {amount})"
        ))
    }

    fn attempt(&mut self, transfer: &Transfer) -> Result<(), SqlError> {
        if transfer.detour() == Detour::Rollback {
            self.body(transfer)?;
            self.connection.run("ROLLBACK")?;
        }
        self.body(transfer)?;
        self.connection.run("COMMIT").map(drop)
    }
}

/// At READ COMMITTED who waits for a row that is deleted and inserted again finds none.
fn gone() -> SqlError {
    SqlError { sqlstate: "40001".into(), message: "an account is being inserted again".into() }
}

impl LedgerSession for SqlSession {
    fn transfer(&mut self, transfer: &Transfer) -> Result<(), String> {
        loop {
            match self.attempt(transfer) {
                Ok(()) => return Ok(()),
                Err(error) if ["40001", "40P01"].contains(&error.sqlstate.as_str()) => {
                    self.run("ROLLBACK")?;
                }
                Err(error) => return Err(format!("{transfer:?}: {error}")),
            }
        }
    }
}
