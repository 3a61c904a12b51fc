//! Clients that are let in, and reasons that others are told; frames that are too large.

mod support;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use store::conformance::schema;
use store::server::{Layout, Store, StoreOptions};
use store::{
    Field, FieldType, Schema, Snapshot, StoreError, Table as _, TableKind, Tuple, Version,
};
use support::Stores;
use transport::{
    Change, Claim, Claimed, Cluster, Connection, ConnectionOptions, DatabaseId, Exchange,
    HEADER_BYTES, Listener, ListenerOptions, OwnDatabase, StoreService, StoreServiceOptions, Tasks,
    Token, block_on,
};
use types::Value;

const SECRET: &str = "horse!correct!battery";

fn token(text: &str) -> Token {
    Token::new(text).expect("long enough")
}

fn serve(options: ListenerOptions) -> Listener {
    let store = Arc::new(Store::open(StoreOptions::default()).expect("opens"));
    let service = StoreService::new(store, StoreServiceOptions::default());
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
    Listener::start(port, Arc::new(Exchange::new(service, 7)), options).expect("starts")
}

fn open(address: SocketAddr, token: Option<Token>) -> std::io::Result<Connection> {
    let patience = Duration::ZERO;
    Connection::open(address, ConnectionOptions { client: 1, patience, token, database: None })
}

/// The reason that a client of this database is told; `None` when it is let in.
fn told_of(address: SocketAddr, token: Option<Token>, id: u128, claim: Claim) -> Option<String> {
    let database = Some(Claimed { id: DatabaseId(id), claim });
    let patience = Duration::ZERO;
    let options = ConnectionOptions { client: 1, patience, token, database };
    let error = Connection::open(address, options).err()?;
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
    Some(error.to_string())
}

#[test]
fn clients_of_another_database_are_refused() {
    let another = "the process is one of another database";
    for secret in [None, Some(token(SECRET))] {
        let disk: Arc<dyn host::Io> = Arc::new(host::SimIo::new(1, host::Tear::Bytes));
        let directory = std::path::Path::new("/store");
        disk.create_directory(directory).expect("a directory");
        let own = OwnDatabase::in_directory(&disk, directory).expect("opens");
        let database = Some(Arc::new(own));
        let server =
            serve(ListenerOptions { token: secret.clone(), database, ..Default::default() });
        let there = server.address();
        let told = |id, claim| told_of(there, secret.clone(), id, claim);
        assert_eq!(told(5, Claim::Looks), None);
        // A stranger changes nothing.
        if secret.is_some() {
            assert!(told_of(there, Some(token("battery!horsecorrect")), 6, Claim::Takes).is_some());
        }
        assert_eq!(told(7, Claim::Takes), None);
        assert_eq!(told(7, Claim::Looks), None);
        assert_eq!(told(5, Claim::Looks).as_deref(), Some(another));
        assert_eq!(told(5, Claim::Takes).as_deref(), Some(another));
        // Who names none is let in as before.
        assert!(open(there, secret.clone()).is_ok());
    }
}

/// The reason that a client with this token is told; `None` when it is let in.
fn told(address: SocketAddr, token: Option<Token>) -> Option<String> {
    let error = open(address, token).err()?;
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
    Some(error.to_string())
}

#[test]
fn tokens_let_in() {
    let (right, wrong) = (token(SECRET), token("battery!horsecorrect"));
    let closed = serve(ListenerOptions { token: Some(right.clone()), ..Default::default() });
    let there = closed.address();
    assert_eq!(told(there, Some(wrong.clone())).as_deref(), Some("the token is wrong"));
    assert_eq!(told(there, None).as_deref(), Some("the server wants a token"));
    let connection = open(there, Some(right.clone())).expect("is let in");
    let cluster = Cluster::new(vec![Arc::clone(connection.channel())]);
    let rows = schema(TableKind::Transactional);
    let made = block_on(cluster.create("t", &rows, Layout::Rows), || cluster.flush());
    assert!(made.is_ok());
    // A server without it is not believed.
    let open = serve(ListenerOptions::default());
    let reason = "the server asks for no token: it may be another one";
    assert_eq!(told(open.address(), Some(right)).as_deref(), Some(reason));
    assert_eq!(told(open.address(), None), None);
}

