//! Rights on shared tables, and indexes over expressions and of some rows, with real processes:
//! what one node defines counts on the others.

#[path = "shared_sql/cluster.rs"]
mod cluster;
#[path = "shared_sql/statements.rs"]
mod statements;

use cluster::{Cluster, client};
use postgres::{Client, SimpleQueryMessage};
use statements::{run, state, value};

#[test]
fn rights_are_those_of_all_nodes() {
    let cluster = Cluster::start("rights", 2);
    let (one, two) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&one), client(&two));
    // Roles are each node's own; this one has another kind of ann than that one.
    for node in [&mut a, &mut b] {
        run(node, "CREATE ROLE ann; CREATE ROLE bob");
    }
    run(&mut a, "CREATE TABLE t (id serial PRIMARY KEY, v text, w text); CREATE SEQUENCE s");
    run(&mut a, "INSERT INTO t (v, w) VALUES ('a', 'b')");
    run(&mut b, "SET ROLE ann");
    assert_eq!(state(&mut b, "SELECT * FROM t"), "42501");
    assert_eq!(state(&mut b, "SELECT nextval('s')"), "42501");
    run(&mut a, "GRANT SELECT (id, v) ON t TO ann; GRANT USAGE ON SEQUENCE s TO ann");
    assert_eq!(value(&mut b, "SELECT v FROM t"), "a");
    assert_eq!(state(&mut b, "SELECT w FROM t"), "42501");
    value(&mut b, "SELECT nextval('s')");
    assert_eq!(state(&mut b, "INSERT INTO t (v) VALUES ('x')"), "42501");
    assert_eq!(state(&mut b, "CREATE TABLE u (id int)"), "42501");

    // A transaction has the rights of its snapshot; the next one has those of today.
    run(&mut b, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(value(&mut b, "SELECT count(*) FROM t"), "1");
    run(&mut a, "REVOKE ALL ON t FROM ann");
    assert_eq!(value(&mut b, "SELECT v FROM t"), "a");
    run(&mut b, "COMMIT");
    run(&mut a, "REVOKE SELECT (id, v) ON t FROM ann");
    assert_eq!(state(&mut b, "SELECT v FROM t"), "42501");

    // What a role makes on one node belongs to it on the other.
    run(&mut a, "GRANT CREATE ON SCHEMA shared TO ann");
    run(&mut b, "CREATE TABLE u (id serial PRIMARY KEY, v int); INSERT INTO u (v) VALUES (1)");
    assert_eq!(value(&mut a, "SELECT tableowner FROM pg_tables WHERE tablename = 'u'"), "ann");
    run(&mut a, "SET ROLE bob");
    assert_eq!(state(&mut a, "SELECT * FROM u"), "42501");
    assert_eq!(state(&mut a, "ALTER TABLE u ADD COLUMN w int"), "42501");
    run(&mut b, "GRANT SELECT, INSERT ON u TO bob; GRANT USAGE ON u_id_seq TO bob");
    run(&mut a, "INSERT INTO u (v) VALUES (2)");
    // Rows are written anew, the sequence counts anew, and names change: rights stay.
    run(&mut b, "ALTER TABLE u ADD COLUMN w int DEFAULT 5");
    run(&mut b, "TRUNCATE u RESTART IDENTITY; ALTER TABLE u RENAME TO x");
    run(&mut a, "INSERT INTO x (v) VALUES (2)");
    assert_eq!(value(&mut a, "SELECT w FROM x"), "5");
    run(&mut a, "RESET ROLE; ALTER TABLE x OWNER TO bob");
    assert_eq!(state(&mut b, "DROP TABLE x"), "42501");
    assert_eq!(state(&mut a, "DROP ROLE bob"), "2BP01");
    run(&mut b, "RESET ROLE");
    assert_eq!(state(&mut b, "DROP ROLE bob"), "2BP01");
    assert_eq!(state(&mut b, "ALTER ROLE bob RENAME TO carl"), "0A000");
    for statement in ["SET ROLE bob", "DROP TABLE x", "RESET ROLE", "DROP ROLE bob"] {
        run(&mut b, statement);
    }

    // The schema is open to everybody until somebody says otherwise.
    run(&mut a, "REVOKE USAGE ON SCHEMA shared FROM PUBLIC; GRANT SELECT ON t TO PUBLIC");
    run(&mut b, "SET ROLE ann");
    assert_eq!(state(&mut b, "SELECT v FROM shared.t"), "42501");
    run(&mut a, "GRANT USAGE ON SCHEMA shared TO ann");
    assert_eq!(value(&mut b, "SELECT v FROM shared.t"), "a");

    // Two nodes at once: definitions change one at a time, so that nothing is lost.
    let granting = |node: &cluster::Process, role: &str| {
        let (mut client, role) = (client(node), role.to_owned());
        std::thread::spawn(move || {
            for n in 0..5 {
                run(&mut client, &format!("GRANT INSERT ON t TO {role}"));
                run(&mut client, &format!("CREATE TABLE {role}{n} (id int)"));
            }
        })
    };
    run(&mut a, "CREATE ROLE dora; CREATE ROLE emil");
    run(&mut b, "RESET ROLE; CREATE ROLE emil");
    let both = [granting(&one, "dora"), granting(&two, "emil")];
    both.into_iter().for_each(|thread| thread.join().expect("it has no errors"));
    for role in ["dora", "emil"] {
        let query = format!("SELECT has_table_privilege('{role}', 't', 'INSERT')");
        assert_eq!(value(&mut a, &query), "t", "{role}");
    }
}

