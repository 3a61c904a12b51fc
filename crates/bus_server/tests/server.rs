//! The server as its operator and as programs without its client see it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bus::native::{Hybrid, LogSettings, Native, Tree};
use bus::{
    Address, Bus, BusError, ClientId, Interrupt, MessageType, Receipt, ReceiveOptions, SendOptions,
    Wait,
};
use bus_server::proto;
use bus_server::proto::bus_client::BusClient;
use bus_server::{Limits, Remote, RemoteOptions, Server, ServerOptions, Service, TlsFiles};
use host::{Clock, Io, RealClock, RealIo};
use testkit::Scratch;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use types::SqlState;

const TYPE: MessageType = MessageType(1);
const PATIENCE: Duration = Duration::from_secs(60);

fn service(limits: Limits) -> Arc<Service> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock);
    let bus = Native::<Hybrid, Tree>::in_memory(Hybrid, Arc::clone(&clock));
    Arc::new(Service::new(Arc::new(bus), clock, RealIo.entropy(), limits))
}

fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn options() -> ServerOptions {
    ServerOptions { listen: vec![local()], metrics: Some(local()), ..ServerOptions::default() }
}

fn start(limits: Limits) -> Server {
    Server::start(service(limits), &options()).expect("starts")
}

fn remote(server: &Server) -> Remote {
    Remote::new(RemoteOptions::new(format!("http://{}", server.addresses()[0])))
        .expect("an address")
}

fn pair(bus: &dyn Bus) -> (ClientId, ClientId) {
    let (a, b) = (bus.connect().expect("connects"), bus.connect().expect("connects"));
    bus.register_sender(a, TYPE).expect("registers");
    bus.register_receiver(b, TYPE).expect("registers");
    (a, b)
}

/// The body of a plain HTTP request's answer, with its head.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("is there");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("takes it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answers");
    answer
}

/// Looks at the metrics until they have `line`.
fn await_metric(server: &Server, line: &str) {
    let address = server.metrics_address().expect("was asked for");
    let begin = Instant::now();
    while !get(address, "/metrics").lines().any(|found| found == line) {
        assert!(begin.elapsed() < PATIENCE, "no {line}");
        thread::yield_now();
    }
}

fn raw(server: &Server) -> (Runtime, BusClient<Channel>) {
    let runtime = Runtime::new().expect("threads");
    let endpoint = Endpoint::from_shared(format!("http://{}", server.addresses()[0]));
    let channel = runtime.block_on(endpoint.expect("an address").connect()).expect("is there");
    (runtime, BusClient::new(channel))
}

#[test]
fn metrics_and_health_tell_what_happens() {
    let server = start(Limits::default());
    let bus = remote(&server);
    let (a, b) = pair(&bus);
    for _ in 0..3 {
        bus.send(&SendOptions::new(a, TYPE, Address::Any, *b"1234")).expect("sends");
    }
    let address = server.metrics_address().expect("was asked for");
    let text = get(address, "/metrics");
    for line in [
        "tessera_bus_calls_total{call=\"send\",outcome=\"ok\"} 3",
        "tessera_bus_call_seconds_count{call=\"connect\"} 2",
        "tessera_bus_sent_bytes_total 12",
        "tessera_bus_messages 3",
        "tessera_bus_queued_bytes 12",
        "tessera_bus_clients 2",
        "tessera_bus_connections_total 1",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
    assert!(get(address, "/health").starts_with("HTTP/1.1 200"));
    assert!(get(address, "/other").starts_with("HTTP/1.1 404"));
    // A receive whose client goes away ends, and keeps no thread.
    let interrupt = Interrupt::default();
    let options = ReceiveOptions { interrupt: Some(&interrupt), ..ReceiveOptions::next(a) };
    thread::scope(|scope| {
        let waiting = scope.spawn(|| bus.receive(&options));
        await_metric(&server, "tessera_bus_waiting 1");
        interrupt.trigger();
        assert_eq!(waiting.join().expect("ends"), Err(BusError::Interrupted));
    });
    await_metric(&server, "tessera_bus_waiting 0");
    let (runtime, mut client) = raw(&server);
    runtime.block_on(async {
        let request = proto::ReceiveRequest {
            client: a.0,
            wait_forever: true,
            ..proto::ReceiveRequest::default()
        };
        let mut call = tonic::Request::new(request);
        call.set_timeout(Duration::from_millis(20));
        let status = client.receive(call).await.expect_err("nobody sends");
        assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status}");
    });
    await_metric(&server, "tessera_bus_waiting 0");
    assert_eq!(bus.peek(b).expect("is there").len(), 3);
    server.stop();
}

