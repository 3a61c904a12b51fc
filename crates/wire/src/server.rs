//! Listening, seating clients, ending.

use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use engine::Database;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use types::{Error, Result, SqlState};

use crate::activity::{Activities, TICK};
use crate::connection::{Connection, Next};
use crate::journal::Field;
use crate::newcomer::Newcomer;
use crate::options::{Authentication, ServerOptions};
use crate::shared::Shared;
use crate::startup::admit;
use crate::turns::Turns;
use crate::{http, random, tls};

/// Clients beyond the limit that may be on their way in, to be told that they are too many.
const NEWCOMERS_SLACK: usize = 100;

/// How long statements have after they were cancelled.
const LAST_GRACE: Duration = Duration::from_secs(5);

fn io_error(what: &str, error: &io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("{what}: {error}"))
}

impl Shared {
    /// Ends a session, as pg_terminate_backend does; false when there is none.
    fn terminate(&self, session: i32) -> bool {
        let is_there = self.activities.terminate(session);
        if is_there {
            self.turns.wake(session);
        }
        is_there
    }

    /// Serves a connection on a session thread.
    fn serve(&self, connection: Box<Connection>) {
        let (id, socket) = (connection.id(), connection.socket.clone());
        match connection.serve() {
            Next::Parked(connection, until) => self.turns.park(connection, until),
            Next::End => {
                self.turns.forget(id, &socket.0);
                self.activities.remove(id);
                let pid = Field::Number(id.unsigned_abs().into());
                self.options.log.write("INFO", "disconnection", &[("pid", pid)]);
            }
        }
    }

    async fn listen_tcp(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Answers are written whole; without it some would wait for an acknowledgement.
                    let _ = stream.set_nodelay(true);
                    self.receive(Newcomer::Tcp(stream));
                }
                Err(error) => pause(&error).await,
            }
        }
    }

    async fn listen_unix(self: Arc<Self>, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => self.receive(Newcomer::Unix(stream)),
                Err(error) => pause(&error).await,
            }
        }
    }

    fn receive(self: &Arc<Self>, newcomer: Newcomer) {
        let newcomers_max = self.options.connections_max + NEWCOMERS_SLACK;
        if self.newcomers.fetch_add(1, Ordering::Relaxed) >= newcomers_max {
            self.newcomers.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let shared = Arc::clone(self);
        self.handle.spawn(async move {
            admit(&shared, newcomer).await;
            shared.newcomers.fetch_sub(1, Ordering::Relaxed);
        });
    }

    async fn watch(self: Arc<Self>) {
        let mut interval = tokio::time::interval(TICK);
        let mut tick = 0;
        loop {
            interval.tick().await;
            tick += 1;
            self.activities.watch(tick);
            self.turns.tick();
        }
    }
}

/// Waits a little when no connection can be accepted, for want of files say.
async fn pause(error: &io::Error) {
    eprintln!("tessera: a client cannot be accepted: {error}");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// A server that runs.
pub struct Server {
    shared: Arc<Shared>,
    runtime: Runtime,
    addresses: Vec<SocketAddr>,
    metrics_address: Option<SocketAddr>,
    unix_path: Option<PathBuf>,
}

/// How a server was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Statements may end within the time of grace: SIGTERM.
    Graceful,
    /// Statements are cancelled: SIGINT.
    Fast,
}

