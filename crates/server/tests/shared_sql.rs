//! SQL on shared tables, with real processes: nodes see what others committed, conflicts are errors
//! of SQL, answers are those of tables of the database itself, and what there is not is refused.

#[path = "shared_sql/cluster.rs"]
mod cluster;
#[path = "shared_sql/statements.rs"]
mod statements;

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{Cluster, client};
use postgres::{Client, SimpleQueryMessage};
use statements::state;

/// Answer of a statement: rows as text and the number at the end, or the SQLSTATE.
fn answer(client: &mut Client, statement: &str) -> Vec<String> {
    let messages = match client.simple_query(statement) {
        Ok(messages) => messages,
        Err(error) => {
            return vec![format!("{:?}", error.code().map(|code| code.code().to_owned()))];
        }
    };
    let line = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let cells = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL"));
            Some(cells.collect::<Vec<_>>().join("|"))
        }
        SimpleQueryMessage::CommandComplete(count) => Some(format!("({count})")),
        _ => None,
    };
    messages.into_iter().filter_map(line).collect()
}

/// The rows of a query that has no errors.
fn rows(client: &mut Client, query: &str) -> Vec<String> {
    let mut answer = answer(client, query);
    assert!(answer.pop().is_some_and(|end| end.starts_with('(')), "{query}: {answer:?}");
    answer
}

