//! Scenarios of tokio-postgres: clients PORT PASSWORD. What each came to is printed as
//! "status\tscenario\twhy".

use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::{SinkExt, StreamExt, TryStreamExt, pin_mut};
use time::macros::{date, datetime};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, IsolationLevel, NoTls, SimpleQueryMessage};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;
type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

const LONG: &str = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3";

struct Scenario {
    name: &'static str,
    run: fn(&Config) -> Running<'_>,
}

macro_rules! scenarios {
    ($($name:literal $run:ident;)*) => {
        &[$(Scenario { name: $name, run: |config| Box::pin($run(config)) }),*]
    };
}

const SCENARIOS: &[Scenario] = scenarios! {
    "connects" connects;
    "wrong password" wrong_password;
    "values in binary" values;
    "nulls" nulls;
    "prepared statement, 200 times" prepared;
    "pipeline of 500" pipeline;
    "failed transaction" failed_transaction;
    "savepoints" savepoints;
    "isolation levels" isolation;
    "portals" portals;
    "COPY in text, 100,000 rows" copy_text;
    "COPY in binary, 100,000 rows" copy_binary;
    "cancel" cancel;
    "simple queries" simple_queries;
    "text of 8 MB" large_text;
    "columns of a statement" columns;
    "1,000 idle connections" idle;
    "200 busy connections" busy;
    "a dropped connection gives up its locks" dropped;
    "arrays" arrays;
    "listen and notify" notifications;
};

async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn expect<T: PartialEq + Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted { Ok(()) } else { Err(format!("{found:?} instead of {wanted:?}").into()) }
}

fn refused<T>(result: Result<T, tokio_postgres::Error>, state: &str) -> Outcome {
    match result {
        Err(error) if error.code().is_some_and(|code| code.code() == state) => Ok(()),
        Err(error) => Err(format!("not refused with {state}: {error:?}").into()),
        Ok(_) => Err(format!("not refused with {state}").into()),
    }
}

async fn connects(config: &Config) -> Outcome {
    let client = connect(config).await?;
    expect(client.query_one("select 1", &[]).await?.get::<_, i32>(0), 1)
}

async fn wrong_password(config: &Config) -> Outcome {
    refused(config.clone().password("wrong").connect(NoTls).await.map(drop), "28P01")
}

async fn values(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let sql = "select $1::int2, $2::int4, $3::int8, $4::float4, $5::float8, $6::bool, $7::text, \
               $8::bytea, $9::date, $10::time, $11::timestamp, $12::timestamptz, $13::uuid";
    let day = date!(1999 - 12 - 31);
    let (noon, moment) = (time::macros::time!(12:00:00.5), datetime!(2026-01-02 03:04:05.678901));
    let (zoned, key) = (moment.assume_utc(), uuid::Uuid::from_u128(0xa0ee_bc99_9c0b));
    let (a, b, c, d, e) = (-32768_i16, i32::MAX, i64::MIN, 1.5_f32, 0.1_f64);
    let (yes, text, bytes) = (true, "x'y", vec![0_u8, 1, 255]);
    let sent: [&(dyn ToSql + Sync); 13] =
        [&a, &b, &c, &d, &e, &yes, &text, &bytes, &day, &noon, &moment, &zoned, &key];
    let row = client.query_one(sql, &sent).await?;
    expect((row.get(0), row.get(1), row.get(2), row.get(3), row.get(4)), (a, b, c, d, e))?;
    expect((row.get(5), row.get::<_, &str>(6), row.get(7)), (yes, text, bytes))?;
    expect((row.get(8), row.get(9), row.get(10), row.get(11)), (day, noon, moment, zoned))?;
    expect(row.get(12), key)
}

async fn nulls(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let (a, b) = (None::<i32>, None::<String>);
    let row = client.query_one("select $1::int4, $2::text, null::bytea", &[&a, &b]).await?;
    expect((row.get(0), row.get(1), row.get(2)), (a, b, None::<Vec<u8>>))
}

async fn prepared(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let statement = client.prepare("select $1::int4 + 1").await?;
    for i in 0..200 {
        expect(client.query_one(&statement, &[&i]).await?.get::<_, i32>(0), i + 1)?;
    }
    Ok(())
}

async fn pipeline(config: &Config) -> Outcome {
    let client = connect(config).await?;
    client.batch_execute("create temp table p (a int primary key)").await?;
    let insert = client.prepare("insert into p values ($1)").await?;
    let keys: Vec<i32> = (0..500).collect();
    let (insert, client) = (&insert, &client);
    try_join_all(keys.iter().map(|key| async move { client.execute(insert, &[key]).await }))
        .await?;
    let row = client.query_one("select count(*), sum(a) from p", &[]).await?;
    expect((row.get(0), row.get(1)), (500_i64, 124_750_i64))
}