#[test]
fn health_is_that_of_the_bus() {
    let clock: Arc<dyn Clock> = Arc::new(RealClock);
    let bus = Native::<Hybrid, Tree>::in_memory(Hybrid, Arc::clone(&clock));
    let service = Service::new(Arc::new(bus), clock, 1, Limits::default());
    let service = service.with_health(|| Err(types::Error::internal("the disk is gone").into()));
    let server = Server::start(Arc::new(service), &options()).expect("starts");
    let answer = get(server.metrics_address().expect("was asked for"), "/health");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("the disk is gone"), "{answer}");
}

fn send_request(a: ClientId, retry: Option<proto::Retry>) -> proto::SendRequest {
    let body = b"once".to_vec().into();
    proto::SendRequest {
        sender: a.0,
        message_type: TYPE.0,
        any: true,
        body,
        retry,
        ..<_>::default()
    }
}

fn trailer(status: &Status, name: &str) -> Option<String> {
    Some(status.metadata().get(name)?.to_str().expect("text").to_owned())
}

#[test]
fn a_call_that_comes_twice_is_done_once() {
    let server = start(Limits::default());
    let bus = remote(&server);
    let (a, b) = pair(&bus);
    let (runtime, mut client) = raw(&server);
    runtime.block_on(async {
        let described = client.describe(proto::DescribeRequest {}).await.expect("describes");
        let run = described.into_inner().run;
        let retry = |number, run| Some(proto::Retry { caller: 77, number, answered_below: 1, run });
        let mut send = async |retry| client.send(send_request(a, retry)).await;
        let first = send(retry(1, run)).await.expect("sends").into_inner();
        assert_eq!(send(retry(1, run)).await.expect("knows it").into_inner(), first);
        let other = send(retry(2, run)).await.expect("sends").into_inner();
        assert_ne!(other.id, first.id);
        send(None).await.expect("sends");
        send(None).await.expect("sends another");
        let stale = send(retry(3, run ^ 1)).await.expect_err("is for another run");
        assert_eq!(
            (stale.code(), trailer(&stale, "bus-status")),
            (Code::Aborted, Some("100".into()))
        );
        let late = Some(proto::Retry { caller: 77, number: 3, answered_below: 3, run });
        send(late).await.expect("sends");
        let stale = send(retry(2, run)).await.expect_err("was answered");
        assert_eq!(
            (stale.code(), trailer(&stale, "bus-status")),
            (Code::Aborted, Some("101".into()))
        );
        let wrong = Some(proto::Retry { caller: 77, number: 3, answered_below: 4, run });
        let wrong = send(wrong).await.expect_err("makes no sense");
        assert_eq!(wrong.code(), Code::InvalidArgument);
    });
    assert_eq!(bus.peek(b).expect("is there").len(), 5);
    await_metric(&server, "tessera_bus_repeated_calls_total 1");
    server.stop();
}

#[test]
fn refusals_have_codes_and_trailers() {
    let server = start(Limits::default());
    let bus = remote(&server);
    let (a, _) = pair(&bus);
    let (runtime, mut client) = raw(&server);
    runtime.block_on(async {
        let unknown = proto::SendRequest { sender: 99, ..send_request(a, None) };
        let status = client.send(unknown).await.expect_err("nobody is 99");
        assert_eq!(status.code(), Code::NotFound);
        assert_eq!(status.message(), "client 99 is not connected");
        assert_eq!(trailer(&status, "bus-status").as_deref(), Some("2"));
        assert_eq!(trailer(&status, "bus-client").as_deref(), Some("99"));
        let other = proto::SendRequest { message_type: 5, ..send_request(a, None) };
        let status = client.send(other).await.expect_err("is not registered");
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert_eq!(trailer(&status, "bus-type").as_deref(), Some("5"));
        let token = b"no token".to_vec().into();
        let cancel = proto::CancelRequest { client: a.0, tokens: vec![token], ..<_>::default() };
        let status = client.cancel(cancel).await.expect_err("is no token");
        assert_eq!(status.code(), Code::InvalidArgument);
    });
    server.stop();
}