/// Statements that mean the same on tables of any kind; those of a table `local` aside.
const ALIKE: &[&str] = &[
    "CREATE TABLE t (id int PRIMARY KEY, name varchar(20) NOT NULL, amount numeric(10,2),
     wide numeric(30,5), free numeric, is_ok boolean, day date, at timestamptz, u uuid,
     f float8, r real, iv interval, b bytea, small smallint, c char(4), UNIQUE (small, c))",
    "INSERT INTO t VALUES
     (1, 'ann', 1.50, 123456789012345678.12345, 1.10, true, '2024-01-01', '2024-01-01 10:00+00',
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1.5, 0.25, '1 month 2 days', '\\x00ff', 1, 'a'),
     (2, 'bob', -1.50, -5, 1.1, false, '1999-12-31', '1999-01-01 10:00+00',
      '00000000-0000-0000-0000-000000000000', 'NaN', '-Infinity', '-1 hour', '', 1, 'b  '),
     (3, 'carl', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "SELECT * FROM t ORDER BY id",
    "SELECT relname, relkind, relnatts, relhasindex, relchecks, pg_table_is_visible(oid)
     FROM pg_class WHERE relnamespace = current_schema()::regnamespace ORDER BY 1",
    "SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef FROM pg_attribute
     WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum",
    "SELECT conname, contype, conkey, pg_get_constraintdef(oid) FROM pg_constraint
     WHERE conrelid = 't'::regclass ORDER BY 1",
    "SELECT c.relname, i.indisunique, i.indisprimary, i.indkey FROM pg_index i
     JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass('t') ORDER BY 1",
    "SELECT oid::regclass FROM pg_class WHERE relname = 't_pkey' AND pg_table_is_visible(oid)",
    "SELECT column_name, data_type, is_nullable, column_default, numeric_precision
     FROM information_schema.columns WHERE table_schema = current_schema ORDER BY ordinal_position",
    "SELECT constraint_name, column_name FROM information_schema.key_column_usage
     WHERE table_schema = current_schema ORDER BY 1, ordinal_position",
    "SELECT id FROM t WHERE wide < 0",
    "SELECT id FROM t WHERE wide BETWEEN -5 AND 200000000000000000 ORDER BY 1",
    "SELECT id FROM t WHERE u >= '00000000-0000-0000-0000-000000000001'",
    "SELECT id FROM t WHERE free = 1.1 ORDER BY id",
    "SELECT id FROM t WHERE iv > interval '31 days'",
    "SELECT id FROM t WHERE is_ok",
    "SELECT id FROM t WHERE NOT is_ok",
    "SELECT id FROM t WHERE is_ok IS NULL",
    "SELECT id FROM t WHERE f = 'NaN'",
    "SELECT id FROM t WHERE f > 1 ORDER BY f DESC",
    "SELECT id FROM t WHERE r < 0 OR r = 0.25 ORDER BY id",
    "SELECT id FROM t WHERE day < '2024-01-01' AND at > '1998-01-01'",
    "SELECT id FROM t WHERE b = '\\x00ff'",
    "SELECT id FROM t WHERE c = 'b' AND small = 1",
    "SELECT id FROM t WHERE small = 1 ORDER BY id DESC",
    "SELECT id FROM t WHERE id IN (3, 1, 7) ORDER BY id",
    "SELECT id FROM t WHERE id IN (3, 1) AND name = 'ann'",
    "SELECT id FROM t WHERE id = NULL",
    "SELECT id FROM t WHERE name LIKE 'a%'",
    "SELECT id FROM t WHERE name > 'b' AND name <= 'carl' ORDER BY name",
    "SELECT id FROM t WHERE id = 1.0",
    "SELECT id FROM t WHERE id < 2.5 ORDER BY id",
    "SELECT id FROM t WHERE id = 99999999999",
    "SELECT count(*), count(amount), sum(amount), min(wide), max(day), bool_and(is_ok) FROM t",
    "SELECT small, count(*) FROM t GROUP BY small ORDER BY 1",
    "SELECT id, name FROM t GROUP BY id ORDER BY id LIMIT 2 OFFSET 1",
    "INSERT INTO t (id, name) VALUES (1, 'double')",
    "INSERT INTO t (id, name, small, c) VALUES (4, 'double', 1, 'b')",
    "INSERT INTO t (id, name, small, c) VALUES (4, 'dora', 1, NULL), (5, 'emil', 1, NULL)",
    "INSERT INTO t (id, name) VALUES (1, 'again'), (7, 'new'), (7, 'newer')
     ON CONFLICT DO NOTHING RETURNING id, name",
    "INSERT INTO t (id, name) VALUES (7, 'again') ON CONFLICT (id) DO NOTHING",
    "INSERT INTO t (id, name) VALUES (7, 'again') ON CONFLICT (small, c) DO NOTHING",
    "INSERT INTO t (id, name) VALUES (7, 'again') ON CONFLICT (name) DO NOTHING",
    "DELETE FROM t WHERE id = 7 AND name = 'new'",
    "INSERT INTO t (id) VALUES (6)",
    "INSERT INTO t (id, name) VALUES (6, 'a name that is too long for it')",
    "UPDATE t SET amount = amount * 2, name = upper(name) WHERE id < 3 RETURNING id, name, amount",
    "UPDATE t SET amount = 7 WHERE id = 1 RETURNING amount, (SELECT sum(amount) FROM t),
     (SELECT old.amount FROM t old WHERE old.id = t.id)",
    "UPDATE t SET name = NULL WHERE id = 1",
    "UPDATE t SET id = 2 WHERE id = 1",
    "UPDATE t SET id = id + 10 WHERE id = 1 RETURNING *",
    "SELECT id FROM t WHERE id = 1",
    "SELECT id FROM t WHERE id = 11",
    "UPDATE t SET c = 'zz' WHERE small IS NULL",
    "CREATE TEMP TABLE names (id int, note text)",
    "INSERT INTO names VALUES (2, 'two'), (3, 'three'), (8, 'eight')",
    "SELECT t.name, n.note FROM t JOIN names n USING (id) ORDER BY 1",
    "SELECT n.note, t.name FROM names n LEFT JOIN t ON t.id = n.id ORDER BY 1",
    "UPDATE t SET name = n.note FROM names n WHERE n.id = t.id RETURNING t.id, n.note, t.name",
    "DELETE FROM t USING names n WHERE n.id = t.id AND n.id = 3 RETURNING n.note, t.id",
    "SELECT id FROM t WHERE EXISTS (SELECT FROM names n WHERE n.id = t.id) ORDER BY id",
    "WITH x AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM t) SELECT * FROM x ORDER BY 1",
    "INSERT INTO t (id, name) VALUES (2, 'again'), (30, 'thirty')
     ON CONFLICT (id) DO UPDATE SET name = t.name || '/' || excluded.name RETURNING id, name",
    "INSERT INTO t (id, name) VALUES (31, 'a'), (31, 'b')
     ON CONFLICT (id) DO UPDATE SET name = 'c'",
    "INSERT INTO t (id, name) VALUES (30, 'x'), (30, 'y')
     ON CONFLICT (id) DO UPDATE SET name = excluded.name",
    "INSERT INTO t (id, name) VALUES (30, 'x'), (30, 'y')
     ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE excluded.name = 'y' RETURNING name",
    "INSERT INTO t (id, name, small, c) VALUES (32, 'z', 1, 'b')
     ON CONFLICT (id) DO UPDATE SET name = 'never'",
    "MERGE INTO t USING (VALUES (30, 'merged'), (33, 'new'), (4, 'gone')) AS s (id, name)
     ON t.id = s.id WHEN MATCHED AND s.name = 'gone' THEN DELETE
     WHEN MATCHED THEN UPDATE SET name = s.name
     WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
    "MERGE INTO t USING (VALUES (30), (30)) AS s (id) ON t.id = s.id WHEN MATCHED THEN DELETE",
    "SELECT id, name FROM t ORDER BY id",
    "DELETE FROM t WHERE id IN (30, 33)",
    "BEGIN",
    "INSERT INTO t (id, name) VALUES (20, 'u'), (21, 'v')",
    "SELECT id, name FROM t WHERE id >= 20 ORDER BY id",
    "DELETE FROM t WHERE id = 20 RETURNING (SELECT count(*) FROM t WHERE id IN (20, 21)),
     (SELECT count(*) FROM t)",
    "INSERT INTO t (id, name) VALUES (20, 'u2') RETURNING (SELECT count(*) FROM t WHERE id = 20)",
    "SELECT name FROM t WHERE id = 21",
    "SAVEPOINT a",
    "DELETE FROM t WHERE id > 2",
    "INSERT INTO t (id, name) VALUES (21, 'w')",
    "SELECT id, name FROM t ORDER BY id",
    "ROLLBACK TO a",
    "SELECT id, name FROM t ORDER BY id",
    "UPDATE t SET id = 20 WHERE id = 21",
    "ROLLBACK TO a",
    "UPDATE t SET id = 22 WHERE id = 20",
    "INSERT INTO t (id, name) VALUES (20, 'again')",
    "COMMIT",
    "SELECT id, name FROM t ORDER BY id",
    "BEGIN",
    "DELETE FROM t",
    "SELECT count(*) FROM t",
    "ROLLBACK",
    "SELECT count(*) FROM t",
    "CREATE TABLE t (a int)",
    "CREATE TABLE IF NOT EXISTS t (a int)",
    "CREATE TABLE checked (a int DEFAULT 7, b text DEFAULT upper('x') CHECK (length(b) < 4))",
    "INSERT INTO checked DEFAULT VALUES",
    "INSERT INTO checked VALUES (1, 'long enough')",
    "UPDATE checked SET b = 'long enough'",
    "SELECT * FROM checked",
    "INSERT INTO checked SELECT i, i::text FROM generate_series(1, 999) i",
    "SELECT count(*), sum(a), max(b) FROM checked",
    "DELETE FROM checked WHERE a % 2 = 0",
    "SELECT count(*), sum(a), max(b) FROM checked",
    "BEGIN",
    "DROP TABLE checked",
    "SELECT * FROM checked",
    "ROLLBACK",
    "SELECT count(*) FROM checked",
    "CREATE TABLE made (a int PRIMARY KEY, b int,
     twice int GENERATED ALWAYS AS (a * 2) STORED,
     long text GENERATED ALWAYS AS ('n' || b) STORED)",
    "INSERT INTO made (a, b) VALUES (1, 10), (2, NULL) RETURNING *",
    "UPDATE made SET b = b + 1 RETURNING *",
    "UPDATE made SET a = a + 10 WHERE a = 1 RETURNING *",
    "UPDATE made SET twice = 3",
    "INSERT INTO made (a) VALUES (2) ON CONFLICT (a) DO UPDATE SET b = 5 RETURNING *",
    "CREATE TABLE copied AS SELECT a, twice::numeric(9,1) AS t, long FROM made WHERE a > 0",
    "CREATE TABLE empty AS SELECT * FROM made WITH NO DATA",
    "CREATE TABLE IF NOT EXISTS copied AS SELECT 1",
    "INSERT INTO copied SELECT * FROM copied",
    "SELECT * FROM copied ORDER BY a, t",
    "SELECT count(*) FROM empty",
    "BEGIN",
    "TRUNCATE copied, made",
    "INSERT INTO made (a) VALUES (7)",
    "SELECT count(*) FROM copied",
    "SELECT * FROM made",
    "ROLLBACK",
    "SELECT count(*) FROM copied",
    "TRUNCATE copied",
    "SELECT count(*) FROM copied",
    "DROP TABLE copied, empty, made",
    "CREATE TABLE lists (id int PRIMARY KEY, a int[], w text[] DEFAULT '{x}', d numeric(6,2)[])",
    "INSERT INTO lists VALUES (1, '{1,2,3}', '{a,NULL}', '{1.5,-2}'), (2, '{}', NULL, NULL)",
    "INSERT INTO lists (id, a) VALUES (3, '[2:3]={7,8}') RETURNING *",
    "UPDATE lists SET a[2] = 9 WHERE id < 3",
    "SELECT * FROM lists ORDER BY id",
    "SELECT id FROM lists WHERE a = '{1,9,3}'",
    "SELECT id FROM lists WHERE 'x' = ANY (w) OR a > '{2}' ORDER BY id",
    "ANALYZE lists",
    "ANALYZE lists (a)",
    "VACUUM ANALYZE lists",
    "BEGIN",
    "VACUUM lists",
    "ROLLBACK",
    "DROP TABLE lists",
    "CREATE TABLE s (id serial PRIMARY KEY, v text,
     k int GENERATED ALWAYS AS IDENTITY (START 10 INCREMENT 5))",
    "INSERT INTO s (v) VALUES ('a'), ('b') RETURNING *",
    "INSERT INTO s (k) VALUES (1)",
    "INSERT INTO s (k, v) OVERRIDING SYSTEM VALUE VALUES (1, 'c') RETURNING *",
    "INSERT INTO s (v) SELECT i::text FROM generate_series(1, 100) i",
    "SELECT count(*), min(id), max(id), sum(k) FROM s",
    "SELECT currval('s_id_seq'), lastval()",
    "SELECT nextval('s_id_seq')",
    "SELECT setval('s_id_seq', 1000)",
    "INSERT INTO s DEFAULT VALUES RETURNING id",
    "SELECT attname, atthasdef, attidentity FROM pg_attribute
     WHERE attrelid = 's'::regclass AND attnum > 0 ORDER BY attnum",
    "CREATE SEQUENCE q START 5 INCREMENT -2 MAXVALUE 5 MINVALUE 1",
    "SELECT currval('q')",
    "SELECT nextval('q'), nextval('q')",
    "SELECT setval('q', 9)",
    "SELECT nextval('q')",
    "SELECT nextval('q')",
    "SELECT sequencename, start_value, increment_by FROM pg_sequences
     WHERE schemaname = current_schema ORDER BY 1",
    "CREATE SEQUENCE s",
    "CREATE SEQUENCE IF NOT EXISTS q",
    "CREATE TABLE r (id bigint DEFAULT nextval('q'))",
    "DROP SEQUENCE s_id_seq",
    "BEGIN",
    "TRUNCATE s",
    "CREATE SEQUENCE q2",
    "SELECT nextval('q2')",
    "ROLLBACK",
    "SELECT nextval('q2')",
    "DROP TABLE s",
    "SELECT nextval('s_id_seq')",
    "DROP TABLE IF EXISTS r",
    "DROP SEQUENCE q",
    "DROP SEQUENCE q",
    "DROP SEQUENCE IF EXISTS q",
    "CREATE SEQUENCE q",
    "ALTER SEQUENCE q START 100 INCREMENT 10 MAXVALUE 130 CYCLE",
    "SELECT nextval('q'), nextval('q')",
    "ALTER SEQUENCE q RESTART",
    "SELECT currval('q'), nextval('q')",
    "ALTER SEQUENCE q RESTART WITH 130",
    "SELECT nextval('q'), nextval('q')",
    "ALTER SEQUENCE q MAXVALUE 0",
    "ALTER SEQUENCE q MAXVALUE 50",
    "ALTER SEQUENCE q RESTART WITH 500",
    "ALTER SEQUENCE IF EXISTS nowhere RESTART",
    "ALTER SEQUENCE nowhere RESTART",
    "BEGIN",
    "ALTER SEQUENCE q RESTART WITH 120",
    "SELECT nextval('q')",
    "ROLLBACK",
    "ALTER SEQUENCE q RESTART",
    "BEGIN",
    "ALTER SEQUENCE q RESTART WITH 110",
    "ALTER SEQUENCE q RESTART WITH 120",
    "COMMIT",
    "SELECT nextval('q')",
    "CREATE TABLE r (id bigint DEFAULT nextval('q'), v int)",
    "ALTER SEQUENCE q OWNED BY r.v",
    "ALTER SEQUENCE q RENAME TO r",
    "ALTER SEQUENCE q RENAME TO qq",
    "INSERT INTO r (v) VALUES (1) RETURNING *",
    "SELECT nextval('q')",
    "ALTER SEQUENCE qq OWNED BY NONE",
    "DROP TABLE r",
    "SELECT nextval('qq')",
    "ALTER SEQUENCE qq RESTART",
    "DROP SEQUENCE qq",
    "CREATE TABLE r (id int GENERATED ALWAYS AS IDENTITY, v serial, w int)",
    "INSERT INTO r (w) VALUES (1), (2) RETURNING *",
    "TRUNCATE r CONTINUE IDENTITY",
    "INSERT INTO r (w) VALUES (3) RETURNING *",
    "TRUNCATE r RESTART IDENTITY",
    "INSERT INTO r (w) VALUES (4) RETURNING *",
    "BEGIN",
    "TRUNCATE r RESTART IDENTITY",
    "ROLLBACK",
    "SELECT id, w FROM r",
    "ALTER TABLE r ALTER id RESTART WITH 70",
    "ALTER TABLE r ALTER id SET GENERATED BY DEFAULT SET INCREMENT 7",
    "INSERT INTO r (id, w) VALUES (1, 5), (DEFAULT, 6) RETURNING id, w",
    "ALTER TABLE r ALTER w SET NOT NULL, ALTER w ADD GENERATED ALWAYS AS IDENTITY (START 50)",
    "ALTER TABLE r ALTER id DROP IDENTITY",
    "ALTER TABLE r ALTER id DROP IDENTITY",
    "ALTER TABLE r ALTER id DROP IDENTITY IF EXISTS",
    "INSERT INTO r (id) VALUES (9) RETURNING id, w",
    "INSERT INTO r (id, w) VALUES (9, 9)",
    "ALTER TABLE r ADD COLUMN x serial, ADD COLUMN y int GENERATED ALWAYS AS IDENTITY",
    "SELECT count(DISTINCT x), min(x), max(x), count(DISTINCT y), min(y), max(y) FROM r",
    "INSERT INTO r (id) VALUES (10) RETURNING x, y",
    "SELECT column_name, is_nullable, is_identity, identity_generation, identity_start
     FROM information_schema.columns WHERE table_name = 'r' AND table_schema = current_schema()
     ORDER BY ordinal_position",
    "ALTER TABLE r DROP COLUMN x",
    "SELECT nextval('r_x_seq')",
    "DROP TABLE r",
    "SELECT nextval('r_w_seq')",
    "CREATE TABLE d (a int, b text, c int)",
    "INSERT INTO d VALUES (1, 'x', 7), (2, 'y', 7), (3, NULL, NULL), (4, NULL, NULL)",
    "CREATE INDEX ON d (b)",
    "CREATE INDEX ON d (b)",
    "CREATE UNIQUE INDEX d_a ON d (a)",
    "CREATE UNIQUE INDEX d_a ON d (c)",
    "CREATE UNIQUE INDEX IF NOT EXISTS d_a ON d (c)",
    "CREATE UNIQUE INDEX d_c ON d (c)",
    "SELECT c.relname, i.indisunique, i.indisprimary, i.indkey FROM pg_index i
     JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass('d') ORDER BY 1",
    "SELECT a FROM d WHERE b = 'y'",
    "SELECT a FROM d WHERE b IN ('x', 'y') AND c = 7 ORDER BY a",
    "INSERT INTO d VALUES (1, 'z', 8)",
    "INSERT INTO d VALUES (1, 'z', 8) ON CONFLICT DO NOTHING",
    "INSERT INTO d VALUES (1, 'z', 8) ON CONFLICT (a) DO UPDATE SET b = d.b || excluded.b",
    "SELECT a FROM d WHERE b = 'x'",
    "SELECT a, c FROM d WHERE b = 'xz'",
    "CREATE TABLE d_a (x int)",
    "CREATE SEQUENCE d_a",
    "ALTER INDEX d_b_idx RENAME TO d_a",
    "ALTER INDEX d_b_idx RENAME TO by_b",
    "DROP INDEX d_b_idx",
    "DROP INDEX IF EXISTS d_b_idx",
    "DROP INDEX by_b",
    "DROP INDEX t_pkey",
    "DROP INDEX t",
    "ALTER TABLE d ADD COLUMN e int DEFAULT 5",
    "ALTER TABLE d ADD COLUMN IF NOT EXISTS e int DEFAULT 6",
    "ALTER TABLE d ADD COLUMN f text NOT NULL",
    "ALTER TABLE d ADD COLUMN g int GENERATED ALWAYS AS (a * 2) STORED",
    "INSERT INTO d (a) VALUES (9) RETURNING *",
    "ALTER TABLE d ADD CHECK (a > 1)",
    "ALTER TABLE d ADD CONSTRAINT positive CHECK (a > 0)",
    "INSERT INTO d VALUES (0)",
    "ALTER TABLE d ALTER COLUMN b SET NOT NULL",
    "ALTER TABLE d ALTER COLUMN a SET NOT NULL, ALTER COLUMN e SET NOT NULL",
    "INSERT INTO d (a, e) VALUES (10, NULL)",
    "ALTER TABLE d ALTER COLUMN e DROP NOT NULL",
    "INSERT INTO d (a, e) VALUES (10, NULL)",
    "ALTER TABLE d ALTER COLUMN e SET DEFAULT 11",
    "INSERT INTO d (a) VALUES (11)",
    "ALTER TABLE d ALTER COLUMN e DROP DEFAULT",
    "ALTER TABLE d ADD UNIQUE (c)",
    "UPDATE d SET c = a WHERE c = 7",
    "ALTER TABLE d ADD UNIQUE (c), ADD PRIMARY KEY (a)",
    "INSERT INTO d (a) VALUES (11)",
    "INSERT INTO d (a, c) VALUES (12, 2)",
    "SELECT conname, contype, conkey, pg_get_constraintdef(oid) FROM pg_constraint
     WHERE conrelid = 'd'::regclass ORDER BY 1",
    "ALTER TABLE d RENAME COLUMN b TO bb",
    "ALTER TABLE d RENAME CONSTRAINT positive TO above",
    "ALTER TABLE d RENAME TO t",
    "ALTER TABLE d RENAME TO dd",
    "SELECT * FROM d",
    "ALTER TABLE dd DROP COLUMN c",
    "ALTER TABLE dd ALTER COLUMN g DROP EXPRESSION",
    "ALTER TABLE dd ALTER a TYPE bigint",
    "ALTER TABLE dd ALTER COLUMN bb TYPE int USING length(bb)",
    "SELECT * FROM dd ORDER BY a",
    "SELECT a, bb FROM dd WHERE a = 2",
    "CREATE UNIQUE INDEX dd_bb ON dd (bb)",
    "ALTER TABLE dd ADD CONSTRAINT dd_only UNIQUE USING INDEX dd_bb",
    "ALTER TABLE dd ADD CONSTRAINT again UNIQUE USING INDEX dd_bb",
    "SELECT conname, contype FROM pg_constraint WHERE conrelid = 'dd'::regclass ORDER BY 1",
    "SELECT a FROM dd WHERE bb = 1 ORDER BY a",
    "DROP INDEX dd_only",
    "ALTER TABLE dd DROP CONSTRAINT dd_only",
    "ALTER TABLE dd DROP CONSTRAINT d_pkey",
    "ALTER TABLE dd DROP CONSTRAINT above, DROP CONSTRAINT d_pkey",
    "ALTER TABLE dd DROP CONSTRAINT IF EXISTS above",
    "SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef FROM pg_attribute
     WHERE attrelid = 'dd'::regclass AND attnum > 0 ORDER BY attnum",
    "ALTER TABLE nowhere ADD x int",
    "ALTER TABLE IF EXISTS nowhere ADD x int",
    "BEGIN",
    "ALTER TABLE dd ADD COLUMN h int DEFAULT 1",
    "UPDATE dd SET h = a",
    "INSERT INTO dd (a, h) VALUES (20, 20)",
    "SELECT a, h FROM dd ORDER BY a",
    "SAVEPOINT s",
    "CREATE UNIQUE INDEX dd_h ON dd (h)",
    "SELECT a FROM dd WHERE h = 20",
    "INSERT INTO dd (a, h) VALUES (21, 20)",
    "ROLLBACK TO s",
    "INSERT INTO dd (a, h) VALUES (21, 20)",
    "CREATE INDEX dd_h ON dd (h)",
    "SELECT a FROM dd WHERE h = 20 ORDER BY a",
    "CREATE UNIQUE INDEX ON dd (h)",
    "ROLLBACK TO s",
    "ALTER TABLE dd DROP COLUMN e",
    "INSERT INTO dd (a, h) VALUES (22, 20)",
    "COMMIT",
    "SELECT * FROM dd ORDER BY a",
    "CREATE INDEX dd_h ON dd (h)",
    "SELECT a FROM dd WHERE h = 20 ORDER BY a",
    "BEGIN",
    "CREATE TABLE ee (a int)",
    "INSERT INTO ee VALUES (1), (2)",
    "CREATE UNIQUE INDEX ON ee (a)",
    "ALTER TABLE ee ADD COLUMN b int DEFAULT 3",
    "SELECT * FROM ee WHERE a = 2",
    "INSERT INTO ee VALUES (2)",
    "ROLLBACK",
    "BEGIN",
    "CREATE TABLE ee (a int)",
    "INSERT INTO ee VALUES (1), (1)",
    "CREATE UNIQUE INDEX ON ee (a)",
    "ROLLBACK",
    "BEGIN",
    "INSERT INTO dd (a) VALUES (30)",
    "TRUNCATE dd",
    "SELECT count(*) FROM dd",
    "INSERT INTO dd (a) VALUES (31)",
    "DROP TABLE dd",
    "ROLLBACK",
    "SELECT count(*) FROM dd",
    "ALTER TABLE s2 RENAME TO s3",
    "CREATE TABLE s2 (id serial, v int)",
    "ALTER TABLE s2 RENAME TO s3",
    "ALTER TABLE s3 RENAME COLUMN id TO no",
    "INSERT INTO s3 (v) VALUES (1) RETURNING *",
    "ALTER TABLE s3 DROP COLUMN no",
    "SELECT nextval('s2_id_seq')",
    "DROP TABLE s3, dd",
    "DROP TABLE names",
    "DROP TABLE checked, t",
    "SELECT * FROM t",
    "DROP TABLE t",
    "DROP TABLE IF EXISTS t",
];

