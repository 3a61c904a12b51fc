//! Foreign keys between shared tables, with real processes: of a transaction that takes a row away
//! and one that begins to refer to it, on whatever nodes, one fails.

#[path = "shared_sql/cluster.rs"]
mod cluster;
#[path = "shared_sql/statements.rs"]
mod statements;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use cluster::{Cluster, client};
use statements::{run, state, value};
use testkit::Random;

/// Rows of the child that refer to nothing.
const ORPHANS: &str =
    "SELECT count(*) FROM child c WHERE p IS NOT NULL AND NOT EXISTS (SELECT FROM parent p
     WHERE p.id = c.p)";

#[test]
fn of_a_row_that_goes_and_one_that_refers_to_it_one_stays() {
    let cluster = Cluster::start("references", 2);
    let (one, two) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&one), client(&two));
    run(&mut a, "CREATE TABLE parent (id int PRIMARY KEY, v int)");
    run(&mut b, "CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent)");
    run(&mut a, "INSERT INTO parent VALUES (1, 0), (2, 0), (3, 0), (4, 0)");

    // Either order of the commits.
    run(&mut a, "BEGIN; DELETE FROM parent WHERE id = 1");
    run(&mut b, "BEGIN; INSERT INTO child VALUES (1, 1)");
    run(&mut a, "COMMIT");
    assert_eq!(state(&mut b, "COMMIT"), "40001");
    assert_eq!(state(&mut b, "INSERT INTO child VALUES (1, 1)"), "23503");
    run(&mut a, "BEGIN; DELETE FROM parent WHERE id = 2");
    run(&mut b, "BEGIN; INSERT INTO child VALUES (2, 2)");
    run(&mut b, "COMMIT");
    assert_eq!(state(&mut a, "COMMIT"), "40001");
    assert_eq!(state(&mut a, "DELETE FROM parent WHERE id = 2"), "23503");
    // A key that changes is one that goes.
    run(&mut a, "BEGIN; UPDATE parent SET id = 30 WHERE id = 3");
    run(&mut b, "BEGIN; UPDATE child SET p = 3 WHERE id = 2; COMMIT");
    assert_eq!(state(&mut a, "COMMIT"), "40001");
    // Who refers to a row is in nobody's way who refers to it, too, or changes other columns.
    run(&mut a, "BEGIN; INSERT INTO child VALUES (10, 4)");
    run(&mut b, "BEGIN; INSERT INTO child VALUES (11, 4)");
    let mut c = client(&one);
    run(&mut c, "UPDATE parent SET v = v + 1 WHERE id = 4");
    run(&mut a, "COMMIT");
    run(&mut b, "COMMIT");
    // What comes to nothing leaves nothing.
    run(&mut a, "BEGIN; DELETE FROM child WHERE p = 4; DELETE FROM parent WHERE id = 4; ROLLBACK");
    run(&mut b, "INSERT INTO child VALUES (12, 4)");
    assert_eq!(value(&mut a, ORPHANS), "0");

    // A definition waits for those that do not know it.
    run(&mut a, "CREATE TABLE late (id int PRIMARY KEY)");
    run(&mut a, "INSERT INTO late VALUES (1), (2)");
    run(&mut b, "BEGIN; DELETE FROM late WHERE id = 1");
    run(&mut a, "SET lock_timeout = '200ms'");
    assert_eq!(state(&mut a, "CREATE TABLE later (p int REFERENCES late)"), "55P03");
    run(&mut b, "COMMIT");
    run(&mut a, "CREATE TABLE later (p int REFERENCES late); INSERT INTO later VALUES (2)");
    assert_eq!(state(&mut b, "DELETE FROM late"), "23503");
}

#[test]
fn nothing_refers_to_nothing_whatever_runs_at_once() {
    let cluster = Cluster::start("orphans", 2);
    let nodes = [cluster.node(), cluster.node()];
    let mut a = client(&nodes[0]);
    run(&mut a, "CREATE TABLE parent (id int PRIMARY KEY, v int)");
    run(&mut a, "CREATE TABLE child (id serial PRIMARY KEY, p int REFERENCES parent)");
    run(
        &mut a,
        "CREATE TABLE gone (id serial PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE)",
    );
    run(&mut a, "INSERT INTO parent SELECT i, 0 FROM generate_series(1, 6) i");
    let (is_over, counts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let worker = |number: u64| {
        let mut client = client(&nodes[number as usize % 2]);
        let (is_over, counts) = (Arc::clone(&is_over), Arc::clone(&counts));
        thread::spawn(move || {
            let mut random = Random::new(number);
            while !is_over.load(Ordering::Relaxed) {
                let id = 1 + random.below(6);
                let statement = match random.below(6) {
                    0 => format!("INSERT INTO parent VALUES ({id}, 0) ON CONFLICT DO NOTHING"),
                    1 => format!("DELETE FROM parent WHERE id = {id}"),
                    2 => format!("INSERT INTO child (p) VALUES ({id})"),
                    3 => format!("INSERT INTO gone (p) VALUES ({id})"),
                    4 => format!("DELETE FROM child WHERE p = {id}"),
                    _ => format!(
                        "BEGIN; DELETE FROM child WHERE p = {id}; DELETE FROM parent WHERE id = \
                         {id}; COMMIT"
                    ),
                };
                match client.batch_execute(&statement) {
                    Ok(()) => drop(counts.fetch_add(1, Ordering::Relaxed)),
                    Err(error) => {
                        let state = error.code().map(|code| code.code().to_owned());
                        let known = ["40001", "23503", "23505"].map(|state| Some(state.to_owned()));
                        assert!(known.contains(&state), "{statement}: {error}");
                        run(&mut client, "ROLLBACK");
                    }
                }
            }
        })
    };
    let workers: Vec<_> = (0..4).map(worker).collect();
    while counts.load(Ordering::Relaxed) < 600 {
        assert!(workers.iter().all(|worker| !worker.is_finished()), "a worker failed");
        for table in ["child", "gone"] {
            let query = ORPHANS.replace("child", table);
            assert_eq!(value(&mut a, &query), "0", "{table}");
        }
    }
    is_over.store(true, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().expect("it has no errors"));
    for table in ["child", "gone"] {
        assert_eq!(value(&mut a, &ORPHANS.replace("child", table)), "0", "{table}");
    }
}