fn state(error: &BusError) -> Option<SqlState> {
    if let BusError::Storage(error) = error { Some(error.state()) } else { None }
}

#[test]
fn limits_are_kept() {
    let limits = Limits { message_bytes: 100_000, batch: 3, waits: 1, ..Limits::default() };
    let server = start(limits);
    let bus = remote(&server);
    let (a, b) = pair(&bus);
    let body = |bytes| SendOptions::new(a, TYPE, Address::Any, vec![7; bytes]);
    let large = bus.send(&body(100_000)).expect_err("is too large");
    assert_eq!(state(&large), Some(SqlState::LIMIT_EXCEEDED), "{large}");
    bus.send(&body(99_000)).expect("is as large as allowed");
    for _ in 0..4 {
        bus.send(&body(1)).expect("sends");
    }
    let found = bus.receive(&ReceiveOptions::new(b)).expect("receives");
    assert_eq!(found.len(), 3, "no more than the batch");
    let keys: Vec<_> = found.iter().chain(&found).map(|message| message.key).collect();
    let many = bus.delete(b, &keys).expect_err("is too much");
    assert_eq!(state(&many), Some(SqlState::LIMIT_EXCEEDED), "{many}");
    assert_eq!(bus.delete(b, &keys[..3]), Ok(3));
    // One may wait; a second one is told to come again, which it does until patience ends.
    let interrupt = Interrupt::default();
    let (runtime, mut client) = raw(&server);
    let options = ReceiveOptions { interrupt: Some(&interrupt), ..ReceiveOptions::next(a) };
    thread::scope(|scope| {
        let waiting = scope.spawn(|| bus.receive(&options));
        await_metric(&server, "tessera_bus_waiting 1");
        let second = proto::ReceiveRequest { client: a.0, wait_us: 1_000_000, ..<_>::default() };
        let status = runtime.block_on(client.receive(second)).expect_err("one waits");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(bus.peek(b).expect("others are not kept waiting").len(), 2);
        interrupt.trigger();
        assert_eq!(waiting.join().expect("ends"), Err(BusError::Interrupted));
    });
    server.stop();
}

#[test]
fn connections_beyond_the_limit_wait() {
    let server = start(Limits { connections: 1, ..Limits::default() });
    let first = remote(&server);
    first.connect().expect("connects");
    let address = format!("http://{}", server.addresses()[0]);
    let patience = Duration::from_millis(200);
    let answer_limit = Duration::from_millis(200);
    let options = RemoteOptions { patience, answer_limit, ..RemoteOptions::new(address) };
    let second = Remote::new(options).expect("an address");
    let error = second.connect().expect_err("one is there");
    assert!(matches!(error, BusError::Network(_)), "{error}");
    drop(first);
    let begin = Instant::now();
    while second.connect().is_err() {
        assert!(begin.elapsed() < PATIENCE, "it is never let in");
    }
    server.stop();
}

#[test]
fn a_token_is_wanted_by_all_calls() {
    let token = Some("an open secret of tests".to_owned());
    let options = ServerOptions { token: token.clone(), ..options() };
    let server = Server::start(service(Limits::default()), &options).expect("starts");
    let address = format!("http://{}", server.addresses()[0]);
    let with = |token| RemoteOptions { token, ..RemoteOptions::new(address.clone()) };
    for wrong in [None, Some("another".to_owned()), Some(String::new())] {
        let bus = Remote::new(with(wrong)).expect("an address");
        let error = bus.clients().expect_err("has no token");
        assert_eq!(state(&error), Some(SqlState::INVALID_AUTHORIZATION_SPECIFICATION), "{error}");
        assert!(bus.connect().is_err());
    }
    let bus = Remote::new(with(token)).expect("an address");
    assert_eq!(bus.clients(), Ok(Vec::new()), "nobody connected");
    bus.connect().expect("connects");
    assert!(Remote::new(with(Some("\n".to_owned()))).is_err(), "is no header");
    await_metric(&server, "tessera_bus_unauthenticated_total 6");
    server.stop();
}