fn answers_are_alike(name: &str, stores: usize) {
    let cluster = Cluster::start(name, stores);
    let node = cluster.node();
    let (mut shared, mut own) = (client(&node), client(&node));
    shared.batch_execute("SET search_path = shared").expect("a setting");
    own.batch_execute("SET search_path = public").expect("a setting");
    for statement in ALIKE {
        let (mut found, mut wanted) = (answer(&mut shared, statement), answer(&mut own, statement));
        if !statement.contains("ORDER BY") {
            found.sort();
            wanted.sort();
        }
        assert_eq!(found, wanted, "{statement}");
    }
}

#[test]
fn answers_are_those_of_own_tables_on_one_store() {
    answers_are_alike("alike-one", 1);
}

#[test]
fn answers_are_those_of_own_tables_on_three_stores() {
    answers_are_alike("alike-three", 3);
}

#[test]
fn nodes_see_what_others_commit() {
    let cluster = Cluster::start("seen", 2);
    let (mut first, second) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&first), client(&second));
    assert_eq!(rows(&mut a, "SHOW search_path"), ["shared, \"$user\", public"]);
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text)").expect("it is new");
    a.batch_execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')").expect("they are new");
    assert_eq!(rows(&mut b, "SELECT * FROM t ORDER BY id"), ["1|a", "2|b"]);
    b.batch_execute("UPDATE shared.t SET v = 'B' WHERE id = 2").expect("it is there");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 2"), ["B"]);

    // A transaction keeps its snapshot, and loses to who committed first.
    a.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").expect("no transaction");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), ["a"]);
    b.batch_execute("UPDATE t SET v = 'x' WHERE id = 1").expect("it is there");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), ["a"]);
    assert_eq!(state(&mut a, "UPDATE t SET v = 'y' WHERE id = 1; COMMIT"), "40001");
    a.batch_execute("ROLLBACK").expect("it failed");
    assert_eq!(rows(&mut a, "SELECT v FROM t WHERE id = 1"), ["x"]);

    // READ COMMITTED sees what is committed between its statements, until it has changes.
    a.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").expect("no transaction");
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), ["2"]);
    b.batch_execute("INSERT INTO t VALUES (3, 'c')").expect("it is new");
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), ["3"]);
    a.batch_execute("COMMIT").expect("it read only");

    // A statement alone in its transaction is not told of that: it runs again.
    let adds = |address: &cluster::Process| {
        let mut client = client(address);
        std::thread::spawn(move || {
            for _ in 0..20 {
                client.batch_execute("UPDATE t SET v = v || '+' WHERE id = 3")?;
                client.batch_execute(
                    "INSERT INTO t VALUES (9, '+') ON CONFLICT (id) DO UPDATE SET v = t.v || '+'",
                )?;
            }
            Ok::<_, postgres::Error>(())
        })
    };
    for added in [adds(&first), adds(&second)] {
        added.join().expect("no panic").expect("it is tried again");
    }
    let lengths = "SELECT id, length(v) FROM t WHERE id IN (3, 9) ORDER BY id";
    assert_eq!(rows(&mut a, lengths), ["3|41", "9|40"]);

    // Nodes take numbers apart from each other.
    a.batch_execute("CREATE TABLE n (id serial PRIMARY KEY, v text)").expect("it is new");
    for client in [&mut a, &mut b] {
        let add = "INSERT INTO n (v) SELECT 'x' FROM generate_series(1, 50)";
        client.batch_execute(add).expect("numbers are new");
    }
    assert_eq!(rows(&mut b, "SELECT count(*), count(DISTINCT id) FROM n"), ["100|100"]);
    // And give none that they took before a restart, or other options.
    a.batch_execute("TRUNCATE n RESTART IDENTITY").expect("it is there");
    assert_eq!(rows(&mut b, "INSERT INTO n (v) VALUES ('x') RETURNING id"), ["1"]);
    assert_eq!(rows(&mut a, "INSERT INTO n (v) VALUES ('x') RETURNING id"), ["33"]);
    b.batch_execute("ALTER SEQUENCE n_id_seq INCREMENT 10").expect("it is there");
    assert_eq!(rows(&mut a, "INSERT INTO n (v) VALUES ('x') RETURNING id"), ["74"]);

    // Both take a key that nobody has: the first one that commits has it.
    a.batch_execute("BEGIN; INSERT INTO t VALUES (4, 'a')").expect("it is new");
    b.batch_execute("BEGIN; INSERT INTO t VALUES (4, 'b')").expect("nobody sees the other");
    b.batch_execute("COMMIT").expect("it is the first");
    assert_eq!(state(&mut a, "COMMIT"), "23505");
    let double = a.batch_execute("INSERT INTO t VALUES (4, 'a')").expect_err("it is there");
    let double = double.as_db_error().expect("an error of the server");
    assert_eq!((double.table(), double.constraint()), (Some("t"), Some("t_pkey")));
    assert_eq!(double.detail(), Some("Key (id)=(4) already exists."));

    // Definitions are seen, too, and prepared statements are what the tables are now.
    let prepared = b.prepare("SELECT v FROM t WHERE id = $1").expect("the table is there");
    assert_eq!(b.query_one(&prepared, &[&4]).expect("it is there").get::<_, &str>(0), "b");
    a.batch_execute("DROP TABLE t; CREATE TABLE t (id int, v text)").expect("one after another");
    assert!(b.query(&prepared, &[&4]).expect("the new table").is_empty());

    // A node that dies takes along what it had not committed, and nothing else.
    a.batch_execute("INSERT INTO t VALUES (1, 'kept')").expect("there is no key");
    a.batch_execute("BEGIN; INSERT INTO t VALUES (2, 'lost')").expect("there is no key");
    first.kill();
    assert_eq!(rows(&mut b, "SELECT * FROM t"), ["1|kept"]);
    let again = cluster.node();
    let mut a = client(&again);
    assert_eq!(rows(&mut a, "SELECT * FROM t"), ["1|kept"]);
    a.batch_execute("UPDATE t SET v = 'changed'").expect("nobody else writes it");
    assert_eq!(rows(&mut b, "SELECT * FROM t"), ["1|changed"]);
}

