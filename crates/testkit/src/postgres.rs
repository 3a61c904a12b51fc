//! A PostgreSQL server of our own: the oracle of the SQL tests.
//!
//! ```text
//! initdb -> postgres on a private socket -> one database per file -> removed with the server
//! ```
//! Invariants: it listens on no network, and it ends with the process that started it. As root it
//! runs as the user `postgres`, because it refuses to run as root.

mod wire;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::slt::{Answer, Backend, Connection, Database, SqlError};
pub use wire::Wire;

/// Settings the expected results depend on, and speed over durability.
const SETTINGS: &str = "
listen_addresses = ''
timezone = 'UTC'
datestyle = 'ISO, MDY'
intervalstyle = 'postgres'
client_min_messages = error
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
jit = off
deadlock_timeout = 100ms
max_prepared_transactions = 64
";

/// The major version whose answers are the expected ones.
const MAJOR: &str = "15";

/// Time to wait for the server to accept connections.
const START_SECONDS: u64 = 60;

/// Message for users who have no PostgreSQL.
pub const HOW_TO_INSTALL: &str =
    "PostgreSQL 15 was not found; on Debian 12: apt-get install -y postgresql-15";

/// User who may do everything, and needs no password.
const USER: &str = "postgres";

/// A running server; dropping it stops it and removes its files.
pub struct Postgres {
    home: PathBuf,
    process: Child,
    databases: AtomicU64,
}

impl Postgres {
    /// Makes a cluster in a temporary directory and starts it.
    ///
    /// # Errors
    /// [`HOW_TO_INSTALL`] when there is no PostgreSQL; else what its programs said.
    pub fn start() -> Result<Self, SqlError> {
        Self::start_with(SETTINGS)
    }

    /// The same with `settings` of its configuration file instead of those of the SQL tests.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(settings: &str) -> Result<Self, SqlError> {
        let programs = programs().ok_or_else(|| SqlError::internal(HOW_TO_INSTALL))?;
        let home = std::env::temp_dir().join(format!("tessera-postgres-{}", std::process::id()));
        prepare(&home, &programs, settings)?;
        let log = fs::File::create(home.join("log")).map_err(SqlError::internal)?;
        let process = as_server_user(&programs.join("postgres"))
            .arg("-D")
            .arg(home.join("data"))
            .arg("-k")
            .arg(&home)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(SqlError::internal)?;
        let server = Self { home, process, databases: AtomicU64::new(0) };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// The directory of the socket.
    pub fn folder(&self) -> &Path {
        &self.home
    }

    /// The socket it listens on.
    pub fn socket(&self) -> PathBuf {
        self.home.join(".s.PGSQL.5432")
    }

    /// A connection to `database`; `postgres` is always there.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn connect(&self, database: &str) -> Result<Wire, SqlError> {
        Wire::connect(&self.socket(), USER, database)
    }

    fn wait_until_ready(&self) -> Result<(), SqlError> {
        let start = Instant::now();
        loop {
            match self.connect("postgres") {
                Ok(_) => return Ok(()),
                Err(error) if start.elapsed() > Duration::from_secs(START_SECONDS) => {
                    let log = fs::read_to_string(self.home.join("log")).unwrap_or_default();
                    return Err(SqlError::internal(format!("{error}\n{log}")));
                }
                Err(_) => sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGQUIT ends all of the server at once; its files are thrown away, so nothing is lost.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.home);
    }
}

impl Backend for Postgres {
    fn name(&self) -> &str {
        "postgres"
    }

    fn is_oracle(&self) -> bool {
        true
    }

    fn create(&self) -> Result<Box<dyn Database>, SqlError> {
        let name = format!("slt{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut admin = self.connect("postgres")?;
        admin.run(&format!("CREATE DATABASE {name} TEMPLATE template0"))?;
        Ok(Box::new(OneDatabase { socket: self.socket(), name }))
    }
}

struct OneDatabase {
    socket: PathBuf,
    name: String,
}

impl Database for OneDatabase {
    fn connect(&self) -> Result<Box<dyn Connection>, SqlError> {
        Ok(Box::new(Wire::connect(&self.socket, USER, &self.name)?))
    }

    fn waiting(&self) -> Result<Vec<String>, SqlError> {
        let mut monitor = Wire::connect(&self.socket, USER, "postgres")?;
        let Answer::Rows { rows, .. } = monitor.run(&WAITS.replace("$1", &self.name))? else {
            return Ok(Vec::new());
        };
        let ids = |text: Option<String>| -> Vec<String> {
            text.iter().flat_map(|t| t.split_whitespace()).map(str::to_owned).collect()
        };
        let mut waits: Vec<(String, Vec<String>)> = Vec::new();
        for row in rows {
            let mut cells = row.into_iter();
            let pid = cells.next().flatten().unwrap_or_default();
            waits.push((pid, ids(cells.next().flatten())));
        }
        Ok(waits.iter().filter(|(pid, _)| ends(&waits, pid)).map(|(pid, _)| pid.clone()).collect())
    }
}

/// Sessions of a database that wait, and for whom.
const WAITS: &str = "SELECT pid, array_to_string(blockers, ' ') FROM (SELECT pid, \
     pg_blocking_pids(pid) || pg_safe_snapshot_blocking_pids(pid) AS blockers \
     FROM pg_stat_activity WHERE datname = '$1') s WHERE blockers <> '{}'";

/// True when some way from `pid` along its waits leads to a session that does not wait.
fn ends(waits: &[(String, Vec<String>)], pid: &str) -> bool {
    let mut seen = vec![pid];
    let mut at = 0;
    while at < seen.len() {
        match waits.iter().find(|(waiter, _)| waiter == seen[at]) {
            None => return true,
            Some((_, blockers)) => {
                for blocker in blockers {
                    if !seen.contains(&blocker.as_str()) {
                        seen.push(blocker);
                    }
                }
            }
        }
        at += 1;
    }
    false
}

/// The directory with `initdb` and `postgres`.
fn programs() -> Option<PathBuf> {
    let debian = PathBuf::from(format!("/usr/lib/postgresql/{MAJOR}/bin"));
    let on_path = std::env::var_os("PATH")?;
    std::iter::once(debian)
        .chain(std::env::split_paths(&on_path).collect::<Vec<_>>())
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

fn prepare(home: &Path, programs: &Path, settings: &str) -> Result<(), SqlError> {
    let data = home.join("data");
    fs::create_dir_all(&data).map_err(SqlError::internal)?;
    if is_root() {
        let owned = Command::new("chown").args(["-R", "postgres"]).arg(home).status();
        check(owned.map_err(SqlError::internal)?.success(), "chown to postgres failed")?;
    }
    let made = as_server_user(&programs.join("initdb"))
        .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8"])
        .arg("--no-sync")
        .arg("-D")
        .arg(&data)
        .output()
        .map_err(SqlError::internal)?;
    check(made.status.success(), &String::from_utf8_lossy(&made.stderr))?;
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(data.join("postgresql.conf"))
        .map_err(SqlError::internal)?;
    file.write_all(settings.as_bytes()).map_err(SqlError::internal)
}

fn check(good: bool, message: &str) -> Result<(), SqlError> {
    if good { Ok(()) } else { Err(SqlError::internal(message)) }
}

/// `program`, as the user `postgres` when we are root.
fn as_server_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program);
    }
    // The caller's directory may be closed to the server's user.
    command.current_dir("/");
    command
}

/// True when this process has all rights: the owner of its entry in /proc is user 0.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}
