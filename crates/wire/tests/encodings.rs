//! Clients whose encoding is not UTF-8: queries, parameters, rows, reports, COPY.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{Answer, Raw, Running, execute, message, start, sync};

fn seated_in(server: &Running, encoding: &str) -> Raw {
    let mut raw = server.raw();
    raw.send_startup(&[("user", "tessera"), ("client_encoding", encoding)]);
    let told = raw.until(b'Z');
    let name = format!("client_encoding\0{encoding}\0");
    assert!(told.iter().any(|a| a.kind == b'S' && a.body == name.as_bytes()), "{told:?}");
    raw
}

/// The answers to a query in the client's encoding.
fn asked(raw: &mut Raw, sql: &[u8]) -> Vec<Answer> {
    raw.send(&message(b'Q', &[sql, &[0]].concat()));
    raw.until(b'Z')
}

/// The values of the first row.
fn values(answers: &[Answer]) -> Vec<Vec<u8>> {
    let row = answers.iter().find(|answer| answer.kind == b'D').unwrap();
    let mut rest = &row.body[2..];
    let mut found = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (value, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        found.push(value.to_vec());
        rest = behind;
    }
    found
}

fn failure(answers: &[Answer]) -> &Answer {
    answers.iter().find(|answer| answer.kind == b'E').unwrap()
}

#[test]
fn queries_and_rows_are_in_the_encoding_of_the_client() {
    let server = start();
    let mut raw = seated_in(&server, "LATIN1");
    let found = values(&asked(&mut raw, b"select '\xe9\x80' as \"\xfc\", length('\xe9\x80')"));
    assert_eq!(found, [&b"\xe9\x80"[..], b"2"]);
    let columns = asked(&mut raw, b"select 1 as \"\xfc\"");
    assert!(columns[0].body[2..].starts_with(b"\xfc\0"), "{columns:?}");
    let missing = asked(&mut raw, b"select * from \"\xf1\"");
    let body = &failure(&missing).body;
    assert!(body.windows(3).any(|three| three == b"\"\xf1\""), "{body:?}");
    // Position counts characters.
    assert_eq!(failure(&asked(&mut raw, b"select '\xe9', x")).field(b'P'), "13");
    // The session goes on behind a row that the client cannot read, and in the same message.
    let lacking = asked(&mut raw, b"select 1; select chr(20013)");
    assert_eq!(failure(&lacking).field(b'C'), "22P05");
    assert_eq!(values(&asked(&mut raw, b"select 'still'")), [b"still"]);
    // What comes behind a change has its encoding.
    let changed = asked(&mut raw, b"set client_encoding = 'SJIS'; select U&'\\30BD'");
    assert_eq!(values(&changed), [b"\x83\x5c"]);
    assert_eq!(values(&asked(&mut raw, b"select length('\x83\x5c')")), [b"1"]);
    let broken = asked(&mut raw, b"select '\x83'");
    assert_eq!(failure(&broken).field(b'C'), "22021");
    let left = asked(&mut raw, b"begin; set local client_encoding = latin1; rollback");
    assert!(left.iter().any(|answer| answer.kind == b'Z'));
    assert_eq!(values(&asked(&mut raw, b"show client_encoding")), [b"SJIS"]);
}

#[test]
fn parameters_come_and_values_go_as_text_and_in_binary() {
    let server = start();
    let mut raw = seated_in(&server, "WIN1251");
    // Two parameters: one as text, one in binary; all columns in binary.
    let parse = [&b"\xef\0select $1::text, $2::text, array[$1::text], 1\0"[..], &[0, 0]].concat();
    let mut bind = b"\0\xef\0\0\x02\0\0\0\x01\0\x02".to_vec();
    for value in [b"\xe6", b"\xc6"] {
        bind.extend_from_slice(&[0, 0, 0, 1]);
        bind.extend_from_slice(value);
    }
    bind.extend_from_slice(&[0, 1, 0, 1]);
    let all = [message(b'P', &parse), message(b'B', &bind), execute("", 0), sync()].concat();
    raw.send(&all);
    let found = values(&raw.until(b'Z'));
    assert_eq!(found[..2], [b"\xe6", b"\xc6"]);
    assert!(found[2].ends_with(b"\0\0\0\x01\xe6"), "{found:?}");
    assert_eq!(found[3], 1_i32.to_be_bytes());
    // A value that is no text ends the messages up to Sync.
    let mut raw = seated_in(&server, "EUC_JP");
    let parse = [&b"\0select $1::text\0"[..], &[0, 0]].concat();
    let bind = b"\0\0\0\0\0\x01\0\0\0\x01\xa4\0\0";
    let all = [message(b'P', &parse), message(b'B', bind), execute("", 0), sync()].concat();
    raw.send(&all);
    let answers = raw.until(b'Z');
    assert_eq!(failure(&answers).field(b'C'), "22021");
    assert!(answers.iter().all(|answer| answer.kind != b'D'));
}

