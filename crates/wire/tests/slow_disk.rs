//! A disk that stalls: answers come late, all of them.

mod support;

use std::sync::Arc;
use std::time::Duration;

use engine::{Database, Files};
use support::{config, options, query, serve};
use txn::io::{SimIo, Tear};

/// Long enough for the server to take a connection for an idle one.
const STALL: Duration = Duration::from_millis(400);

#[test]
fn answers_outlast_a_disk_that_stalls() {
    let disk = SimIo::new(7, Tear::Sectors);
    let files = Files { io: Arc::new(disk.clone()), ..Files::default() };
    let database = Database::open_with("/data", config(), &files).expect("a new database");
    let server = serve(database, options());
    let mut control = server.seated();
    control.send(&query("create table t (a int)"));
    assert_eq!(control.kinds(), "CZI");
    let mut clients: Vec<_> = (0..4).map(|_| server.seated()).collect();
    for round in 0..2 {
        let held = disk.hold_syncs();
        for client in &mut clients {
            client.send(&query("insert into t values (1)"));
        }
        std::thread::sleep(STALL);
        // Who writes nothing is served meanwhile.
        control.send(&query("select 1"));
        assert_eq!(control.kinds(), "TDCZI");
        drop(held);
        for client in &mut clients {
            assert_eq!(client.kinds(), "CZI", "round {round}");
        }
    }
    control.send(&query("select 1 from t"));
    assert_eq!(control.kinds(), "TDDDDDDDDCZI");
}