#[test]
fn no_value_comes_twice_while_a_sequence_gets_other_options() {
    let cluster = Cluster::start("sequence-options", 1);
    let (first, second) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&first), client(&second));
    let next = "SELECT nextval('sq')";
    a.batch_execute("CREATE SEQUENCE sq").expect("a sequence");
    let mut values = rows(&mut a, next);
    a.batch_execute("BEGIN; ALTER SEQUENCE sq MAXVALUE 1000000").expect("other options");
    (0..100).for_each(|_| values.extend(rows(&mut b, next)));
    values.extend(rows(&mut a, next));
    a.batch_execute("COMMIT").expect("committed");
    for _ in 0..50 {
        values.extend(rows(&mut a, next));
        values.extend(rows(&mut b, next));
    }
    let count = values.len();
    values.sort();
    values.dedup();
    assert_eq!(values.len(), count);
    a.batch_execute("ALTER SEQUENCE sq INCREMENT 1000").expect("other options");
    let last: i64 = rows(&mut a, next)[0].parse().expect("a number");
    assert_eq!(rows(&mut a, next), [(last + 1000).to_string()]);
    // A sequence that a column has, and takes no values of, is dropped.
    a.batch_execute("CREATE TABLE owns (x int PRIMARY KEY)").expect("a table");
    a.batch_execute("CREATE SEQUENCE owned; ALTER SEQUENCE owned OWNED BY owns.x").expect("owned");
    a.batch_execute("DROP SEQUENCE owned").expect("nobody needs it");
    a.batch_execute("CREATE TABLE takes (x serial PRIMARY KEY)").expect("a table");
    assert_eq!(state(&mut a, "DROP SEQUENCE takes_x_seq"), "2BP01");
}