impl Server {
    /// Listens and serves, in threads of its own.
    ///
    /// # Errors
    /// 58030 for an address that cannot be used, F0000 for TLS files that cannot, 22023 for options
    /// that contradict each other.
    pub fn start(database: Database, options: ServerOptions) -> Result<Self> {
        let is_local = options.listen.iter().all(|address| address.ip().is_loopback());
        if options.authentication == Authentication::Trust && !is_local {
            let message = "trust is for loopback addresses and Unix sockets only";
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        let secret = random::bytes()?;
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("edge").enable_all().build();
        let runtime = runtime.map_err(|error| io_error("the server cannot start", &error))?;
        let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
        let shared: Arc<OnceLock<Weak<Shared>>> = Arc::default();
        let serving = Arc::clone(&shared);
        let serve = move |connection| {
            if let Some(shared) = serving.get().and_then(Weak::upgrade) {
                shared.serve(connection);
            }
        };
        let turns = Turns::new(cores.max(2), serve);
        let turns = turns.map_err(|error| io_error("the server cannot start", &error))?;
        let parts = Arc::new(Shared {
            database,
            options,
            tls,
            activities: Activities::default(),
            metrics: Arc::default(),
            turns: Arc::new(turns),
            handle: runtime.handle().clone(),
            newcomers: AtomicUsize::new(0),
            is_ending: AtomicBool::new(false),
            secret,
        });
        // It is set once.
        let _ = shared.set(Arc::downgrade(&parts));
        let shared = parts;
        let weak = Arc::downgrade(&shared);
        let terminate =
            move |session| weak.upgrade().is_some_and(|shared| shared.terminate(session));
        let terminate: engine::registry::Terminator = Arc::new(terminate);
        shared.database.for_each_database(move |database| {
            database.registry().set_terminator(Arc::clone(&terminate));
        });
        let (addresses, metrics_address, unix_path) = Default::default();
        let mut server = Self { shared, runtime, addresses, metrics_address, unix_path };
        server.listen()?;
        server.runtime.spawn(Arc::clone(&server.shared).watch());
        Ok(server)
    }

    fn listen(&mut self) -> Result<()> {
        let _inside = self.runtime.enter();
        for address in &self.shared.options.listen {
            let what = || format!("{address} cannot be listened on");
            let listener = self.runtime.block_on(TcpListener::bind(address));
            let listener = listener.map_err(|error| io_error(&what(), &error))?;
            let bound = listener.local_addr().map_err(|error| io_error(&what(), &error))?;
            self.addresses.push(bound);
            self.runtime.spawn(Arc::clone(&self.shared).listen_tcp(listener));
        }
        if let Some(address) = &self.shared.options.metrics {
            let what = || format!("{address} cannot be listened on for metrics");
            let listener = self.runtime.block_on(TcpListener::bind(address));
            let listener = listener.map_err(|error| io_error(&what(), &error))?;
            let bound = listener.local_addr().map_err(|error| io_error(&what(), &error))?;
            self.metrics_address = Some(bound);
            self.runtime.spawn(http::listen(Arc::clone(&self.shared), listener));
        }
        if let Some(directory) = &self.shared.options.unix_directory {
            let port = self.addresses.first().map_or(5432, SocketAddr::port);
            let path = directory.join(format!(".s.PGSQL.{port}"));
            let what = || format!("{} cannot be listened on", path.display());
            remove_stale(&path).map_err(|error| io_error(&what(), &error))?;
            let listener = UnixListener::bind(&path);
            let listener = listener.map_err(|error| io_error(&what(), &error))?;
            self.runtime.spawn(Arc::clone(&self.shared).listen_unix(listener));
            self.unix_path = Some(path);
        }
        Ok(())
    }

    /// The TCP addresses listened on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where metrics are asked for.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// The Unix socket listened on.
    pub fn unix_path(&self) -> Option<&std::path::Path> {
        self.unix_path.as_deref()
    }

    /// Waits for SIGTERM or SIGINT.
    ///
    /// # Errors
    /// 58030 when the system does not let it.
    pub fn wait_for_signal(&self) -> Result<Ending> {
        let signals = || io::Result::Ok((SignalKind::terminate(), SignalKind::interrupt()));
        self.runtime.block_on(async {
            let both = signals().and_then(|(a, b)| Ok((signal(a)?, signal(b)?)));
            let (mut terminate, mut interrupt) =
                both.map_err(|error| io_error("signals cannot be waited for", &error))?;
            Ok(tokio::select! {
                _ = terminate.recv() => Ending::Graceful,
                _ = interrupt.recv() => Ending::Fast,
            })
        })
    }

    /// Lets nobody in any longer, waits for what runs, and ends all connections.
    pub fn stop(self, ending: Ending) {
        let Self { shared, runtime, unix_path, .. } = self;
        shared.is_ending.store(true, Ordering::Relaxed);
        shared.activities.end();
        shared.turns.wake_all();
        if ending == Ending::Graceful {
            wait_until_empty(&shared, shared.options.grace);
        }
        shared.activities.cancel_all();
        wait_until_empty(&shared, LAST_GRACE);
        shared.activities.shut_all();
        wait_until_empty(&shared, LAST_GRACE);
        shared.turns.close();
        runtime.shutdown_timeout(LAST_GRACE);
        if let Some(path) = unix_path {
            // Nobody listens there any longer.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn wait_until_empty(shared: &Shared, limit: Duration) {
    let begin = Instant::now();
    while shared.activities.count() > 0 && begin.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Removes a socket that nobody listens on: one of a server that was killed.
fn remove_stale(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)
    } else {
        Ok(())
    }
}