#[test]
fn tls_is_spoken_and_wanted() {
    let folder = Scratch::new("bus-tls");
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let (certificate, key) = (folder.join("certificate"), folder.join("key"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let tls = Some(TlsFiles { certificate: certificate.clone(), key: key.clone() });
    let server = Server::start(service(Limits::default()), &ServerOptions { tls, ..options() });
    let server = server.expect("starts");
    let address = server.addresses()[0];
    let patience = Duration::from_millis(300);
    let to =
        |address, authority| RemoteOptions { authority, patience, ..RemoteOptions::new(address) };
    let bus = Remote::new(to(format!("https://{address}"), Some(certificate.clone())));
    let bus = bus.expect("an address");
    let (a, b) = pair(&bus);
    bus.send(&SendOptions::new(a, TYPE, Address::Any, *b"secret")).expect("sends");
    assert_eq!(&*bus.peek(b).expect("receives")[0].body, b"secret");
    let plain = Remote::new(to(format!("http://{address}"), None)).expect("an address");
    assert!(matches!(plain.clients(), Err(BusError::Network(_))), "TLS is wanted");
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("another");
    std::fs::write(&certificate, other.cert.pem()).expect("a file");
    let stranger = Remote::new(to(format!("https://{address}"), Some(certificate.clone())));
    let stranger = stranger.expect("an address");
    assert!(matches!(stranger.clients(), Err(BusError::Network(_))), "it is nobody known");
    server.stop();
    std::fs::write(&key, "no key").expect("a file");
    let tls = Some(TlsFiles { certificate, key });
    let error = Server::start(service(Limits::default()), &ServerOptions { tls, ..options() });
    assert_eq!(error.expect_err("is no key").state(), SqlState::CONFIG_FILE_ERROR);
}

/// A server in a directory, at an address if one is given.
fn in_directory(scratch: &Scratch, address: SocketAddr) -> Server {
    let (io, clock): (Arc<dyn Io>, Arc<dyn Clock>) = (Arc::new(RealIo), Arc::new(RealClock));
    let settings = LogSettings::default();
    let bus =
        Native::<Hybrid, Tree>::open(Hybrid, Arc::clone(&clock), &io, scratch.path(), settings);
    let bus = Arc::new(bus.expect("opens"));
    let service = Arc::new(Service::new(bus, clock, io.entropy(), Limits::default()));
    let options = ServerOptions { listen: vec![address], ..ServerOptions::default() };
    Server::start(service, &options).expect("starts")
}

#[test]
fn clients_outlive_a_restart_of_the_server() {
    let scratch = Scratch::new("bus-restart");
    let server = in_directory(&scratch, local());
    let address = server.addresses()[0];
    let options =
        RemoteOptions { patience: PATIENCE, ..RemoteOptions::new(format!("http://{address}")) };
    let bus = Remote::new(options).expect("an address");
    let (a, b) = pair(&bus);
    thread::scope(|scope| {
        // Waits across the restart.
        let waiting = scope.spawn(|| {
            let options = ReceiveOptions { receipt: Receipt::Delete, ..ReceiveOptions::next(b) };
            bus.receive(&options)
        });
        server.stop();
        // Nobody is there, and it is tried again until somebody is.
        let sending = scope.spawn(|| bus.send(&SendOptions::new(a, TYPE, Address::Any, *b"x")));
        let server = in_directory(&scratch, address);
        sending.join().expect("ends").expect("nothing happened before, so it is sent again");
        let found = waiting.join().expect("ends").expect("receives");
        assert_eq!(&*found[0].body, b"x");
        server.stop();
    });
    let impatient = RemoteOptions {
        patience: Duration::from_millis(50),
        ..RemoteOptions::new(format!("http://{address}"))
    };
    let bus = Remote::new(impatient).expect("an address");
    assert!(matches!(bus.connect(), Err(BusError::Network(_))));
    let soon =
        ReceiveOptions { wait: Wait::AtMost(Duration::from_secs(1)), ..ReceiveOptions::new(b) };
    assert!(matches!(bus.receive(&soon), Err(BusError::Network(_))));
}
