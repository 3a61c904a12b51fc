//! `cargo xtask bench wire`: Tessera's server beside PostgreSQL's, through the same programs.
//!
//! ```text
//! pgbench, psql, a reader of rows -> Unix socket -> tessera serve | postgres, one after the other
//! ```
//! Both write to disk before they acknowledge a commit. What a program of one
//! thread without a database reaches stands beside them (`bound`). Needs PostgreSQL 15.

mod bound;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use testkit::postgres::{Postgres, Wire};

use crate::server::Server;
use crate::{Outcome, text, workspace};
use bound::Bound;

/// Arguments of `bench wire`.
#[derive(Args, Clone, Debug)]
pub struct WireArgs {
    /// Scale of pgbench's tables, 100,000 accounts each; 0 leaves pgbench out
    #[arg(long, default_value_t = 20)]
    pub scale: u32,
    /// Seconds of each run of pgbench
    #[arg(long, default_value_t = 10)]
    pub seconds: u32,
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    pub clients: Vec<u32>,
    /// Rows of COPY and SELECT; 0 leaves them out
    #[arg(long, default_value_t = 10_000_000)]
    pub rows: u64,
}

/// Settings of PostgreSQL beyond its defaults.
const POSTGRES_SETTINGS: &str = "
listen_addresses = ''
shared_buffers = 2GB
max_wal_size = 8GB
max_connections = 200
";

/// The columns that travel: as many kinds as a table of orders has.
const ROW: &str = "SELECT i::int AS id, i * 7919 AS number, \
     (i % 1000000) / 100.0::numeric(12,2) AS price, date '1992-01-01' + (i % 2500)::int AS day, \
     timestamp '2001-01-01 00:00:00' + i * interval '1 second' AS at, \
     'customer number ' || i % 5000 AS name FROM generate_series(1::bigint, ";

const TABLE: &str =
    "(id int, number bigint, price numeric(12,2), day date, at timestamp, name text)";

/// Schema of orders, the most usual write of applications: a customer, a number and a time.
const ORDERS: &str = "CREATE TABLE wire_customer (id int PRIMARY KEY);
    INSERT INTO wire_customer SELECT i FROM generate_series(1, 1000) AS g(i);
    CREATE TABLE wire_order (id serial PRIMARY KEY, customer int REFERENCES wire_customer,
        note text, at timestamptz DEFAULT now())";

const ORDER: &str = "\\set customer random(1, 1000)
INSERT INTO wire_order (customer, note) VALUES (:customer, 'hello') RETURNING id, at;
";

/// A server at a socket.
struct Served {
    name: &'static str,
    folder: PathBuf,
    port: String,
    user: &'static str,
}

impl Served {
    fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }
}

/// `program` as a client of `server`.
fn client(program: &str, server: &Served) -> Command {
    let mut command = Command::new(program);
    command.arg("-h").arg(&server.folder).args(["-p", &server.port, "-U", server.user]);
    command.env("PGDATABASE", "postgres").env("PGOPTIONS", "");
    command
}

/// Runs `command`; what it printed.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::piped()).output().map_err(text)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} ended with {}: {said}", output.status))
}

fn psql(server: &Served, sql: &str) -> Result<Duration, String> {
    let mut command = client("psql", server);
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql]).stdout(Stdio::null());
    let start = Instant::now();
    output(&mut command)?;
    Ok(start.elapsed())
}

/// Script that pgbench runs.
struct Script<'a> {
    name: &'static str,
    options: &'a [&'a str],
    /// Value of `synchronous_commit`.
    synchronous: &'static str,
}

/// Transactions a second of `script`.
fn pgbench(
    server: &Served,
    args: &WireArgs,
    clients: u32,
    script: &Script<'_>,
) -> Result<f64, String> {
    let (clients, seconds) = (clients.to_string(), args.seconds.to_string());
    let mut command = client("pgbench", server);
    command.env("PGOPTIONS", format!("-c synchronous_commit={}", script.synchronous));
    let options = script.options;
    command.args(["-n", "-M", "prepared", "-j", "2", "-c", &clients, "-T", &seconds]).args(options);
    let printed = output(&mut command)?;
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate = rate.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    rate.ok_or_else(|| format!("pgbench printed no rate: {printed}"))
}

