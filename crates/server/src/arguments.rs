//! The command line.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

/// Tessera: transactions and analytics on one copy of the data.
#[derive(Debug, Parser)]
#[command(name = "tessera", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    /// Database directory; without it, or with `:memory:`, the database is in memory and ends with
    /// the program
    pub(crate) path: Option<PathBuf>,

    /// Run this SQL and exit; may be given several times
    #[arg(short = 'c', value_name = "SQL")]
    pub(crate) commands: Vec<String>,

    /// Run the statements of this file and exit (after those of -c); - is standard input
    #[arg(short = 'f', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// How rows are printed
    #[arg(long, value_enum, default_value_t = Format::Table, global = true)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) limits: Limits,

    #[command(flatten)]
    pub(crate) shared: Shared,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Limits of the database's resources.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Limits {
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", global = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Memory for data and queries: bytes, or with KB, MB, GB, KiB, MiB, GiB [default: 80 % of the
    /// machine's]
    #[arg(long, value_name = "BYTES", global = true, value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
}

/// Where shared data is that the database takes part in.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// Take part in shared data whose commit manager is at this address and port: its tables are in
    /// the schema "shared"
    #[arg(long = "shared", value_name = "MANAGER")]
    #[arg(value_parser = parse_address)]
    pub(crate) manager: Option<SocketAddr>,

    /// The stores of new shared data, separated by commas, in one order for all; later the commit
    /// manager knows them
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', requires = "manager")]
    #[arg(value_parser = parse_address)]
    pub(crate) stores: Vec<SocketAddr>,

    /// The token of shared data is in this file
    #[arg(long, value_name = "FILE", requires = "manager")]
    pub(crate) token_file: Option<PathBuf>,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object per line
    Json,
    /// A table of Markdown
    Markdown,
    /// Arrow IPC stream
    Arrow,
}

/// Commands other than running SQL.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify every file and index of a database that nobody has open; status 1 when damaged
    Check {
        /// Database directory
        path: PathBuf,
    },
    /// Serve clients of PostgreSQL's protocol until SIGTERM or Ctrl-C
    Serve(Box<Serve>),
    /// Serve a message bus over gRPC until SIGTERM or Ctrl-C
    Bus(Box<ServeBus>),
    /// Serve a store of shared data until Ctrl-C
    Store(ServeStore),
    /// Serve the commit manager of shared data until Ctrl-C
    CommitManager(Process),
    /// Show the stores of shared data; take some in and have some leave, while clients go on
    Stores(Stores),
    /// Search a text that is spread over servers, one of them slow, by messages of the bus: with
    /// and without tied messages
    BusDemo {
        /// Time that a server takes to read one of 44 parts of the text [milliseconds]
        #[arg(long, value_name = "MS", default_value_t = 20)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
        read_ms: u32,
    },
    /// Run TPC-C and analytics on a cluster of shared data, kill a node and a store meanwhile, and
    /// check that nothing is lost; status 1 when something is
    SharedDemo(SharedDemo),
    /// Generate TPC-H, load it, run its 22 queries, then open a shell on it
    Demo {
        /// Scale factor: 1 is about 1 GB of raw data
        #[arg(long, default_value_t = 1.0, value_parser = parse_scale)]
        sf: f64,
    },
}

/// Arguments that a server is started with.
#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// Database directory, made when missing; without it the database is in memory
    pub(crate) path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) shared: Shared,

    /// Address and port; may be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5432")]
    #[arg(value_parser = parse_address)]
    pub(crate) listen: Vec<SocketAddr>,

    /// Also listen on a Unix socket in this directory
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) unix_socket: Option<PathBuf>,

    /// Offer TLS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// How clients prove who they are; trust is for this machine only
    #[arg(long, value_enum, default_value_t = Auth::Scram)]
    pub(crate) auth: Auth,

    /// The first superuser of a new database, whose password is printed
    #[arg(long, value_name = "NAME", default_value = "tessera")]
    pub(crate) user: String,

    /// Most clients at a time
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,

    /// Cancel statements that run longer, unless the session says otherwise [seconds]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) statement_timeout: Option<u32>,

    /// End connections that are silent longer, unless the session says otherwise [seconds]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_timeout: Option<u32>,

    /// Options from a file, `key = value` in each line; those given here win
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Log connections and errors to standard error, a line each
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<Log>,

    /// Also log statements that run at least so long [milliseconds]
    #[arg(long, value_name = "MS", requires = "log_format")]
    pub(crate) log_min_duration: Option<u32>,

    /// Answer HTTP requests for /metrics (Prometheus) and /health at this address and port
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Also serve clients of Arrow Flight SQL at this address and port; one of this machine, unless
    /// there is TLS, which then all of them must use
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub(crate) flight: Option<SocketAddr>,
}

/// Arguments that a process of shared data is started with.
#[derive(Clone, Debug, Args)]
pub(crate) struct Process {
    /// Its directory, made when missing
    pub(crate) path: PathBuf,

    /// Address and port; one of this machine, unless there is a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    #[arg(value_parser = parse_address)]
    pub(crate) listen: SocketAddr,

    /// Talk only to those who have the token that is in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Most connections at a time; others are closed
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,
}