#[test]
fn many_rows_come_and_go_at_once() {
    let cluster = Cluster::start("many", 2);
    let (node, mut other) = (cluster.node(), cluster.node());
    let (mut a, mut b) = (client(&node), client(&other));
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text UNIQUE, w int DEFAULT 7)")
        .expect("it is new");
    let line = |id: u32| format!("{id}\tv{}\n", id * 7919 % 20_011);
    let text: String = (0..20_000).map(line).collect();
    let mut copy = a.copy_in("COPY t (id, v) FROM STDIN").expect("the table is there");
    copy.write_all(text.as_bytes()).expect("the node reads");
    assert_eq!(copy.finish().expect("all are new"), 20_000);
    let sums = "SELECT count(*), sum(id), sum(w), count(DISTINCT v) FROM t";
    assert_eq!(rows(&mut b, sums), ["20000|199990000|140000|20000"]);
    assert_eq!(rows(&mut b, "SELECT id FROM t WHERE v = 'v7919'"), ["1"]);
    let mut read = Vec::new();
    let mut copy = b.copy_out("COPY t (id, v) TO STDOUT").expect("the table is there");
    copy.read_to_end(&mut read).expect("the node writes");
    drop(copy);
    let mut lines: Vec<&str> = std::str::from_utf8(&read).expect("text").lines().collect();
    lines.sort_unstable();
    let mut wanted: Vec<&str> = text.lines().collect();
    wanted.sort_unstable();
    assert!(lines == wanted, "{} lines", lines.len());

    // A double takes back all of them.
    let mut copy = a.copy_in("COPY t (id, v) FROM STDIN").expect("the table is there");
    copy.write_all(b"30000\tx\n30001\tv7919\n").expect("the node reads");
    let double = copy.finish().expect_err("v7919 is there");
    assert_eq!(double.code().map(|code| code.code()), Some("23505"));
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), ["20000"]);

    // A node that dies in the commit of many rows leaves all or none.
    let writer = std::thread::spawn(move || {
        // It is cut off, or was faster.
        drop(b.batch_execute(
            "INSERT INTO t SELECT i + 50000, 'w' || i FROM generate_series(1, 20000) i",
        ));
    });
    let begun = Instant::now();
    while rows(&mut a, "SELECT count(*) FROM t WHERE id = 50001") == ["0"]
        && begun.elapsed() < Duration::from_millis(1500)
    {}
    other.kill();
    writer.join().expect("no panic");
    let count = rows(&mut a, "SELECT count(*) FROM t");
    assert!(count == ["20000"] || count == ["40000"], "{count:?}");
    a.batch_execute("UPDATE t SET w = 8, v = v || 'x'").expect("nobody else writes");
    a.batch_execute("DELETE FROM t WHERE id > 10").expect("nobody else writes");
    assert_eq!(rows(&mut a, "SELECT id, w FROM t WHERE v = 'v7919x'"), ["1|8"]);
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), ["11"]);
}