/// The answers to a COPY FROM STDIN and what the client sends with it.
fn copied_in(raw: &mut Raw, sql: &[u8], sent: &[Vec<u8>]) -> Vec<Answer> {
    raw.send(&[message(b'Q', &[sql, &[0]].concat()), sent.concat()].concat());
    raw.until(b'Z')
}

/// CopyData of each part, and CopyDone.
fn data(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let all = parts.iter().map(|part| message(b'd', part));
    all.chain([message(b'c', b"")]).collect()
}

#[test]
fn copy_reads_and_writes_encodings() {
    let server = start();
    let mut raw = seated_in(&server, "LATIN1");
    asked(&mut raw, b"create table t(a int, b text)");
    let mut copy_in = |sql: &[u8], parts: &[&[u8]]| copied_in(&mut raw, sql, &data(parts));
    copy_in(b"copy t from stdin", &[b"1\t\xe9\n"]);
    copy_in(b"copy t from stdin (format csv)", &[b"2,\"\xfc,\"\n"]);
    // A character that comes in two parts.
    copy_in(b"copy t from stdin (encoding 'sjis')", &[b"3\t\x95", b"\x5c\n"]);
    let broken = copy_in(b"copy t from stdin (encoding 'euc_jp')", &[b"4\t\xa4\n"]);
    assert_eq!(failure(&broken).field(b'C'), "22021");
    let given_up = copied_in(&mut raw, b"copy t from stdin", &[message(b'f', b"\xe9\0")]);
    assert!(failure(&given_up).body.windows(4).any(|found| found == b": \xe9\0"));
    let mut copy_in = |sql: &[u8], parts: &[&[u8]]| copied_in(&mut raw, sql, &data(parts));
    let unknown = copy_in(b"copy t from stdin (encoding 'nothing')", &[]);
    assert_eq!(failure(&unknown).field(b'C'), "22023");
    let mut copy_out = |sql: &[u8]| {
        let answers = asked(&mut raw, sql);
        let rows = answers.iter().filter(|answer| answer.kind == b'd');
        (rows.flat_map(|row| row.body.clone()).collect::<Vec<u8>>(), answers)
    };
    let (rows, _) = copy_out(b"copy (select * from t order by a) to stdout (encoding 'utf8')");
    assert_eq!(rows, "1\té\n2\tü,\n3\t表\n".as_bytes());
    let (rows, _) = copy_out(b"copy (select * from t where a < 3 order by a) to stdout csv");
    assert_eq!(rows, b"1,\xe9\n2,\"\xfc,\"\n");
    let (rows, _) = copy_out(b"copy (select * from t where a > 2) to stdout (encoding 'sjis')");
    assert_eq!(rows, b"3\t\x95\x5c\n");
    let (_, answers) = copy_out(b"copy t to stdout");
    assert_eq!(failure(&answers).field(b'C'), "22P05");
    let (rows, _) = copy_out(b"copy (select 'x\xe9'::text) to stdout binary");
    assert!(rows.windows(6).any(|found| found == b"\0\0\0\x02x\xe9"), "{rows:?}");
}

#[test]
fn encodings_that_are_not_there_are_refused() {
    let server = start();
    for (name, state) in [("nothing", "22023"), ("MULE_INTERNAL", "0A000"), ("JOHAB", "0A000")] {
        let mut raw = server.raw();
        raw.send_startup(&[("user", "tessera"), ("client_encoding", name)]);
        let refused = raw.until(b'E').pop().unwrap();
        assert_eq!(refused.field(b'C'), state);
    }
    let mut raw = seated_in(&server, "SQL_ASCII");
    assert_eq!(values(&asked(&mut raw, "select 'é'".as_bytes())), ["é".as_bytes()]);
    assert_eq!(failure(&asked(&mut raw, b"select '\xe9'")).field(b'C'), "22021");
}