/// Measurements of one server: a name, a unit, a number; more is better.
type Figures = Vec<(String, &'static str, f64)>;

/// Writes `text` to a file of `folder`, for pgbench.
fn script_file(folder: &Path, name: &str, script: &str) -> Result<String, String> {
    let path = folder.join(name);
    std::fs::write(&path, script).map_err(text)?;
    path.to_str().map(str::to_owned).ok_or_else(|| "the folder's name is no text".to_owned())
}

fn fill_pgbench(server: &Served, args: &WireArgs) -> Outcome {
    let scale = args.scale.to_string();
    output(client("pgbench", server).args(["-i", "-I", "dtgp", "-q", "-s", &scale]))?;
    psql(server, ORDERS)?;
    psql(server, "ANALYZE")?;
    psql(server, "CHECKPOINT")?;
    Ok(())
}

fn measure_pgbench(server: &Served, args: &WireArgs, folder: &Path) -> Result<Figures, String> {
    let mut figures = Vec::new();
    let empty = script_file(folder, "empty.sql", ";\n")?;
    let order = script_file(folder, "order.sql", ORDER)?;
    let durable = |name, options| Script { name, options, synchronous: "on" };
    let (empty, order) = (["-f", &empty], ["-f", &order]);
    let scripts = [
        durable("empty query", &empty),
        durable("select-only", &["-S"]),
        durable("TPC-B", &["-b", "tpcb-like"]),
        Script { name: "an order, asynchronous", options: &order, synchronous: "off" },
    ];
    for script in &scripts {
        let name = script.name;
        for &clients in &args.clients {
            let rate = pgbench(server, args, clients, script)?;
            println!("{}: {name}, {clients} clients: {rate:.0} 1/s", server.name);
            figures.push((format!("pgbench, {name}, {clients} clients"), "1/s", rate));
        }
    }
    Ok(figures)
}

fn measure_rows(server: &Served, args: &WireArgs, file: &Path) -> Result<Figures, String> {
    let rows = args.rows;
    if !file.exists() {
        psql(server, &format!("\\copy ({ROW}{rows}) AS g(i)) TO '{}'", file.display()))?;
    }
    psql(server, &format!("CREATE TABLE travel {TABLE}"))?;
    let mut figures = Vec::new();
    let mut figure = |name: &str, time: Duration| {
        let rate = rows as f64 / time.as_secs_f64() / 1000.0;
        println!("{}: {name}: {rate:.0} thousand rows/s", server.name);
        figures.push((name.to_owned(), "k rows/s", rate));
    };
    let path = file.display();
    figure("COPY FROM STDIN, text", psql(server, &format!("\\copy travel FROM '{path}'"))?);
    psql(server, "TRUNCATE travel")?;
    figure("COPY FROM STDIN again", psql(server, &format!("\\copy travel FROM '{path}'"))?);
    figure("COPY TO STDOUT, text", psql(server, "\\copy travel TO '/dev/null'")?);
    figure("COPY TO STDOUT, csv", psql(server, "\\copy travel TO '/dev/null' WITH (FORMAT csv)")?);
    let binary = "\\copy travel TO '/dev/null' WITH (FORMAT binary)";
    figure("COPY TO STDOUT, binary", psql(server, binary)?);
    let mut wire =
        Wire::connect(&server.socket(), server.user, "postgres").map_err(|e| e.message)?;
    let start = Instant::now();
    let count = wire.count_rows("SELECT * FROM travel").map_err(|error| error.message)?;
    let time = start.elapsed();
    if count != rows {
        return Err(format!("{} sent {count} rows of {rows}", server.name));
    }
    figure("SELECT, text", time);
    Ok(figures)
}

/// Measures pgbench when its statements are answered without a database.
fn measure_bound(args: &WireArgs, folder: &Path) -> Result<Figures, String> {
    let port = "1".to_owned();
    let _bound = Bound::start(folder, &port)?;
    let server = Served { name: "no database", folder: folder.to_owned(), port, user: "nobody" };
    measure_pgbench(&server, args, folder)
}

fn measure(server: &Served, args: &WireArgs, folder: &Path) -> Result<Figures, String> {
    let mut figures = Vec::new();
    if args.scale > 0 {
        fill_pgbench(server, args)?;
        figures.extend(measure_pgbench(server, args, folder)?);
    }
    if args.rows > 0 {
        figures.extend(measure_rows(server, args, &folder.join("rows.txt"))?);
    }
    Ok(figures)
}

/// Measures both and prints a table.
///
/// # Errors
/// When a server or a client fails.
pub fn run(args: &WireArgs) -> Outcome {
    workspace::cargo(&["build", "--release", "-p", "server"])?;
    let folder = std::env::temp_dir().join(format!("tessera-travel-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(text)?;
    let outcome = compare(args, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn compare(args: &WireArgs, folder: &Path) -> Outcome {
    let postgres = Postgres::start_with(POSTGRES_SETTINGS).map_err(|error| error.message)?;
    let (home, port) = (postgres.folder().to_owned(), "5432".to_owned());
    let served = Served { name: "PostgreSQL", folder: home, port, user: "postgres" };
    let theirs = measure(&served, args, folder)?;
    drop(postgres);
    let options = ["--auth", "trust", "--unix-socket"].map(OsString::from);
    let options = options.into_iter().chain([folder.into()]).collect();
    let tessera = Server::start(None, options)?;
    let (folder_of, port) = (folder.to_owned(), tessera.port.clone());
    let served = Served { name: "Tessera", folder: folder_of, port, user: "tessera" };
    let ours = measure(&served, args, folder)?;
    drop(tessera);
    let bounds = if args.scale > 0 { measure_bound(args, folder)? } else { Figures::new() };
    println!("\n| | unit | Tessera | PostgreSQL | ratio | no database |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (i, ((name, unit, ours), (_, _, theirs))) in ours.iter().zip(&theirs).enumerate() {
        let bound = bounds.get(i).map_or("-".to_owned(), |(_, _, bound)| format!("{bound:.0}"));
        println!("| {name} | {unit} | {ours:.0} | {theirs:.0} | {:.2} | {bound} |", ours / theirs);
    }
    Ok(())
}