#[test]
fn rows_are_found_by_keys_and_restrictions_go_to_the_stores() {
    let cluster = Cluster::start("found", 2);
    let node = cluster.node();
    let mut a = client(&node);
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v int, w text, UNIQUE (v, w))")
        .expect("it is new");
    a.batch_execute("INSERT INTO t SELECT i, i % 10, i::text FROM generate_series(1, 500) i")
        .expect("they are new");
    let plan = rows(&mut a, "EXPLAIN SELECT w FROM t WHERE v = 3 AND id > 100");
    assert!(plan.iter().any(|line| line.contains("where v = 3 and id > 100")), "{plan:?}");
    let by = a.prepare("SELECT w FROM t WHERE id = $1").expect("the table is there");
    for id in [1, 250, 500] {
        assert_eq!(a.query_one(&by, &[&id]).expect("one").get::<_, String>(0), id.to_string());
    }
    assert!(a.query(&by, &[&501]).expect("none").is_empty());
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t WHERE v = 3"), ["50"]);
    assert_eq!(rows(&mut a, "SELECT id FROM t WHERE v IN (3, 4) AND w = '14'"), ["14"]);
    assert_eq!(rows(&mut a, "SELECT sum(id) FROM t WHERE id BETWEEN 100 AND 200"), ["15150"]);
    a.batch_execute("UPDATE t SET v = -v WHERE v = 3").expect("they are there");
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t WHERE v = 3"), ["0"]);
    assert_eq!(rows(&mut a, "SELECT count(*), min(id) FROM t WHERE v = -3"), ["50|3"]);
}

