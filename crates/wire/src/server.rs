//! Listening, seating clients, ending.

use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use engine::{Database, Session};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use types::{Error, Result, SqlState};

use crate::activity::{Activities, TICK};
use crate::connection::{Connection, Next, Watcher, Welcome};
use crate::journal::Field;
use crate::link::Link;
use crate::metrics::{self, Metrics};
use crate::options::{Authentication, ServerOptions};
use crate::startup::{Newcomer, admit};
use crate::turns::{Turns, Until};
use crate::{random, tls};

/// Clients beyond the limit that may be on their way in, to be told that they are too many.
const NEWCOMERS_SLACK: usize = 100;

/// How long statements have after they were cancelled.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// What all parts of a server share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) options: ServerOptions,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) activities: Activities,
    pub(crate) metrics: Arc<Metrics>,
    turns: Arc<Turns>,
    handle: Handle,
    /// Clients that are not let in yet.
    newcomers: AtomicUsize,
    is_ending: AtomicBool,
    /// What users that do not exist are made of.
    pub(crate) secret: [u8; 32],
}

fn io_error(what: &str, error: &io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("{what}: {error}"))
}

impl Shared {
    /// A session for `user`.
    ///
    /// # Errors
    /// 53300 when there are too many, 57P03 when the server ends.
    pub(crate) fn session(&self, user: &str) -> Result<Session> {
        if self.is_ending.load(Ordering::Relaxed) {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, message));
        }
        if self.activities.count() >= self.options.connections_max {
            let message = "sorry, too many clients already";
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message));
        }
        let mut session = self.database.session();
        if self.database.role(user).is_some_and(|role| !role.can_login) {
            let message = format!("role \"{user}\" is not permitted to log in");
            return Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message));
        }
        let role = self.database.role(user);
        if let Some(role) = role.as_ref().filter(|role| !role.is_superuser)
            && let Some(most) = role.connections_max
            && self.database.session_count(user) as i64 >= most
        {
            let message = format!("too many connections for role \"{user}\"");
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message));
        }
        session.set_user(user);
        session.check_connect()?;
        // What clients of PostgreSQL expect; no statement of theirs fails for being late.
        session.configure("default_transaction_isolation", "read committed")?;
        for (name, limit) in [
            ("statement_timeout", self.options.statement_limit),
            ("idle_session_timeout", self.options.idle_limit),
        ] {
            if let Some(limit) = limit {
                session.configure(name, &limit.as_millis().to_string())?;
            }
        }
        for (name, value) in role.iter().flat_map(|role| &role.settings) {
            // Checked when it was said; what no longer is one hinders nobody.
            let _ = session.configure(name, value);
        }
        Ok(session)
    }

    /// # Errors
    /// 57P03 when the server ends, 58030 when the log of the database has failed.
    pub(crate) fn health(&self) -> Result<()> {
        if self.is_ending.load(Ordering::Relaxed) {
            let message = "the database system is shutting down";
            return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, message));
        }
        self.database.health()
    }

    /// Gives a client that was let in to the session threads.
    pub(crate) fn seat(self: &Arc<Self>, newcomer: Newcomer, session: Session, secret: i32) {
        let Ok((transport, socket)) = newcomer.settle() else { return };
        let (id, cancel) = (session.id(), session.cancel_handle());
        let activity = self.activities.add(id, secret, cancel, Arc::clone(&socket.0));
        let link = Link::new(transport, activity);
        self.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let user = session.setting("session_authorization").unwrap_or_default();
        let pid = Field::Number(id.unsigned_abs().into());
        self.options.log.write("INFO", "connection", &[("pid", pid), ("user", Field::Text(&user))]);
        let watcher = Watcher { metrics: Arc::clone(&self.metrics), log: self.options.log, user };
        let turns = Arc::downgrade(&self.turns);
        session.on_notification(Arc::new(move || {
            turns.upgrade().into_iter().for_each(|turns| turns.wake(id));
        }));
        let (turns, muted) = (Arc::downgrade(&self.turns), socket.clone());
        let mute = move || turns.upgrade().into_iter().for_each(|turns| turns.mute(id, &muted.0));
        let connection = Connection::new(session, link, socket, watcher, Box::new(mute));
        match connection.welcome() {
            Welcome::Sent => self.turns.add(connection, Until::Readable),
            Welcome::Waits => self.turns.add(connection, Until::Turn),
        }
    }

    /// Ends a session, as pg_terminate_backend does; false when there is none.
    fn terminate(&self, session: i32) -> bool {
        let is_there = self.activities.terminate(session);
        if is_there {
            self.turns.wake(session);
        }
        is_there
    }

    /// What a session thread does with a connection.
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
        shared.database.registry().set_terminator(Arc::new(terminate));
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
            self.runtime.spawn(metrics::listen(Arc::clone(&self.shared), listener));
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