async fn failed_transaction(config: &Config) -> Outcome {
    let mut client = connect(config).await?;
    let transaction = client.transaction().await?;
    refused(transaction.query("select 1/0", &[]).await, "22012")?;
    refused(transaction.query("select 1", &[]).await, "25P02")?;
    transaction.rollback().await?;
    expect(client.query_one("select 1", &[]).await?.get::<_, i32>(0), 1)
}

async fn savepoints(config: &Config) -> Outcome {
    let mut client = connect(config).await?;
    client.batch_execute("create temp table s (a int primary key)").await?;
    let mut outer = client.transaction().await?;
    outer.execute("insert into s values (1)", &[]).await?;
    let inner = outer.savepoint("mine").await?;
    refused(inner.execute("insert into s values (1)", &[]).await, "23505")?;
    inner.rollback().await?;
    outer.commit().await?;
    expect(client.query_one("select count(*) from s", &[]).await?.get::<_, i64>(0), 1)
}

async fn isolation(config: &Config) -> Outcome {
    let (mut one, other) = (connect(config).await?, connect(config).await?);
    other
        .batch_execute(
            "drop table if exists rust_iso; create table rust_iso (a int); \
             insert into rust_iso values (1)",
        )
        .await?;
    let levels = [
        // What a transaction sees of a change that is committed meanwhile.
        (IsolationLevel::ReadCommitted, [1, 2]),
        (IsolationLevel::RepeatableRead, [2, 2]),
        (IsolationLevel::Serializable, [3, 3]),
    ];
    for (level, [before, after]) in levels {
        let transaction = one.build_transaction().isolation_level(level).start().await?;
        let read = "select a from rust_iso";
        expect(transaction.query_one(read, &[]).await?.get(0), before)?;
        other.execute("update rust_iso set a = a + 1", &[]).await?;
        expect(transaction.query_one(read, &[]).await?.get(0), after)?;
        transaction.commit().await?;
    }
    Ok(())
}

async fn portals(config: &Config) -> Outcome {
    let mut client = connect(config).await?;
    let transaction = client.transaction().await?;
    let portal = transaction.bind("select i from generate_series(1, 1050) as g(i)", &[]).await?;
    let (mut sum, mut rounds) = (0_i64, 0);
    loop {
        let rows = transaction.query_portal(&portal, 100).await?;
        sum += rows.iter().map(|row| i64::from(row.get::<_, i32>(0))).sum::<i64>();
        rounds += 1;
        if rows.len() < 100 {
            break;
        }
    }
    expect((sum, rounds), (1050 * 1051 / 2, 11))
}

async fn copy_text(config: &Config) -> Outcome {
    let client = connect(config).await?;
    client.batch_execute("create temp table c (a int, b text)").await?;
    let sink = client.copy_in("copy c from stdin").await?;
    pin_mut!(sink);
    for start in (0..100_000).step_by(1000) {
        let line = |i: i32| match i % 10 {
            0 => format!("{i}\t\\N\n"),
            _ => format!("{i}\trow\\t{i}\n"),
        };
        let lines: String = (start..start + 1000).map(line).collect();
        sink.send(Bytes::from(lines)).await?;
    }
    expect(sink.finish().await?, 100_000)?;
    let lines = client.copy_out("copy c to stdout").await?;
    let bytes = lines.try_fold(0, |sum, piece| async move { Ok(sum + piece.len()) }).await?;
    expect(bytes > 1_000_000, true)?;
    let row = client.query_one("select count(*), count(b) from c", &[]).await?;
    expect((row.get(0), row.get(1)), (100_000_i64, 90_000_i64))
}

async fn copy_binary(config: &Config) -> Outcome {
    let client = connect(config).await?;
    client.batch_execute("create temp table c (a int8, b text, d float8)").await?;
    let types = [Type::INT8, Type::TEXT, Type::FLOAT8];
    let sink = client.copy_in("copy c from stdin (format binary)").await?;
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for i in 0..100_000_i64 {
        let text = (i % 10 != 0).then(|| format!("row {i}"));
        writer.as_mut().write(&[&i, &text, &(i as f64 / 4.0)]).await?;
    }
    expect(writer.finish().await?, 100_000)?;
    let rows = client.copy_out("copy c to stdout (format binary)").await?;
    let rows = BinaryCopyOutStream::new(rows, &types).try_collect::<Vec<_>>().await?;
    expect(rows.len(), 100_000)?;
    expect(rows.iter().map(|row| row.get::<i64>(0)).sum::<i64>(), 4_999_950_000)?;
    expect(rows.iter().filter(|row| row.get::<Option<&str>>(1).is_some()).count(), 90_000)
}

async fn cancel(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let token = client.cancel_token();
    let later = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    };
    let (result, cancelled) = futures_util::join!(client.query(LONG, &[]), later);
    cancelled?;
    refused(result, "57014")?;
    expect(client.query_one("select 1", &[]).await?.get::<_, i32>(0), 1)
}

