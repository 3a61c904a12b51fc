//! The session's time zone as clients know it: of the startup message, told when it changes, in
//! texts, and without a trace in binary.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use support::{Answer, Raw, Running, bind, execute, parse, query, start, sync};

fn seated_in(server: &Running, zone: &str) -> (Raw, Vec<Answer>) {
    let mut raw = server.raw();
    raw.send_startup(&[("user", "tessera"), ("TimeZone", zone)]);
    let answers = raw.until(b'Z');
    (raw, answers)
}

/// The zone that these messages tell.
fn told(answers: &[Answer]) -> Option<String> {
    let told = answers.iter().filter(|answer| answer.kind == b'S').find_map(|answer| {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        text.strip_prefix("TimeZone\0").map(str::to_owned)
    });
    told.map(|value| value.trim_end_matches('\0').to_owned())
}

/// The only value of the only row.
fn value(answers: &[Answer]) -> String {
    let row = answers.iter().find(|answer| answer.kind == b'D').unwrap();
    String::from_utf8_lossy(&row.body[6..]).into_owned()
}

fn asked(raw: &mut Raw, sql: &str) -> Vec<Answer> {
    raw.send(&query(sql));
    raw.until(b'Z')
}

#[test]
fn the_zone_of_the_startup_message_counts() {
    let server = start();
    let (mut raw, answers) = seated_in(&server, "europe/berlin");
    assert_eq!(told(&answers).as_deref(), Some("Europe/Berlin"));
    let shown = asked(&mut raw, "select '2024-07-01 12:00'::timestamptz");
    assert_eq!(value(&shown), "2024-07-01 12:00:00+02");
    // What pgjdbc makes of GMT+05:30, which is no name.
    let (mut raw, answers) = seated_in(&server, "GMT-05:30");
    assert_eq!(told(&answers).as_deref(), Some("GMT-05:30"));
    let shown = asked(&mut raw, "select '2024-07-01 12:00+00'::timestamptz");
    assert_eq!(value(&shown), "2024-07-01 17:30:00+05:30");
    let mut raw = server.raw();
    raw.send_startup(&[("user", "tessera"), ("TimeZone", "Nowhere/Here")]);
    let refused = raw.until(b'E').pop().unwrap();
    assert_eq!(refused.field(b'C'), "22023");
}

#[test]
fn changes_are_told_and_reset_goes_back() {
    let server = start();
    let (mut raw, _) = seated_in(&server, "Asia/Tokyo");
    let zone = |raw: &mut Raw, sql: &str| told(&asked(raw, sql));
    assert_eq!(zone(&mut raw, "set time zone 'america/lima'").as_deref(), Some("America/Lima"));
    assert_eq!(zone(&mut raw, "select 1"), None);
    assert_eq!(zone(&mut raw, "set timezone = -8").as_deref(), Some("<-08>+08"));
    assert_eq!(zone(&mut raw, "begin; set local timezone = 'UTC'").as_deref(), Some("UTC"));
    assert_eq!(zone(&mut raw, "rollback").as_deref(), Some("<-08>+08"));
    assert_eq!(zone(&mut raw, "reset timezone").as_deref(), Some("Asia/Tokyo"));
    assert_eq!(asked(&mut raw, "set timezone = 'x'")[0].field(b'C'), "22023");
}

#[test]
fn parameters_and_kept_plans_follow_it() {
    let server = start();
    let (mut raw, _) = seated_in(&server, "Europe/Berlin");
    asked(&mut raw, "create table t (id int primary key, at timestamptz)");
    raw.send(&[parse("i", "insert into t values (1, $1)"), sync()].concat());
    raw.until(b'Z');
    let sql = "select at::text || ' ' || at::date || ' ' || ($1::timestamptz = at) from t \
               where id = 1";
    raw.send(&[parse("s", sql), sync()].concat());
    raw.until(b'Z');
    let run = |raw: &mut Raw, name: &str, text: &str| {
        raw.send(&[bind("", name, &[text]), execute("", 0), sync()].concat());
        raw.until(b'Z')
    };
    run(&mut raw, "i", "2024-07-01 01:00");
    let shown = run(&mut raw, "s", "2024-07-01 01:00");
    assert_eq!(value(&shown), "2024-07-01 01:00:00+02 2024-07-01 true");
    asked(&mut raw, "set timezone = 'America/New_York'");
    let shown = run(&mut raw, "s", "2024-07-01 01:00");
    assert_eq!(value(&shown), "2024-06-30 19:00:00-04 2024-06-30 false");
    let shown = run(&mut raw, "s", "2024-06-30 19:00");
    assert_eq!(value(&shown), "2024-06-30 19:00:00-04 2024-06-30 true");
}

#[test]
fn binary_values_are_instants() {
    let server = start();
    let mut config = server.config();
    let mut client = config.options("-c timezone=Asia/Kathmandu").connect(postgres::NoTls).unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(1_719_835_200);
    let row = client.query_one("select $1::timestamptz, $1::timestamptz::text", &[&time]).unwrap();
    assert_eq!(row.get::<_, SystemTime>(0), time);
    assert_eq!(row.get::<_, &str>(1), "2024-07-01 17:45:00+05:45");
}

#[test]
fn copy_reads_and_writes_by_its_clocks() {
    let server = start();
    let mut client = server.client();
    client
        .batch_execute(
            "create table t (id int, at timestamptz, all_of timestamptz[], \
             made timestamptz default '2024-07-01 12:00'); \
             set timezone = 'Europe/Berlin'",
        )
        .unwrap();
    let rows = "1\t2024-07-01 12:00\t{2024-01-01 12:00,NULL}\n2\tinfinity\t{}\n";
    let mut writer = client.copy_in("copy t (id, at, all_of) from stdin").unwrap();
    std::io::Write::write_all(&mut writer, rows.as_bytes()).unwrap();
    writer.finish().unwrap();
    let copied = |client: &mut postgres::Client, sql: &str| {
        let mut text = String::new();
        client.copy_out(sql).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let text = copied(&mut client, "copy t (id, at, all_of) to stdout");
    let berlin = "1\t2024-07-01 12:00:00+02\t{\"2024-01-01 12:00:00+01\",NULL}\n2\tinfinity\t{}\n";
    assert_eq!(text, berlin);
    // A default is what it was where it was made.
    let text = copied(&mut client, "copy (select made from t where id = 2) to stdout");
    assert_eq!(text, "2024-07-01 14:00:00+02\n");
    client.batch_execute("set timezone = 'UTC'").unwrap();
    let text = copied(&mut client, "copy (select at from t where id = 1) to stdout (format csv)");
    assert_eq!(text, "2024-07-01 10:00:00+00\n");
}
