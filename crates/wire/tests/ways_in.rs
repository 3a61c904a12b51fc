//! TLS, Unix sockets, and databases whose users come back.

mod support;

use std::sync::Arc;

use engine::Database;
use postgres::NoTls;
use support::{Raw, Running, options, query, serve, start_with, state};
use testkit::Scratch;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use wire::{Authentication, Ending, ServerOptions, TlsFiles};

/// Asks for TLS.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// A server with a certificate for `localhost`, and what a client needs to believe it.
fn start_with_tls(directory: &Scratch) -> (Running, Arc<ClientConfig>) {
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("works here");
    let files =
        TlsFiles { certificate: directory.join("server.crt"), key: directory.join("server.key") };
    std::fs::write(&files.certificate, made.cert.pem()).expect("works here");
    std::fs::write(&files.key, made.signing_key.serialize_pem()).expect("works here");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("works here");
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    (start_with(ServerOptions { tls: Some(files), ..options() }), Arc::new(config))
}

fn connection(config: &Arc<ClientConfig>) -> ClientConnection {
    let name = ServerName::try_from("localhost").expect("works here");
    ClientConnection::new(Arc::clone(config), name).expect("works here")
}

#[test]
fn tls_carries_a_session() {
    let directory = Scratch::new("wire-tls");
    let (server, config) = start_with_tls(&directory);
    let mut plain = server.raw();
    plain.send(&TLS_REQUEST);
    let mut answer = [0];
    std::io::Read::read_exact(&mut plain.stream, &mut answer).expect("works here");
    assert_eq!(answer, *b"S");
    let mut raw = Raw { stream: StreamOwned::new(connection(&config), plain.stream) };
    raw.send_startup(&[("user", "tessera")]);
    raw.until(b'Z');
    // More than one record of TLS each way.
    let long = "x".repeat(100_000);
    raw.send(&query(&format!("select length('{long}'), repeat('y', 200000)")));
    let answers = raw.until(b'Z');
    let row = answers.iter().find(|answer| answer.kind == b'D').expect("works here");
    assert!(row.body.len() > 200_000 && row.body.windows(6).any(|bytes| bytes == b"100000"));
    // Idle long enough to be parked, and woken again.
    std::thread::sleep(std::time::Duration::from_millis(300));
    raw.send(&query("select 1"));
    assert_eq!(raw.kinds(), "TDCZI");
    // Who does not want TLS is let in without.
    server.client().simple_query("select 1").expect("works here");
}

#[test]
fn nothing_sent_before_the_handshake_counts() {
    let directory = Scratch::new("wire-tls-early");
    let (server, _) = start_with_tls(&directory);
    let mut raw = server.raw();
    let mut early = TLS_REQUEST.to_vec();
    let mut startup = vec![0, 0, 0, 0, 0, 3, 0, 0];
    startup.extend_from_slice(b"user\0tessera\0\0");
    startup[3] = startup.len() as u8;
    early.extend_from_slice(&startup);
    raw.send(&early);
    let mut got = Vec::new();
    let _ = std::io::Read::read_to_end(&mut raw.stream, &mut got);
    let is_let_in = got.windows(9).any(|bytes| bytes == [b'R', 0, 0, 0, 8, 0, 0, 0, 0]);
    assert!(!is_let_in, "{got:?}");
    server.client().simple_query("select 1").expect("works here");
}

#[test]
fn unix_sockets_are_a_way_in() {
    let directory = Scratch::new("wire-unix");
    let options = ServerOptions { unix_directory: Some(directory.path().to_owned()), ..options() };
    let mut server = start_with(options);
    let mut config = postgres::Config::new();
    config.host_path(directory.path()).port(server.address.port()).user("tessera");
    let mut client = config.connect(NoTls).expect("works here");
    assert_eq!(client.query_one("select 6 * 7", &[]).expect("works here").get::<_, i32>(0), 42);
    let path = directory.join(format!(".s.PGSQL.{}", server.address.port()));
    assert!(path.exists());
    drop(client);
    server.stop();
    assert!(!path.exists(), "the socket goes with its server");
}

/// Copies the files of a database that is open, as a crash would leave them.
fn copy_files(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("works here");
    for entry in std::fs::read_dir(from).expect("works here").map(|entry| entry.expect("an entry"))
    {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("works here").is_dir() {
            copy_files(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("works here");
        }
    }
}

/// True when a file below `directory` holds `bytes`.
fn holds(directory: &std::path::Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).expect("works here").map(|entry| entry.expect("an entry")).any(
        |entry| {
            let path = entry.path();
            if path.is_dir() {
                return holds(&path, bytes);
            }
            std::fs::read(&path)
                .expect("works here")
                .windows(bytes.len())
                .any(|window| window == bytes)
        },
    )
}

#[test]
fn users_come_back_after_every_end() {
    let directory = Scratch::new("wire-users");
    let scram = || ServerOptions { authentication: Authentication::Scram, ..options() };
    let connect = |server: &Running, user: &str, password: &str| {
        let mut config = server.config();
        config.user(user).password(password).connect(NoTls)
    };
    let first = directory.join("first");
    let open =
        |path: &std::path::Path| Database::open(path, support::config()).expect("works here");
    let mut server = serve(open(&first), scram());
    let password = wire::create_first_user(&server.database, "tessera", Authentication::Scram)
        .expect("works here")
        .expect("works here");
    let mut client = connect(&server, "tessera", &password).expect("works here");
    client
        .batch_execute("create user ann password 'one'; create user bob password 'b'")
        .expect("works here");
    client.batch_execute("checkpoint").expect("works here");
    // Behind the checkpoint, so that the log has to tell.
    client
        .batch_execute("alter user ann password 'kept-nowhere'; drop user bob")
        .expect("works here");
    client.batch_execute("begin; create user carl password 'c'").expect("works here");
    let check = |server: &Running| {
        connect(server, "tessera", &password).expect("works here");
        connect(server, "ann", "kept-nowhere").expect("works here");
        for (user, wrong) in [("ann", "one"), ("bob", "b"), ("carl", "c")] {
            assert_eq!(
                state(&connect(server, user, wrong).err().expect("works here")),
                "28P01",
                "{user}"
            );
        }
        assert_eq!(
            wire::create_first_user(&server.database, "tessera", Authentication::Scram)
                .expect("works here"),
            None
        );
    };
    check(&server);
    assert!(!holds(&first, b"kept-nowhere"), "passwords are not written");
    // As a crash leaves it.
    let crashed = directory.join("crashed");
    copy_files(&first, &crashed);
    check(&serve(open(&crashed), scram()));
    // As an orderly end does.
    drop(client);
    server.server.take().into_iter().for_each(|server| server.stop(Ending::Graceful));
    server.database.clone().close().expect("works here");
    drop(server);
    check(&serve(open(&first), scram()));
}