async fn simple_queries(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let messages =
        client.simple_query("select 1 as a; select 'x', null; select 2 where false").await?;
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect())
        }
        _ => None,
    };
    let rows: Vec<Vec<Option<String>>> = messages.iter().filter_map(row).collect();
    expect(rows, vec![vec![Some("1".to_owned())], vec![Some("x".to_owned()), None]])
}

async fn large_text(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let text = "größer ".repeat(1 << 20);
    let row = client.query_one("select $1::text", &[&text]).await?;
    expect(row.get::<_, &str>(0) == text, true)
}

async fn columns(config: &Config) -> Outcome {
    let client = connect(config).await?;
    client.batch_execute("create temp table m (a int, b numeric(10, 2), c varchar(5))").await?;
    let statement = client.prepare("select a, b, c, now() as d from m where a = $1").await?;
    let column =
        |column: &tokio_postgres::Column| (column.name().to_owned(), column.type_().clone());
    let found: Vec<_> = statement.columns().iter().map(column).collect();
    let wanted =
        [("a", Type::INT4), ("b", Type::NUMERIC), ("c", Type::VARCHAR), ("d", Type::TIMESTAMPTZ)];
    expect(found, wanted.map(|(name, ty)| (name.to_owned(), ty)).to_vec())?;
    expect(statement.params(), &[Type::INT4])
}

async fn idle(config: &Config) -> Outcome {
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.extend(try_join_all((0..50).map(|_| connect(config))).await?);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let begin = SystemTime::now();
    for client in &clients {
        expect(client.query_one("select 1", &[]).await?.get::<_, i32>(0), 1)?;
    }
    expect(begin.elapsed()? < Duration::from_secs(30), true)
}

async fn busy(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let begin = "drop table if exists rust_busy; \
                 create table rust_busy (client int, n int, primary key (client, n))";
    client.batch_execute(begin).await?;
    let work = (0..200).map(|number| async move {
        let mut client = connect(config).await?;
        for n in 0..20 {
            let transaction = client.transaction().await?;
            transaction.execute("insert into rust_busy values ($1, $2)", &[&number, &n]).await?;
            transaction.commit().await?;
        }
        Ok::<_, tokio_postgres::Error>(())
    });
    try_join_all(work).await?;
    expect(client.query_one("select count(*) from rust_busy", &[]).await?.get::<_, i64>(0), 4000)
}

async fn dropped(config: &Config) -> Outcome {
    let client = connect(config).await?;
    client
        .batch_execute(
            "drop table if exists rust_lock; create table rust_lock (a int); \
             insert into rust_lock values (1)",
        )
        .await?;
    let (mut holder, connection) = config.connect(NoTls).await?;
    let connection = tokio::spawn(connection);
    let transaction = holder.transaction().await?;
    transaction.execute("update rust_lock set a = 2", &[]).await?;
    // The socket closes without a word.
    connection.abort();
    let update = client.execute("update rust_lock set a = 3 where a = 1", &[]);
    expect(tokio::time::timeout(Duration::from_secs(10), update).await??, 1)
}

async fn arrays(config: &Config) -> Outcome {
    let client = connect(config).await?;
    let row = client.query_one("select 2 = any($1)", &[&vec![1, 2]]).await?;
    expect(row.get::<_, bool>(0), true)?;
    let row = client.query_one("select $1::text[]", &[&vec!["a", "b"]]).await?;
    expect(row.get::<_, Vec<String>>(0), vec!["a".to_owned(), "b".to_owned()])
}

async fn notifications(config: &Config) -> Outcome {
    let (client, mut connection) = config.connect(NoTls).await?;
    let (sender, heard) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let mut sender = Some(sender);
        let mut messages =
            futures_util::stream::poll_fn(move |context| connection.poll_message(context));
        while let Some(message) = messages.next().await {
            if let Ok(AsyncMessage::Notification(notification)) = message
                && let Some(sender) = sender.take()
            {
                let _ = sender.send(notification.payload().to_owned());
            }
        }
    });
    client.batch_execute("listen news; notify news, 'hello'").await?;
    expect(tokio::time::timeout(Duration::from_secs(5), heard).await??, "hello".to_owned())
}

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, password] = arguments.as_slice() else { return Err("PORT PASSWORD".into()) };
    let mut config = Config::new();
    config.host("127.0.0.1").port(port.parse()?).dbname("tessera");
    config.user("tessera").password(password);
    for Scenario { name, run } in SCENARIOS {
        let outcome = tokio::time::timeout(Duration::from_secs(120), run(&config)).await;
        let outcome = outcome.map_err(Into::into).and_then(|outcome| outcome);
        let why = outcome.as_ref().err().map(|error| match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        });
        let why = why.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let status = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("{status}\t{name}\t{why}");
    }
    Ok(())
}
