//! PostgreSQL's functions and statements answer as SQLite does, and keep the conditions.

use workloads::tpcc::sqlite::Sqlite;
use workloads::tpcc::{Inputs, LOADED, Scale, answer, violations};

use super::super::{Durability, Interface, Measured, ScratchFile};
use super::PostgresSystem;
use workloads::tpcc::driver::System;

const SEED: u64 = 7;

fn stopped_clock() -> i64 {
    LOADED + 1
}

/// Both interfaces in one test: a process has room for one server.
#[test]
fn answers_equal_those_of_sqlite() {
    let scale = Scale::tiny(2);
    for interface in [Interface::Native, Interface::Sql] {
        let file = ScratchFile::new().expect("the target directory can be written");
        let sqlite = Sqlite::create(&file.0, Durability::Async, &scale, SEED).expect("it loads");
        let server = PostgresSystem::create(Durability::Async, interface, &scale, SEED)
            .expect("PostgreSQL is installed");
        let mut inputs = Inputs::new(&scale, SEED, 1, 0, stopped_clock);
        let compared = sqlite.with_terminal(0, &mut |theirs| {
            server.with_terminal(0, &mut |ours| {
                for _ in 0..1000 {
                    let input = inputs.next_input();
                    assert_eq!(answer(ours, &input)?, answer(theirs, &input)?, "{input:?}");
                }
                Ok(())
            })
        });
        compared.expect("all transactions run");
        let broken = violations(&scale, |sql| server.integer(sql)).expect("the queries run");
        assert_eq!(broken, [], "{interface:?}");
    }
}
