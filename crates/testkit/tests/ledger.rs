//! The ledger in SQL, on PostgreSQL: the statements and the audit, without a kill.
#![cfg(feature = "slt")]

use std::path::Path;
use std::sync::Mutex;

use testkit::postgres::Postgres;
use testkit::slt::{Backend, Connection, Database, SqlError};
use testkit::torture::Workload;
use testkit::torture::ledger::{Durability, Ledger, LedgerStore, Transfer};
use testkit::torture::sql::SqlLedger;

/// Lends one database again and again.
struct Lent(std::sync::Arc<dyn Database>);

impl Database for Lent {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        self.0.connect()
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        self.0.waiting()
    }
}

#[test]
#[ignore = "needs PostgreSQL: run with --ignored"]
fn transfers_and_their_detours_add_up() {
    let server = Postgres::start().expect("it starts");
    let database: std::sync::Arc<dyn Database> = server.create().expect("it is made").into();
    let lent = std::sync::Arc::clone(&database);
    let open =
        move |_: &Path| Ok(Box::new(Lent(std::sync::Arc::clone(&lent))) as Box<dyn Database>);
    let store = SqlLedger { open: Box::new(open), greeting: None, check: None };
    let durability = Durability::Synchronous;
    let ledger = Ledger { store: &store, durability, accounts: 20, sessions: 4, seed: 1 };
    let here = Path::new("");
    let opened = store.open(here, ledger.accounts).expect("the tables are made");
    let lines = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for session in 0..ledger.sessions {
            let (opened, lines, ledger) = (&opened, &lines, &ledger);
            scope.spawn(move || {
                let mut connection = opened.session().expect("it connects");
                for number in 0..100 {
                    let transfer = Transfer::of(ledger, session, number);
                    connection.transfer(&transfer).expect("it commits");
                    lines.lock().expect("no panic").push(transfer.line());
                }
            });
        }
    });
    let mut lines = lines.into_inner().expect("no panic");
    ledger.verify(here, &lines, 0).expect("all is there");
    lines.push(Transfer::of(&ledger, 0, 100).line());
    let lost = ledger.verify(here, &lines, 0).expect_err("the last was never made");
    assert!(lost.contains("lost"), "{lost}");
    let mut connection = database.connect().expect("it connects");
    connection.run("UPDATE accounts SET balance = balance + 1 WHERE id = 3").expect("it runs");
    lines.pop();
    let partial = ledger.verify(here, &lines, 0).expect_err("one side of a transfer");
    assert!(partial.contains("accounts and journal"), "{partial}");
}