#[test]
fn what_there_is_not_is_refused() {
    let cluster = Cluster::start("refused", 1);
    let node = cluster.node();
    let mut a = client(&node);
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text)").expect("it is new");
    a.batch_execute("CREATE TABLE public.own (id int)").expect("it is new");
    a.batch_execute("CREATE TABLE public.kept (id int PRIMARY KEY)").expect("it is new");
    a.batch_execute("CREATE TABLE large (v text UNIQUE)").expect("it is new");
    a.batch_execute("CREATE SEQUENCE s").expect("it is new");
    a.batch_execute("CREATE SEQUENCE public.z").expect("it is new");
    for statement in [
        "ALTER TABLE t ADD COLUMN w money",
        "ALTER TABLE t ALTER COLUMN v SET DEFAULT nextval('public.z')",
        "ALTER TABLE t ADD UNIQUE (v) DEFERRABLE",
        "CREATE INDEX ON t ((id::numeric / 3))",
        "CREATE UNIQUE INDEX ON t (v) NULLS NOT DISTINCT",
        "DROP INDEX t_pkey, public.own",
        "BEGIN; INSERT INTO t VALUES (1, 'a'); ALTER TABLE t ADD COLUMN w int",
        "BEGIN; INSERT INTO t VALUES (1, 'a'); TRUNCATE large; CREATE INDEX ON t (v)",
        "WITH x AS (INSERT INTO t VALUES (1, 'a') RETURNING id) SELECT * FROM x",
        "TRUNCATE t, public.own",
        "CREATE TABLE u WITH (layout = 'x') AS SELECT 1",
        "LOCK TABLE t",
        "CREATE VIEW v AS SELECT 1",
        "ALTER SEQUENCE s OWNED BY public.own.id",
        "CREATE TABLE u (id int DEFAULT nextval('public.z'))",
        "CREATE TABLE u (id int REFERENCES t DEFERRABLE)",
        "CREATE TABLE u (id int REFERENCES public.kept)",
        "CREATE TABLE public.u (id int REFERENCES shared.t)",
        "CREATE TABLE u (id int[] PRIMARY KEY)",
        "CREATE TABLE u (id money)",
        "CREATE TABLE u (id numeric PRIMARY KEY)",
        "CREATE TABLE u (id int PRIMARY KEY DEFERRABLE)",
        "CREATE TABLE u (id int) PARTITION BY RANGE (id)",
        "CREATE TABLE u (w int) INHERITS (t)",
        "CREATE TABLE public.u (w int) INHERITS (shared.t)",
        "BEGIN; INSERT INTO public.own VALUES (1); INSERT INTO t VALUES (1, 'a')",
        "BEGIN; INSERT INTO t VALUES (1, 'a'); INSERT INTO public.own VALUES (1)",
        "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM t",
    ] {
        assert_eq!(state(&mut a, statement), "0A000", "{statement}");
        a.batch_execute("ROLLBACK").expect("of whatever began");
    }
    assert_eq!(state(&mut a, "SELECT * FROM t FOR UPDATE"), "42809");
    assert_eq!(state(&mut a, "BEGIN READ ONLY; INSERT INTO t VALUES (1, 'a')"), "25006");
    a.batch_execute("ROLLBACK").expect("of whatever began");
    let large = "x".repeat(3000);
    assert_eq!(state(&mut a, &format!("INSERT INTO large VALUES ('{large}')")), "54000");
    a.batch_execute(&format!("INSERT INTO t VALUES (7, '{large}')")).expect("v has no key");
    assert_eq!(state(&mut a, "CREATE INDEX ON t (v)"), "54000");
    a.batch_execute("DELETE FROM t").expect("it is there");
    // Others than superusers have no rights there.
    a.batch_execute("CREATE ROLE guest LOGIN; SET ROLE guest").expect("it is new");
    assert_eq!(state(&mut a, "SELECT * FROM shared.t"), "42501");
    assert_eq!(state(&mut a, "CREATE TABLE shared.x (id int)"), "42501");
    a.batch_execute("RESET ROLE").expect("a setting");
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), ["0"]);
    assert_eq!(rows(&mut a, "SELECT count(*) FROM public.own"), ["0"]);
}

