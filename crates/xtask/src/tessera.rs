//! Tessera as a backend of the SQL tests: in process, a database for each file, in memory or in
//! files with little memory.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use engine::{CancelHandle, Config, QueryResult, Session};
use storage::Layout;
use testkit::Scratch;
use testkit::slt::{Answer, Backend, Connection, Database, SqlError};
use types::SqlState;

/// Memory of a test's database in bytes: tests run side by side.
const MEMORY_BYTES: u64 = 4 << 30;

/// Time after which a statement is cancelled, unless something else is said.
const STATEMENT_TIME: Duration = Duration::from_secs(60);

/// Makes databases of one configuration.
pub struct Tessera {
    config: Config,
    settings: Vec<String>,
    statement_time: Duration,
    place: Place,
}

/// Where databases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memory,
    Files,
}

impl Tessera {
    /// Databases whose tables have `layout`, with `threads` workers; their sessions use indexes as
    /// the setting `index_paths` says.
    ///
    /// # Errors
    /// When there is no such layout.
    pub fn new(layout: &str, threads: usize, index_paths: &str) -> Result<Self, String> {
        let layout =
            Layout::from_name(layout).ok_or_else(|| format!("there is no layout {layout}"))?;
        let config = Config { threads, memory_bytes: MEMORY_BYTES, layout };
        let settings = vec![format!("SET index_paths = {index_paths}")];
        Ok(Self { config, settings, statement_time: STATEMENT_TIME, place: Place::Memory })
    }

    /// The same, in files and with so much memory: frozen blocks leave it and come back.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.config.memory_bytes = bytes;
        Self { place: Place::Files, ..self }
    }

    /// The same, where statements are cancelled after `time`.
    #[must_use]
    pub fn with_statement_time(self, time: Duration) -> Self {
        Self { statement_time: time, ..self }
    }

    /// The same, where blocks are frozen as soon as nobody writes them.
    #[must_use]
    pub fn freezing(mut self) -> Self {
        self.settings.push("SET freezing = eager".to_owned());
        self
    }

    /// The same, where work orders reach workers as messages of the bus.
    #[must_use]
    pub fn on_bus(mut self) -> Self {
        self.settings.push("SET scheduler_dispatch = bus".to_owned());
        self
    }

    /// The same, where operators hold next to nothing in memory, so that all spill that can.
    #[must_use]
    pub fn spilling(mut self) -> Self {
        self.settings.push("SET work_mem = '1kB'".to_owned());
        self
    }
}

impl Backend for Tessera {
    fn name(&self) -> &str {
        "tessera"
    }

    fn create(&self) -> Result<Box<dyn Database>, SqlError> {
        let (settings, statement_time) = (self.settings.clone(), self.statement_time);
        let files = (self.place == Place::Files).then(scratch);
        let config = self.config.clone();
        let database = match &files {
            None => open(config),
            Some(files) => open_files(files.path(), config),
        };
        let database = database.map_err(sql_error)?;
        let ran_out = Arc::default();
        Ok(Box::new(OneDatabase { database, settings, statement_time, ran_out, files }))
    }
}

/// A database in memory with everything registered.
///
/// # Errors
/// Errors of the engine.
pub fn open(config: Config) -> types::Result<engine::Database> {
    engine::Database::open_in_memory(config).inspect(register)
}

/// As [`open`], in the files of `directory`.
///
/// # Errors
/// Errors of the engine.
pub fn open_files(directory: &Path, config: Config) -> types::Result<engine::Database> {
    engine::Database::open(directory, config).inspect(register)
}

fn register(database: &engine::Database) {
    formats::register(database);
    workloads::register(database);
}

/// A directory for the next database.
fn scratch() -> Scratch {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Scratch::new(&format!("slt-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// `database` for whoever runs SQL on any system.
pub fn boxed(database: engine::Database) -> Box<dyn Database> {
    let (settings, statement_time) = (Vec::new(), STATEMENT_TIME);
    let ran_out = Arc::default();
    Box::new(OneDatabase { database, settings, statement_time, ran_out, files: None })
}

struct OneDatabase {
    database: engine::Database,
    /// Statements that each session begins with.
    settings: Vec<String>,
    statement_time: Duration,
    /// A statement got 53200.
    ran_out: Arc<AtomicBool>,
    /// Directory of the database, which goes with it.
    files: Option<Scratch>,
}

impl Database for OneDatabase {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        let mut session = self.database.session();
        for setting in &self.settings {
            session.execute(setting).map_err(sql_error)?;
        }
        let watched = Arc::new(Watched {
            since: Mutex::default(),
            cancel: session.cancel_handle(),
            time: self.statement_time,
        });
        watch(&watched);
        Ok(Box::new(OneSession { session, watched, ran_out: Arc::clone(&self.ran_out) }))
    }

    fn ran_out(&self) -> bool {
        self.files.is_some() && self.ran_out.load(Ordering::Relaxed)
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        let result = self.database.session().execute(WAITING).map_err(sql_error)?;
        Ok(result.text_rows().into_iter().flatten().flatten().collect())
    }
}

/// The sessions that wait for another one.
const WAITING: &str = "SELECT session_id FROM tessera_sessions() WHERE state = 'waiting'";

struct OneSession {
    session: Session,
    watched: Arc<Watched>,
    ran_out: Arc<AtomicBool>,
}

impl Connection for OneSession {
    fn run(&mut self, sql: &str) -> Result<Answer, SqlError> {
        self.watched.set(Some(Instant::now()));
        let result = self.session.execute(sql);
        self.watched.set(None);
        if result.as_ref().is_err_and(|error| error.state() == SqlState::OUT_OF_MEMORY) {
            self.ran_out.store(true, Ordering::Relaxed);
        }
        let result = result.map_err(sql_error)?;
        Ok(if result.has_rows() {
            Answer::Rows { columns: result.columns().len(), rows: result.text_rows() }
        } else {
            Answer::Done(changed_rows(&result))
        })
    }
}

/// A session whose statements are cancelled when they run too long, so that one of them does not
/// stop all tests.
struct Watched {
    /// When the statement began. Locked while it is cancelled, so that the next one is not.
    since: Mutex<Option<Instant>>,
    cancel: CancelHandle,
    /// How long a statement may take.
    time: Duration,
}

impl Watched {
    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn cancel_if_late(&self) {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_some_and(|since| since.elapsed() > self.time) {
            self.cancel.cancel();
        }
    }
}

/// Makes one thread of the process watch the session as long as it is there.
fn watch(session: &Arc<Watched>) {
    static SESSIONS: Mutex<Vec<Weak<Watched>>> = Mutex::new(Vec::new());
    static START: Once = Once::new();
    let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.push(Arc::downgrade(session));
    START.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
                sessions.retain(|session| session.strong_count() > 0);
                sessions.iter().filter_map(Weak::upgrade).for_each(|s| s.cancel_if_late());
            }
        });
    });
}

/// The error as all systems have it.
pub fn sql_error(error: types::Error) -> SqlError {
    SqlError { sqlstate: error.state().to_string(), message: error.message().to_owned() }
}

/// The count at the end of a command tag such as `INSERT 0 5`.
fn changed_rows(result: &QueryResult) -> u64 {
    result.tag().rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
