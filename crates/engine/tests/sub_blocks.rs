//! Indexes that frozen blocks have: which blocks they spare a scan, that they are there again when
//! a database was opened again, and that their memory is given back.

mod support;

use engine::{Config, Database, Session};
use storage::Layout;
use support::run;
use testkit::Scratch;

/// Paths of the scan as EXPLAIN ANALYZE shows them, without "paths=".
fn paths(session: &mut Session, sql: &str) -> String {
    let plan = run(session, &format!("EXPLAIN ANALYZE {sql}"));
    let scan = plan.iter().find(|line| line.contains("Scan")).expect("a scan");
    let found = scan.split("paths=").nth(1).and_then(|rest| rest.split([',', ')']).next());
    found.unwrap_or_default().to_owned()
}

const ROWS: &str = "SELECT i, (i * 7919) % 65537, (i * 7919) % 65537 * 1000000007, \
                    'text ' || i || ' that is long enough and never the same' \
                    FROM generate_series(1::bigint, 200000) AS g(i)";

fn config() -> Config {
    Config { threads: 2, memory_bytes: 1 << 30, layout: Layout::Auto }
}

#[test]
fn each_block_takes_its_own_path() {
    let database = Database::open_in_memory(config()).expect("opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (id bigint, a bigint, w bigint, s text)");
    run(&mut session, &format!("INSERT INTO t {ROWS}"));
    let few = "SELECT count(*) FROM t WHERE a < 20";
    let half = "SELECT count(*) FROM t WHERE a < 30000";
    let expected = [run(&mut session, few), run(&mut session, half)];
    assert_eq!(paths(&mut session, few), "", "nothing to tell without indexes");
    run(&mut session, "CREATE INDEX t_a ON t USING csb (a)");
    assert!(paths(&mut session, few).contains("csb"), "{}", paths(&mut session, few));
    assert_eq!(paths(&mut session, half), "", "half of the rows are found by a scan");
    run(&mut session, "SET index_paths = prefer");
    assert_eq!(paths(&mut session, half), "4 csb", "all of them, the small last one, too");
    assert_eq!([run(&mut session, few), run(&mut session, half)], expected);
    run(&mut session, "SET index_paths = off");
    assert_eq!(paths(&mut session, few), "");
    run(&mut session, "SET index_paths = on");
    run(&mut session, "CREATE INDEX t_s ON t USING bloom (s)");
    let absent = "SELECT count(*) FROM t WHERE s = 'text 7.5 that is long enough'";
    let present =
        "SELECT count(*) FROM t WHERE s = 'text 7 that is long enough and never the same'";
    assert_eq!(run(&mut session, present), ["1"]);
    assert!(paths(&mut session, absent).contains("bloom"), "{}", paths(&mut session, absent));
    run(&mut session, "DROP INDEX t_a");
    run(&mut session, "SET index_paths = prefer");
    for (form, name) in [("v", "4 bitweaving/v"), ("h", "4 bitweaving/h")] {
        let sql = format!("CREATE INDEX t_w ON t USING bitweaving (a) WITH (type = {form})");
        run(&mut session, &sql);
        assert_eq!(paths(&mut session, half), name);
        assert_eq!([run(&mut session, few), run(&mut session, half)], expected);
        run(&mut session, "DROP INDEX t_w");
    }
    // Blocks apart in time and temperature: those of later loads have the index, hot rows do not.
    run(&mut session, "CREATE INDEX t_a ON t USING csb (a)");
    run(&mut session, &format!("INSERT INTO t {ROWS}"));
    run(&mut session, "INSERT INTO t VALUES (0, 3, 3, 'hot')");
    assert_eq!(paths(&mut session, few), "8 csb 1 scan");
    let twice: i64 = expected[0][0].parse::<i64>().expect("a number") * 2 + 1;
    assert_eq!(run(&mut session, few), [twice.to_string()]);
}

#[test]
fn memory_is_counted_and_comes_back() {
    let database = Database::open_in_memory(config()).expect("opens");
    let mut session = database.session();
    run(&mut session, "CREATE TABLE t (id bigint, a bigint, w bigint, s text)");
    run(&mut session, &format!("INSERT INTO t {ROWS}"));
    let held = "SELECT bytes FROM tessera_memory() WHERE category = 'indexes'";
    let bytes = |session: &mut Session| run(session, held)[0].parse::<u64>().expect("a number");
    let before = bytes(&mut session);
    run(&mut session, "CREATE INDEX t_a ON t USING csb (a)");
    run(&mut session, "CREATE INDEX t_w ON t USING bloom (w)");
    let with = bytes(&mut session);
    assert!(with > before + 200_000 * 4, "{with} bytes, {before} before");
    run(&mut session, "BEGIN");
    run(&mut session, "CREATE INDEX t_id ON t USING bitweaving (id)");
    assert!(bytes(&mut session) > with);
    run(&mut session, "ROLLBACK");
    assert_eq!(bytes(&mut session), with);
    run(&mut session, "DROP INDEX t_a, t_w");
    assert_eq!(bytes(&mut session), before);
}

#[test]
fn they_are_there_again() {
    let scratch = Scratch::new("sub-blocks");
    let query = "SELECT count(*) FROM t WHERE a BETWEEN 10 AND 30";
    let absent = "SELECT count(*) FROM t WHERE w = 5";
    let mut expected = Vec::new();
    {
        let database = Database::open(scratch.path(), config()).expect("a new directory");
        let mut session = database.session();
        for sql in [
            "CREATE TABLE t (id bigint, a bigint, w bigint, s text)",
            "CREATE INDEX t_early ON t USING csb (a)",
            &format!("INSERT INTO t {ROWS}"),
            "CHECKPOINT",
            "CREATE INDEX t_late ON t USING bloom (w) WITH (bits_per_key = 16)",
            "CREATE INDEX t_woven ON t USING bitweaving (id) WITH (type = h)",
            "CREATE INDEX t_dropped ON t USING csb (w)",
            "DROP INDEX t_dropped",
            "BEGIN",
            "CREATE INDEX t_undone ON t USING csb (w)",
            "ROLLBACK",
            "DELETE FROM t WHERE id % 3 = 0",
            "UPDATE t SET a = 12 WHERE id % 20000 = 1",
        ] {
            run(&mut session, sql);
        }
        expected.extend(run(&mut session, query));
    }
    let shown = "SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY indexname";
    for opening in 0..3 {
        let database = Database::open(scratch.path(), config()).expect("it was closed");
        let mut session = database.session();
        let about = format!("opened {opening} times before");
        assert_eq!(
            run(&mut session, shown),
            [
                "CREATE INDEX t_early ON public.t USING csb (a)",
                "CREATE INDEX t_late ON public.t USING bloom (w) WITH (bits_per_key='16')",
                "CREATE INDEX t_woven ON public.t USING bitweaving (id) WITH (type=h)",
            ],
            "{about}"
        );
        assert!(paths(&mut session, query).contains("csb"), "{about}");
        assert!(paths(&mut session, absent).contains("bloom"), "{about}");
        assert_eq!(run(&mut session, query), expected, "{about}");
        assert!(database.check_indexes().is_sound(), "{about}");
        if opening == 1 {
            run(&mut session, "CHECKPOINT");
        }
    }
}