#[test]
fn processes_that_are_not_there_are_named() {
    let mut cluster = Cluster::start("named", 1);
    let stores = cluster.stores();
    let refused = |manager: &str, stores: &str| {
        let program = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["--shared", manager, "--stores", stores, "-c", "SELECT 1"])
            .output();
        let output = program.expect("the program was built");
        assert!(!output.status.success(), "{manager} {stores}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // Nobody listens at a port that was just given back.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let nobody = free.local_addr().expect("it is bound").to_string();
    drop(free);
    let said = refused(&nobody, &stores);
    assert!(said.contains("08006") && said.contains(&nobody), "{said}");
    let said = refused(&cluster.manager.address, &nobody);
    assert!(said.contains("08006") && said.contains(&nobody), "{said}");

    // What needs no shared table goes on when a store is away, and what needs one fails in time.
    let node = cluster.node();
    let mut a = client(&node);
    a.batch_execute("CREATE TABLE t (id int)").expect("it is new");
    cluster.stores[0].kill();
    assert_eq!(rows(&mut a, "SELECT 1"), ["1"]);
    let began = Instant::now();
    let error = a.batch_execute("SELECT * FROM t").expect_err("the store is away");
    assert!(began.elapsed() < Duration::from_secs(120), "{error}");
    let known = error.code().map(|code| code.code().to_owned());
    assert!(matches!(known.as_deref(), Some("08006" | "57P01")), "{error}");
    assert_eq!(rows(&mut a, "SELECT 2"), ["2"]);
}
