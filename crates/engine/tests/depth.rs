//! Deep statements, in threads with little stack: what PostgreSQL takes works, what nobody needs is
//! 54001, and nothing overflows, neither while a statement runs nor when what it left is dropped.

use engine::{Config, Database, Session};

/// Runs `work` in a session whose thread has less stack than any of the statements takes.
fn in_session(work: impl FnOnce(&mut Session) + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        let config = Config { threads: 2, ..Config::default() };
        let database = Database::open_in_memory(config).expect("it opens");
        let mut session = database.session();
        session.execute("CREATE TABLE n (i INTEGER PRIMARY KEY, s TEXT)").expect("a table");
        session.execute("INSERT INTO n VALUES (1, 'a'), (2, 'b')").expect("rows");
        work(&mut session);
    });
    thread.expect("a thread starts").join().expect("no overflow, no panic");
}

fn nest(open: &str, inner: &str, close: &str, count: usize) -> String {
    format!("SELECT {}{inner}{}", open.repeat(count), close.repeat(count))
}

fn first(session: &mut Session, text: &str) -> String {
    match session.execute(text) {
        Ok(result) => result.text_rows()[0][0].clone().unwrap_or_default(),
        Err(error) => panic!("{}: {error}", &text[..text.len().min(60)]),
    }
}

fn state(session: &mut Session, text: &str) -> String {
    session.execute(text).err().map_or_else(|| "fine".to_owned(), |e| e.state().to_string())
}

#[test]
fn what_postgres_takes_works() {
    in_session(|session| {
        let tables: String = (0..1_000).map(|i| format!(") x{i}")).collect();
        let chain = |term: &str, op: &str| vec![term; 10_000].join(op);
        let cases = [
            (nest("(", "1", ")", 5_000), "1"),
            (nest("abs(", "1", ")", 5_000), "1"),
            (format!("{} FROM n WHERE i = 2", nest("abs(", "i", ")", 2_000)), "2"),
            (nest("CASE WHEN false THEN 0 ELSE ", "1", " END", 3_000), "1"),
            (nest("NOT ", "true", "", 4_000), "t"),
            (nest("- ", "1", "", 4_000), "1"),
            (nest("", "1", "::int", 4_000), "1"),
            (nest("true OR (", "true", ")", 3_000), "t"),
            (nest("(SELECT ", "1", ")", 1_000), "1"),
            (
                format!("SELECT i FROM {}n{tables} WHERE i = 2", "(SELECT * FROM ".repeat(1_000)),
                "2",
            ),
            (format!("SELECT length({})", chain("'a'", "||")), "10000"),
            (format!("SELECT {}", chain("1", "+")), "10000"),
            (format!("SELECT {} FROM n WHERE i = 2", chain("i", "+")), "20000"),
            (format!("SELECT count(*) FROM n WHERE {}", chain("i = 2", " OR ")), "1"),
            (format!("SELECT count(*) FROM n WHERE {}", chain("i <> 2", " AND ")), "1"),
            (
                format!("SELECT count(*) FROM ({}) q", vec!["SELECT 1"; 3_000].join(" UNION ALL ")),
                "3000",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(first(session, &text), expected, "{}", &text[..60]);
        }
    });
}

#[test]
fn views_on_views_work() {
    in_session(|session| {
        session.execute("CREATE VIEW v0 AS SELECT * FROM n").expect("a view");
        for i in 1..200 {
            let text = format!("CREATE VIEW v{i} AS SELECT * FROM v{} WHERE i > 0", i - 1);
            session.execute(&text).expect("a view on a view");
        }
        assert_eq!(first(session, "SELECT sum(i) FROM v199"), "3");
    });
}

#[test]
fn what_nobody_needs_is_an_error() {
    in_session(|session| {
        let many = 100_000;
        for text in [
            nest("(", "1", ")", 1_000_000),
            nest("", "1", " + 1", 1_000_000),
            nest("abs(", "1", ")", many),
            nest("(SELECT ", "1", ")", many),
            nest("* FROM (SELECT ", "1", ") x", many),
            nest("CASE WHEN true THEN ", "1", " END", many),
            nest("NOT ", "true", "", many),
            nest("- ", "1", "", many),
            nest("", "1", "::int", many),
            nest("", "1", " + 1", many),
            nest("", "true", " AND true", many),
            nest("", "1", " IS NULL", many),
            nest("", "1", " UNION SELECT 1", many),
            nest("ARRAY[", "1", "]", many),
            format!("{}SELECT 1{}", "(".repeat(many), ")".repeat(many)),
            format!("{}SELECT 1{}", "WITH a AS (".repeat(many), ") SELECT 1".repeat(many)),
        ] {
            assert_eq!(state(session, &text), "54001", "{}", &text[..60]);
        }
        let prepares = format!("{}SELECT 1", "PREPARE a AS ".repeat(many));
        assert_eq!(state(session, &prepares), "42601");
        let explains = format!("{}SELECT 1", "EXPLAIN ".repeat(many));
        assert_eq!(state(session, &explains), "42601");
        assert_eq!(first(session, "SELECT 1"), "1");
    });
}

#[test]
fn what_is_kept_is_dropped_anywhere() {
    in_session(|session| {
        let text = format!("SELECT {} FROM n", vec!["i"; 10_000].join(" + "));
        let mut prepared = session.prepare(&text, &[]).expect("it is prepared");
        let result = session.execute_prepared(&mut prepared, &[]).expect("it runs");
        assert_eq!(result.text_rows().len(), 2);
        drop(prepared);
        session.execute(&format!("CREATE VIEW deep AS {text}")).expect("a view");
        assert_eq!(session.execute("SELECT * FROM deep").expect("it reads").text_rows().len(), 2);
        session.execute(&format!("PREPARE p AS {text}")).expect("it is prepared");
        session.execute("EXECUTE p").expect("it runs");
        session.execute("DEALLOCATE p").expect("it goes");
        session.execute(&format!("PREPARE q AS {text}")).expect("it goes with the session");
        session.execute("EXECUTE q").expect("it runs");
    });
}