#[test]
fn made_keys_are_kept_by_all_nodes() {
    let cluster = Cluster::start("made-keys", 2);
    let (one, two) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&one), client(&two));
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, name text, open boolean)");
    run(&mut b, "INSERT INTO t SELECT i, 'Name' || i, i % 4 = 0 FROM generate_series(1, 1000) i");
    run(&mut a, "CREATE UNIQUE INDEX by_name ON t (lower(name))");
    run(&mut b, "CREATE INDEX by_open ON t ((id % 10)) WHERE open");
    let plan = |client: &mut Client, query: &str| {
        let messages = client.simple_query(&format!("EXPLAIN {query}")).expect("a query");
        let line = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        messages.iter().filter_map(line).collect::<Vec<_>>().join("\n")
    };
    let by_name = "SELECT id FROM t WHERE lower(name) = 'name77'";
    assert!(plan(&mut a, by_name).contains("index by_name"), "{}", plan(&mut a, by_name));
    let by_open = "SELECT count(*) FROM t WHERE id % 10 = 4 AND open";
    assert!(plan(&mut b, by_open).contains("index by_open"), "{}", plan(&mut b, by_open));
    assert!(!plan(&mut b, "SELECT count(*) FROM t WHERE id % 10 = 4").contains("by_open"));
    for node in [&mut a, &mut b] {
        assert_eq!(value(node, by_name), "77");
        assert_eq!(value(node, by_open), "50");
        assert_eq!(state(node, "INSERT INTO t VALUES (2000, 'NAME77', true)"), "23505");
    }

    // Transactions that run at once: one of two has the key.
    run(&mut a, "BEGIN; INSERT INTO t VALUES (2001, 'new', true)");
    run(&mut b, "BEGIN; INSERT INTO t VALUES (2002, 'NEW', true)");
    run(&mut a, "COMMIT");
    let lost = state(&mut b, "COMMIT");
    assert!(lost == "23505" || lost == "40001", "{lost}");
    assert_eq!(value(&mut b, "SELECT id FROM t WHERE lower(name) = 'new'"), "2001");

    // A node that dies leaves nothing behind, and what it committed is there.
    run(&mut b, "UPDATE t SET name = 'Moved' WHERE id = 77");
    run(&mut b, "BEGIN; UPDATE t SET open = NOT open; UPDATE t SET name = name || 'x'");
    drop(two);
    run(&mut a, "INSERT INTO t VALUES (2003, 'Name77', true)");
    assert_eq!(value(&mut a, by_name), "2003");
    assert_eq!(value(&mut a, "SELECT id FROM t WHERE lower(name) = 'moved'"), "77");
    assert_eq!(value(&mut a, by_open), "50");
    for query in ["SELECT count(*) FROM t WHERE lower(name) = lower('NAME' || 5)", by_open] {
        let scan = query.replace("lower(name)", "lower(name || '')").replace("id %", "(id + 0) %");
        assert_eq!(value(&mut a, query), value(&mut a, &scan), "{query}");
    }
}

