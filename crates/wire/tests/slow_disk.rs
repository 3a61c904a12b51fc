//! A disk that stalls: answers come late, all of them.

mod support;

use std::sync::Arc;
use std::time::Duration;

use engine::{Database, Files};
use host::{SimIo, Tear};

use support::{config, options, query, serve};

/// How many clients a disk lets wait for how long. First until the server takes a connection for an
/// idle one, then until it takes a thread that does nothing for one that is not needed.
const STALLS: [(usize, Duration); 2] =
    [(4, Duration::from_millis(400)), (1, Duration::from_millis(2400))];

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
    for (count, stall) in STALLS {
        let held = disk.hold_syncs();
        for client in &mut clients[..count] {
            client.send(&query("insert into t values (1)"));
        }
        std::thread::sleep(stall);
        // Who writes nothing is served meanwhile.
        control.send(&query("select 1"));
        assert_eq!(control.kinds(), "TDCZI");
        drop(held);
        for client in &mut clients[..count] {
            assert_eq!(client.kinds(), "CZI", "{count} clients");
        }
    }
    control.send(&query("select 1 from t"));
    assert_eq!(control.kinds(), "TDDDDDCZI");
}