/// Arguments that a store of shared data is started with.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeStore {
    #[command(flatten)]
    pub(crate) process: Process,

    /// Make machine code for large scans
    #[arg(long, value_name = "on|off", value_enum, default_value_t = Codegen::On)]
    pub(crate) codegen: Codegen,
}

/// Arguments that the stores of shared data are changed with.
#[derive(Clone, Debug, Args)]
pub(crate) struct Stores {
    /// Address and port of the commit manager
    #[arg(value_parser = parse_address)]
    pub(crate) manager: SocketAddr,

    /// Take in the store at this address and port; may be given several times
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub(crate) add: Vec<SocketAddr>,

    /// Have the store at this address and port give all that it has to the others, and leave; may
    /// be given several times
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub(crate) remove: Vec<SocketAddr>,

    /// The token of shared data is in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// How large scans of a store run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Codegen {
    /// As machine code that is made for their queries
    On,
    /// As loops
    Off,
}

/// Arguments that the server of a bus is started with.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeBus {
    /// Directory of the bus, made when missing
    pub(crate) path: PathBuf,

    /// Address and port; may be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5460")]
    #[arg(value_parser = parse_address)]
    pub(crate) listen: Vec<SocketAddr>,

    /// Speak TLS only, with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Take calls only with the token that is in this file; without it, addresses are those of
    /// this machine only
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// When calls are answered: once the disk has them, or before, so that a crash may lose the
    /// newest
    #[arg(long, value_enum, default_value_t = Sync::On)]
    pub(crate) sync: Sync,

    /// The largest message: bytes, or with KB, MB, KiB, MiB; at most 1GiB [default: 16MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) max_message: Option<u64>,

    /// Most messages of one receive, and most keys, tokens and receivers of one call
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) max_batch: u32,

    /// Most connections at a time; others wait
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: u32,

    /// Most calls that run at a time, each on a thread; others wait
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_calls: u32,

    /// Most receives that wait at a time, each on a thread; more are refused
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(crate) max_waiting: u32,

    /// Answer HTTP requests for /metrics (Prometheus) and /health at this address and port
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Arguments of the demo of shared data.
#[derive(Clone, Debug, Args)]
pub(crate) struct SharedDemo {
    /// How long clients work
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=3600))]
    pub(crate) seconds: u32,

    /// Warehouses of TPC-C
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) warehouses: u32,

    /// Rows of a warehouse, as a share of those of TPC-C
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = parse_share)]
    pub(crate) scale: f64,

    /// Leave the data where it is at the end, and say how to start the cluster again
    #[arg(long)]
    pub(crate) keep: bool,
}

/// When calls of a bus are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sync {
    /// When they are on the disk
    On,
    /// At once
    Off,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Words and `key=value`
    Text,
    /// An object for each line
    Json,
}

/// How clients prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Auth {
    /// Passwords, by SCRAM-SHA-256
    Scram,
    /// Not at all
    Trust,
}

/// An address and a port; a name stands for its first address, one of IPv4 if it has any.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(|address| !address.is_ipv4());
    found.first().copied().ok_or_else(|| "no such address".to_owned())
}

/// The command that somebody may have meant by `word`, which is none.
pub(crate) fn similar_command(word: &str) -> Option<String> {
    let command = Arguments::command();
    let names = command.get_subcommands().map(|c| c.get_name().to_owned());
    names.chain(["help".to_owned()]).find(|name| strsim::osa_distance(name, word) <= 2)
}

/// Bytes with an optional unit.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1024.0 * 1024.0,
        "mb" => 1e6,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "gb" => 1e9,
        _ => return Err(format!("unknown unit \"{unit}\"")),
    };
    let number: f64 = number.parse().map_err(|_| format!("\"{text}\" is no size"))?;
    let bytes = number * factor;
    if bytes < 1e6 {
        return Err("at least 1MB is needed".to_owned());
    }
    Ok(bytes as u64)
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(sf) if sf > 0.0 && sf <= 10_000.0 => Ok(sf),
        _ => Err("a number above 0 and at most 10000 is needed".to_owned()),
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.01..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0.01 to 1 is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_no_databases() {
        for (word, meant) in
            [("srve", "serve"), ("sevre", "serve"), ("chek", "check"), ("hepl", "help")]
        {
            assert_eq!(similar_command(word).as_deref(), Some(meant));
        }
        for word in ["shop", "db", "./srve", "data/demo", ":memory:", "sales", "test.db"] {
            assert_eq!(similar_command(word), None, "{word}");
        }
    }

    #[test]
    fn addresses_may_be_names() {
        let local = SocketAddr::from(([127, 0, 0, 1], 5432));
        assert_eq!(parse_address("127.0.0.1:5432"), Ok(local));
        assert_eq!(parse_address("localhost:5432"), Ok(local));
        assert_eq!(parse_address("[::1]:1").map(|address| address.port()), Ok(1));
        assert!(parse_address("localhost").is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_bytes("256MB"), Ok(256_000_000));
        assert_eq!(parse_bytes("2 GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("1048576"), Ok(1 << 20));
        assert!(parse_bytes("12").is_err());
        assert!(parse_bytes("many").is_err());
    }
}
