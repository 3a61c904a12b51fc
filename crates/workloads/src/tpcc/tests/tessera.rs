//! Tessera: native and SQL transactions answer alike, and keep the conditions side by side.

use engine::{Config, Database};

use super::super::driver::{self, Length, Plan, System};
use super::super::tessera::{Tessera, TesseraSql, Waits};
use super::super::*;
use super::{SEED, quiet, stopped_clock};

fn loaded(scale: &Scale) -> Database {
    let database = Database::open_in_memory(Config::default()).unwrap();
    load(&database, scale, SEED, &database.session().cancel_handle(), &quiet()).unwrap();
    let mut session = database.session();
    create_indexes().iter().for_each(|sql| drop(session.execute(sql).unwrap()));
    database
}

fn assert_conditions(database: &Database, scale: &Scale) {
    let mut session = database.session();
    let query = |sql: &str| -> Result<i64> {
        let rows = session.execute(sql)?.text_rows();
        Ok(rows[0][0].as_ref().unwrap().parse().unwrap())
    };
    assert_eq!(violations(scale, query).unwrap(), []);
    assert_eq!(database.check_indexes().problems, [""; 0]);
}

#[test]
fn native_and_sql_transactions_on_tessera_leave_the_same_rows() {
    let scale = Scale::tiny(2);
    let (by_call, by_sql) = (loaded(&scale), loaded(&scale));
    let native = Tessera::new(&by_call, Waits::No).unwrap();
    let sql = TesseraSql::new(&by_sql, Waits::No);
    let mut workers: Vec<Inputs> =
        (0..2).map(|worker| Inputs::new(&scale, SEED, 1, worker, stopped_clock)).collect();
    let both = |native: &mut dyn Terminal, sql: &mut dyn Terminal| {
        for i in 0..600 {
            let input = workers[i % 2].next_input();
            assert_eq!(answer(native, &input)?, answer(sql, &input)?, "{input:?}");
        }
        Ok(())
    };
    let mut both = both;
    native
        .with_terminal(0, &mut |native| sql.with_terminal(0, &mut |sql| both(native, sql)))
        .unwrap();
    let (mut a, mut b) = (by_call.session(), by_sql.session());
    for table in Table::ALL {
        let order: Vec<String> = (1..=table.columns().len()).map(|i| i.to_string()).collect();
        let sql = format!("SELECT * FROM {} ORDER BY {}", table.name(), order.join(", "));
        let (a, b) = (a.execute(&sql).unwrap(), b.execute(&sql).unwrap());
        assert_eq!(a.text_rows(), b.text_rows(), "{table:?}");
    }
    assert_conditions(&by_call, &scale);
    assert_conditions(&by_sql, &scale);
}

#[test]
fn workers_on_tessera_keep_the_conditions() {
    let scale = Scale::tiny(1);
    let database = loaded(&scale);
    let length = Length::Count(100);
    let plan = Plan { scale, seed: SEED, run: 1, workers: 3, length };
    driver::run(&TesseraSql::new(&database, Waits::No), &plan).unwrap();
    assert_conditions(&database, &scale);
    let plan = Plan { run: 2, length: Length::Count(400), ..plan };
    driver::run(&Tessera::new(&database, Waits::No).unwrap(), &plan).unwrap();
    assert_conditions(&database, &scale);
}