#[test]
fn what_gets_another_name_or_comes_again_has_its_own_rights() {
    let cluster = Cluster::start("rights-follow", 2);
    let (one, two) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&one), client(&two));
    run(&mut a, "CREATE ROLE boss SUPERUSER; CREATE ROLE bob");
    for node in [&mut a, &mut b] {
        run(node, "CREATE ROLE ann");
    }
    run(&mut a, "CREATE TABLE t (id int PRIMARY KEY, v text); CREATE SEQUENCE s");

    // Nobody said who owns the table: who gives it another name does not.
    run(&mut a, "SET ROLE boss; ALTER TABLE t RENAME TO u; ALTER SEQUENCE s RENAME TO r");
    for name in ["u", "r"] {
        let is_not = "relowner <> 'boss'::regrole";
        let owner = format!("SELECT {is_not} FROM pg_class WHERE relname = '{name}'");
        assert_eq!(value(&mut a, &owner), "t", "{name}");
    }
    run(&mut a, "RESET ROLE; GRANT SELECT (id, v) ON u TO ann");
    run(&mut b, "SET ROLE ann");
    assert_eq!(value(&mut b, "SELECT count(v) FROM u"), "0");
    run(&mut a, "ALTER TABLE u DROP COLUMN v, ADD COLUMN v text");
    assert_eq!(value(&mut b, "SELECT count(id) FROM u"), "0");
    assert_eq!(state(&mut b, "SELECT count(v) FROM u"), "42501");
    run(&mut b, "RESET ROLE");

    // Objects of both kinds go in two steps, as the hint says.
    let each = |client: &mut Client, statements: &[&str]| {
        statements.iter().for_each(|statement| run(client, statement));
    };
    let own =
        ["CREATE SCHEMA own", "CREATE TABLE own.t (id int)", "ALTER TABLE own.t OWNER TO ann"];
    each(&mut a, &own);
    each(&mut a, &["ALTER TABLE u OWNER TO ann"]);
    let error = a.batch_execute("REASSIGN OWNED BY ann TO bob").expect_err("of both kinds");
    let error = error.as_db_error().expect("of the server");
    assert_eq!((error.code().code(), error.hint().is_some()), ("0A000", true));
    let steps = ["ALTER TABLE u OWNER TO bob", "REASSIGN OWNED BY ann TO bob"];
    each(&mut a, &steps);
    let owners = "SELECT count(*) FROM pg_tables WHERE tableowner = 'bob'";
    assert_eq!(value(&mut a, owners), "2");
    // Large objects are of the node.
    each(&mut a, &["SELECT lo_create(7)", "ALTER LARGE OBJECT 7 OWNER TO ann"]);
    each(&mut a, &["ALTER TABLE u OWNER TO ann"]);
    assert_eq!(state(&mut a, "REASSIGN OWNED BY ann TO bob"), "0A000");
    each(&mut a, &steps);
    let owner = "SELECT lomowner::regrole FROM pg_largeobject_metadata WHERE oid = 7";
    assert_eq!(value(&mut a, owner), "bob");
}