/// A client that was let in, and comes back to a server with another secret, is told so at once.
#[test]
fn patience_ends_where_nobody_is_let_in() {
    let closed = |text| ListenerOptions { token: Some(token(text)), ..Default::default() };
    let first = serve(closed(SECRET));
    let address = first.address();
    let options = ConnectionOptions {
        client: 1,
        patience: Duration::from_secs(3600),
        token: Some(token(SECRET)),
        database: None,
    };
    let connection = Connection::open(address, options).expect("is let in");
    drop(first);
    let store = Arc::new(Store::open(StoreOptions::default()).expect("opens"));
    let service = StoreService::new(store, StoreServiceOptions::default());
    let port = loop {
        // The port of a server that ended may be busy for a moment.
        match TcpListener::bind(address) {
            Ok(port) => break port,
            Err(_) => std::thread::yield_now(),
        }
    };
    let exchange = Arc::new(Exchange::new(service, 8));
    let _second = Listener::start(port, exchange, closed("battery!horsecorrect")).expect("starts");
    let cluster = Cluster::new(vec![Arc::clone(connection.channel())]);
    let error = block_on(cluster.find("t"), || cluster.flush()).err().expect("is not let in");
    let StoreError::Unreachable(reason) = &error else { panic!("{error}") };
    assert!(reason.ends_with("the token is wrong"), "{reason}");
}

/// The answer to `bytes`.
fn say(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.write_all(bytes).expect("is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server ends it");
    answer
}

#[test]
fn strangers_are_told_what_is_spoken_here() {
    let secret = ListenerOptions { token: Some(token(SECRET)), ..Default::default() };
    for options in [ListenerOptions::default(), secret] {
        let is_closed = options.token.is_some();
        let server = serve(options);
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(&say(server.address(), bytes)).into_owned();
        let http = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert!(text(http).contains("expected a frame of version 1"));
        let mut frame = [0; HEADER_BYTES];
        frame[..3].copy_from_slice(b"TS\x02");
        assert!(text(&frame).contains("expected a frame of version 1"));
        frame[2] = 1;
        frame[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(text(&frame).contains("expected at most 67108864 bytes, found 4294967295"));
        if is_closed {
            // Who has not shown a token makes nobody wait for much.
            frame[4..8].copy_from_slice(&(1_u32 << 20).to_le_bytes());
            assert!(text(&frame).contains("expected at most 1024 bytes, found 1048576"));
        }
    }
}

/// A peer that speaks something else is not taken for a server.
#[test]
fn a_client_says_what_is_wrong_with_a_server() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = other.local_addr().expect("it is bound");
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().expect("a client");
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            .expect("is sent");
        let mut rest = Vec::new();
        // The client leaves.
        drop(stream.read_to_end(&mut rest));
    });
    let error = open(address, None).err().expect("no server of ours");
    assert!(error.to_string().contains("expected a frame of version 1"), "{error}");
    answers.join().expect("answers");
}

#[test]
fn a_full_server_closes_connections() {
    let server = serve(ListenerOptions { connections: 1, ..Default::default() });
    let first = open(server.address(), None).expect("is let in");
    assert!(open(server.address(), None).is_err());
    drop(first);
    // Its place is free once the server has seen the end.
    while open(server.address(), None).is_err() {
        std::thread::yield_now();
    }
}

/// Calls and answers of many megabytes go in several frames; a row that no frame has room for is
/// refused, and nothing breaks.
#[test]
fn frames_have_limits_and_calls_do_not_meet_them() {
    let stores = Stores::start(1);
    let fields = vec![Field::new("a", FieldType::Bytes)];
    let schema = Schema::new(TableKind::NonTransactional, fields).expect("fits");
    let cluster = &stores.cluster;
    let made = block_on(cluster.create("t", &schema, Layout::Rows), || cluster.flush());
    let table = made.expect("is new");
    let row = |bytes: usize| {
        let value = Value::Str(vec![7; bytes].into());
        Tuple::encode(table.schema(), &[value]).expect("fits")
    };
    let absent = Snapshot::conditional(Version(0)).expect("fits");
    let large = table.insert(&absent, 1, &row(40 << 20)).expect_err("too large");
    assert!(matches!(large, StoreError::InvalidTuple(_)), "{large}");
    // Refused by the store, whose pages are small; the answers say so, one by one.
    let mut tasks = Tasks::default();
    for key in 0..6 {
        let write = table.write_later(&absent, key, Change::Insert(&row(3 << 20)));
        tasks
            .spawn(async move { assert!(matches!(write.await, Err(StoreError::InvalidTuple(_)))) });
    }
    // As large as one page has room for: all of them are more than a frame.
    let small = row(7 << 10);
    let (count, bytes) = (3_000, small.bytes());
    for key in 0..count {
        let write = table.write_later(&absent, 100 + key, Change::Insert(&small));
        tasks.spawn(async move { write.await.expect("inserts") });
    }
    let frames = stores.cluster.channels()[0].frames();
    run(tasks, cluster);
    assert!(stores.cluster.channels()[0].frames() > frames + 1, "one frame for all");
    let mut tasks = Tasks::default();
    for key in 0..count {
        let read = table.get_later(&Snapshot::newest(), 100 + key);
        tasks.spawn(async move { assert_eq!(read.await.expect("is there").tuple.bytes(), bytes) });
    }
    run(tasks, cluster);
}

fn run(mut tasks: Tasks<'_, ()>, cluster: &Cluster) {
    while !tasks.is_empty() {
        tasks.round();
        cluster.flush();
        tasks.wait();
    }
}
