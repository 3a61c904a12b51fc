//! Arrays over the wire: parameters, results and COPY, in text and binary.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};

use postgres::types::Type;
use support::{bind, execute, parse, start, sync};

const TABLE: &str = "
    create table t (id int primary key, a int[], w text[], n numeric(8, 2)[], f float8[], b bool[]);
    insert into t values
        (1, '{1,NULL,3}', '{a,\"b c\",NULL,\"\"}', '{1.50,-2}', '{1.5,NaN}', '{t,f,NULL}'),
        (2, '{}', null, '{}', '{-Infinity}', null),
        (3, '[0:1]={7,8}', '{x}', null, null, '{}')";

#[test]
fn lists_are_parameters_and_results() {
    let server = start();
    let mut client = server.client();
    client.batch_execute(TABLE).unwrap();
    let ids = |rows: Vec<postgres::Row>| rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>();
    let found =
        client.query("select id from t where id = any($1) order by id", &[&vec![3_i32, 1, 1, 99]]);
    assert_eq!(ids(found.unwrap()), [1, 3]);
    let found = client.query(
        "select id from t where a @> $1 and w[1] = any($2)",
        &[&vec![3_i32], &vec![Some("a"), None]],
    );
    assert_eq!(ids(found.unwrap()), [1]);
    let wide =
        client.query("select id from t where id = any($1::bigint[])", &[&vec![2_i64, 1 << 40]]);
    assert_eq!(ids(wide.unwrap()), [2]);
    let row = client.query_one("select a, w, f, b from t where id = 1", &[]).unwrap();
    assert_eq!(row.get::<_, Vec<Option<i32>>>(0), [Some(1), None, Some(3)]);
    let words: Vec<Option<String>> = row.get(1);
    let words: Vec<Option<&str>> = words.iter().map(Option::as_deref).collect();
    assert_eq!(words, [Some("a"), Some("b c"), None, Some("")]);
    let floats: Vec<f64> = row.get(2);
    assert!(floats[0] == 1.5 && floats[1].is_nan());
    assert_eq!(row.get::<_, Vec<Option<bool>>>(3), [Some(true), Some(false), None]);
    let row = client.query_one("select a, w from t where id = 2", &[]).unwrap();
    assert!(row.get::<_, Vec<i32>>(0).is_empty());
    assert_eq!(row.get::<_, Option<Vec<String>>>(1), None);
    let inserted = client.execute(
        "insert into t (id, a, w) values ($1, $2, $3)",
        &[&4_i32, &vec![Some(i32::MIN), None], &Vec::<String>::new()],
    );
    assert_eq!(inserted.unwrap(), 1);
    let shown = client.query_one("select a::text, w::text from t where id = 4", &[]).unwrap();
    assert_eq!((shown.get(0), shown.get(1)), ("{-2147483648,NULL}", "{}"));
}

#[test]
fn types_are_described_by_their_numbers() {
    let server = start();
    let mut client = server.client();
    client.batch_execute(TABLE).unwrap();
    let statement = client.prepare("select a, w, n, f, b from t where id = any($1)").unwrap();
    assert_eq!(statement.params(), [Type::INT4_ARRAY]);
    let types: Vec<&Type> = statement.columns().iter().map(|column| column.type_()).collect();
    let expected = [
        Type::INT4_ARRAY,
        Type::TEXT_ARRAY,
        Type::NUMERIC_ARRAY,
        Type::FLOAT8_ARRAY,
        Type::BOOL_ARRAY,
    ];
    assert_eq!(types, expected.iter().collect::<Vec<_>>());
    let typed = client.prepare_typed("select $1 || 1::bigint", &[Type::INT8_ARRAY]).unwrap();
    assert_eq!(typed.columns()[0].type_(), &Type::INT8_ARRAY);
    let types = "select array[1::int2], array[date '2000-01-01'], array['x'::varchar],
        array[interval '1 s'], array['\\x00'::bytea], array[current_timestamp]";
    let statement = client.prepare(types).unwrap();
    let types: Vec<u32> = statement.columns().iter().map(|column| column.type_().oid()).collect();
    assert_eq!(types, [1005, 1182, 1015, 1187, 1001, 1185]);
}

#[test]
fn what_is_no_array_is_refused() {
    let server = start();
    let mut raw = server.seated();
    for (value, state) in [("{1,2", "22P02"), ("x", "22P02"), ("{{1},{2,3}}", "22P02")] {
        let sql = "select 1 = any($1::int[])";
        raw.send(&[parse("", sql), bind("", "", &[value]), execute("", 0), sync()].concat());
        let all = raw.until(b'Z');
        let error = all.iter().find(|answer| answer.kind == b'E').unwrap();
        assert_eq!(error.field(b'C'), state, "{value}");
    }
    let mut client = server.client();
    // A list of texts where numbers are wanted, in binary.
    let numbers =
        client.prepare_typed("select cardinality($1::int[])", &[Type::INT4_ARRAY]).unwrap();
    assert!(client.query(&numbers, &[&vec!["a"]]).is_err());
    let count: i32 = client.query_one(&numbers, &[&vec![1_i32, 2]]).unwrap().get(0);
    assert_eq!(count, 2);
}

#[test]
fn copy_takes_what_it_gave() {
    let server = start();
    let mut client = server.client();
    client.batch_execute(TABLE).unwrap();
    client.batch_execute("create table u as select * from t where false").unwrap();
    for format in ["text", "csv", "binary"] {
        let mut bytes = Vec::new();
        let copy = format!("copy (select * from t order by id) to stdout (format {format})");
        client.copy_out(&copy).unwrap().read_to_end(&mut bytes).unwrap();
        if format == "csv" {
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap();
            let expected = "1,\"{1,NULL,3}\",\"{a,\"\"b c\"\",NULL,\"\"\"\"}\",\"{1.50,-2.00}\",\
                \"{1.5,NaN}\",\"{t,f,NULL}\"";
            assert_eq!(String::from_utf8_lossy(first), expected);
        }
        client.batch_execute("delete from u").unwrap();
        let mut writer = client.copy_in(&format!("copy u from stdin (format {format})")).unwrap();
        writer.write_all(&bytes).unwrap();
        assert_eq!(writer.finish().unwrap(), 3, "{format}");
        let same = "select count(*) from t join u on t.id = u.id and t.a = u.a
            and t.w is not distinct from u.w and t.n is not distinct from u.n
            and t.f is not distinct from u.f and t.b is not distinct from u.b";
        assert_eq!(client.query_one(same, &[]).unwrap().get::<_, i64>(0), 3, "{format}");
    }
}
