//! BACKUP TO: what a copy made while transactions run is, and what is no copy. And rights, which
//! outlive a restart.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Config, Database, Files, Session};
use testkit::Scratch;
use types::SqlState;

fn config() -> Config {
    Config { threads: 2, memory_bytes: 512 << 20, ..Config::default() }
}

fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn value(session: &mut Session, text: &str) -> String {
    let result = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    result.text_rows()[0][0].clone().unwrap_or_default()
}

fn state(session: &mut Session, text: &str) -> String {
    match session.execute(text) {
        Ok(_) => panic!("{text}: it succeeded"),
        Err(error) => error.state().as_str().to_owned(),
    }
}

#[test]
fn copies_made_among_transactions_are_whole() {
    let scratch = Scratch::new("backup");
    let database = Database::open(scratch.join("db"), config()).unwrap();
    let mut session = database.session();
    run(&mut session, "create table account (id int primary key, balance bigint, note text)");
    run(
        &mut session,
        "insert into account select g, 100, repeat('x', 200) from generate_series(1, 5000) as t(g)",
    );
    run(&mut session, "create table done (n int primary key); create sequence s");
    run(&mut session, "create index on account (balance)");
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut session = database.session();
            let mut n = 0;
            while !ends.load(Ordering::Relaxed) {
                n += 1;
                let (a, b) = (n % 5000 + 1, (n * 7) % 5000 + 1);
                run(
                    &mut session,
                    &format!(
                        "begin; update account set balance = balance - 1 where id = {a}; \
                         update account set balance = balance + 1 where id = {b}; \
                         insert into done values ({n}); select nextval('s'); commit"
                    ),
                );
            }
        });
        for copy in 0..3 {
            let target = scratch.join(format!("copy{copy}"));
            let before: u64 = value(&mut session, "select count(*) from done").parse().unwrap();
            run(&mut session, &format!("backup to '{}'", target.display()));
            let report = Database::check(&target, &config(), &Files::default()).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            let restored = Database::open(&target, config()).unwrap();
            let mut copied = restored.session();
            let after: u64 = value(&mut copied, "select count(*) from done").parse().unwrap();
            assert!(after >= before, "{after} of {before}");
            // The transactions that are there are the first ones, and whole.
            assert_eq!(
                value(&mut copied, "select coalesce(max(n), 0) from done"),
                after.to_string()
            );
            assert_eq!(value(&mut copied, "select sum(balance) from account"), "500000");
            let next: u64 = value(&mut copied, "select nextval('s')").parse().unwrap();
            assert!(next > after);
            // It goes its own way.
            run(&mut copied, "insert into done values (-1); drop table account; checkpoint");
        }
        ends.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    });
    assert_eq!(value(&mut session, "select sum(balance) from account"), "500000");
}

#[test]
fn where_no_backup_goes() {
    let scratch = Scratch::new("backup-not");
    let database = Database::open(scratch.join("db"), config()).unwrap();
    let mut session = database.session();
    run(&mut session, "create table t (a int); insert into t values (1); create role ann");
    let full = scratch.join("full");
    std::fs::create_dir_all(&full).unwrap();
    std::fs::write(full.join("file"), "x").unwrap();
    assert_eq!(state(&mut session, &format!("backup to '{}'", full.display())), "58P02");
    let inside = scratch.join("db/inside");
    assert_eq!(state(&mut session, &format!("backup to '{}'", inside.display())), "22023");
    let target = scratch.join("target");
    let text = format!("backup to '{}'", target.display());
    run(&mut session, "begin");
    assert_eq!(state(&mut session, &text), "25001");
    run(&mut session, "rollback; set role ann");
    assert_eq!(state(&mut session, &text), "42501");
    run(&mut session, "reset role");
    run(&mut session, &text);
    // A copy that was interrupted is no database, whatever is missing.
    std::fs::remove_file(target.join("tessera.db")).unwrap();
    std::fs::write(target.join("backup.incomplete"), "x").unwrap();
    let error = Database::open(&target, config()).map(|_| ()).expect_err("it is no database");
    assert_eq!(error.state(), SqlState::UNDEFINED_FILE);
    assert!(error.detail().is_some_and(|detail| detail.contains("backup.incomplete")), "{error}");
    let report = Database::check(&target, &config(), &Files::default());
    assert!(report.is_ok_and(|report| !report.is_sound()));
    let memory = Database::open_in_memory(config()).unwrap();
    assert_eq!(state(&mut memory.session(), &text), "0A000");
}

#[test]
fn rights_outlive_checkpoint_and_log() {
    let scratch = Scratch::new("rights");
    let open = || Database::open(scratch.join("db"), config()).unwrap();
    let mut session = open().session();
    run(&mut session, "create role ann; create role bob noinherit; create role crowd");
    run(&mut session, "grant create on schema public to ann; grant crowd to bob with admin option");
    run(
        &mut session,
        "set role ann; create table t (a int); grant select on t to crowd; reset role",
    );
    run(&mut session, "checkpoint; grant insert on t to bob; alter table t rename to u");
    drop(session);
    let mut session = open().session();
    let acl = "select relacl::text from pg_class where relname = 'u'";
    assert_eq!(value(&mut session, acl), "{ann=arwdDxt/ann,crowd=r/ann,bob=a/ann}");
    run(&mut session, "set role bob; insert into u values (1)");
    assert_eq!(state(&mut session, "select * from u"), "42501");
    run(&mut session, "reset role; set role crowd; select * from u; reset role");
    run(&mut session, "drop table u; revoke all on schema public from ann; drop role ann, bob");
    drop(session);
    let mut session = open().session();
    let members = "select count(*) from pg_auth_members where member::regrole::text !~ '^pg_'";
    assert_eq!(value(&mut session, members), "0");
    run(&mut session, "drop role crowd");
}

#[test]
fn rights_on_columns_and_by_default_outlive_checkpoint_and_log() {
    let scratch = Scratch::new("column_rights");
    let open = || Database::open(scratch.join("db"), config()).unwrap();
    let mut session = open().session();
    run(&mut session, "create role ann; create role bob; create table t (a int, b int)");
    run(&mut session, "grant select (a) on t to ann");
    run(&mut session, "alter default privileges for role bob grant select on tables to ann");
    run(&mut session, "checkpoint");
    run(&mut session, "grant update (b) on t to ann; alter table t rename b to c");
    run(&mut session, "alter default privileges in schema public grant usage on sequences to ann");
    drop(session);
    let mut session = open().session();
    let may = |what: &str| format!("select has_column_privilege('ann', 't', {what})::int");
    assert_eq!(value(&mut session, &may("'a', 'select'")), "1");
    assert_eq!(value(&mut session, &may("'c', 'update'")), "1");
    assert_eq!(value(&mut session, &may("'c', 'select'")), "0");
    assert_eq!(value(&mut session, "select count(*) from pg_default_acl"), "2");
    run(&mut session, "alter default privileges for role bob revoke select on tables from ann");
    run(&mut session, "revoke all on t from ann");
    drop(session);
    let mut session = open().session();
    assert_eq!(value(&mut session, "select count(*) from pg_default_acl"), "1");
    assert_eq!(value(&mut session, &may("'a', 'select'")), "0");
}
