//! The benchmarks that both Tessera and a peer run: their queries, and the same data on both sides.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use engine::{Config, Session};

use crate::peers::{self, Peer, Which};
use crate::{peers_home, tessera, text, tpcds};

/// A benchmark.
#[derive(Clone)]
pub struct Suite {
    /// Its procedure: `CALL tpch(sf => 1)`.
    pub name: &'static str,
    /// The procedure's argument.
    pub unit: &'static str,
    /// The scale up to which both sides fit into memory beside each other.
    pub shared_memory_max: f64,
    /// Its tables.
    pub tables: &'static [&'static str],
    /// Names and texts of its queries.
    pub queries: Vec<(String, Cow<'static, str>)>,
    /// Where its data comes from.
    pub data: Data,
}

/// Where the data of a benchmark comes from.
#[derive(Clone)]
pub enum Data {
    /// The procedure of its name.
    Procedure,
    /// Parquet files of this folder, one for each table.
    Files(PathBuf),
}

impl Suite {
    /// TPC-H, queries 1 to 22.
    pub fn tpch() -> Self {
        Self {
            name: "tpch",
            unit: "sf",
            shared_memory_max: 2.0,
            tables: &workloads::tpch::TABLES,
            queries: numbered(&workloads::tpch::QUERIES),
            data: Data::Procedure,
        }
    }

    /// The star schema benchmark, 13 queries in four flights.
    pub fn ssb() -> Self {
        let named = workloads::ssb::QUERIES.into_iter();
        Self {
            name: "ssb",
            unit: "sf",
            shared_memory_max: 2.0,
            tables: &workloads::ssb::TABLES,
            queries: named.map(|(name, text)| (name.to_owned(), text.into())).collect(),
            data: Data::Procedure,
        }
    }

    /// TPC-H or SSB, by name.
    ///
    /// # Errors
    /// For other names.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "ssb" => Ok(Self::ssb()),
            "tpch" => Ok(Self::tpch()),
            other => Err(format!("there is no benchmark {other}")),
        }
    }

    /// Joins of many tables with skewed and dependent columns, queries 1 to 20.
    pub fn job() -> Self {
        Self {
            name: "job",
            unit: "sf",
            shared_memory_max: 4.0,
            tables: &workloads::job::TABLES,
            queries: numbered(&workloads::job::QUERIES),
            data: Data::Procedure,
        }
    }

    /// TPC-DS, queries 1 to 99, with data of scale factor `scale`; both are made by DuckDB's
    /// extension, once.
    ///
    /// # Errors
    /// When there is no Python, or the packages cannot be installed.
    pub fn tpcds(scale: f64) -> Result<Self, String> {
        let folder = tpcds::made(scale)?;
        Ok(Self {
            name: "tpcds",
            unit: "sf",
            shared_memory_max: 2.0,
            tables: &tpcds::TABLES,
            queries: tpcds::queries(&folder)?,
            data: Data::Files(folder),
        })
    }

    /// CH-benCHmark, queries 1 to 22 over TPC-C's tables.
    pub fn ch() -> Self {
        Self {
            name: "ch",
            unit: "warehouses",
            shared_memory_max: 20.0,
            tables: &workloads::ch::TABLES,
            queries: numbered(&workloads::ch::QUERIES),
            data: Data::Procedure,
        }
    }

    /// One wide table of page views, queries 1 to 43.
    pub fn clickbench() -> Self {
        Self {
            name: "clickbench",
            unit: "rows",
            shared_memory_max: 1e7,
            tables: &workloads::clickbench::TABLES,
            queries: numbered(&workloads::clickbench::QUERIES),
            data: Data::Procedure,
        }
    }
}

/// Queries whose names are their numbers from 1.
fn numbered(queries: &[&'static str]) -> Vec<(String, Cow<'static, str>)> {
    let named = |(number, text): (u32, &&'static str)| (number.to_string(), (*text).into());
    (1..).zip(queries).map(named).collect()
}

/// Parameters of a run.
#[derive(Clone)]
pub struct Options {
    /// The benchmark.
    pub suite: Suite,
    /// Its scale factor, or rows.
    pub scale: f64,
    /// Worker threads of both sides.
    pub threads: usize,
    /// Names of the queries to run; all when empty.
    pub queries: Vec<String>,
    /// Where Tessera has its database, if not in memory.
    pub files: Option<Files>,
}

/// A database of Tessera in files.
#[derive(Clone)]
pub struct Files {
    /// Its directory: loaded when it is not there, kept for the next run.
    pub directory: PathBuf,
    /// Memory of the database once it is loaded, in bytes.
    pub memory_bytes: u64,
}

impl Options {
    /// The chosen queries with their names.
    pub fn chosen(&self) -> impl Iterator<Item = (&str, &str)> {
        let queries = self.suite.queries.iter().map(|(name, text)| (name.as_str(), &**text));
        queries.filter(|(name, _)| {
            self.queries.is_empty() || self.queries.iter().any(|wanted| wanted == name)
        })
    }
}

/// Both sides with the same data loaded.
pub struct Pair {
    /// Tessera.
    pub tessera: Session,
    /// The other system.
    pub peer: Box<dyn Peer>,
    // The last field: it goes when the peer has closed its files.
    pub(crate) scratch: Scratch,
}

/// A directory that is removed with its owner.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self, String> {
        let folder = peers_home().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(text)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: what remains is in the target directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Tessera with the data generated, or as an earlier run left it in files.
///
/// # Errors
/// Errors of Tessera.
pub fn generate(options: &Options) -> Result<Session, String> {
    let config = Config { threads: options.threads, ..Config::default() };
    let Some(Files { directory, memory_bytes }) = &options.files else {
        return load(tessera::open(config).map_err(text)?.session(), options);
    };
    if !directory.exists() {
        let database = tessera::open_files(directory, config.clone()).map_err(text)?;
        let mut session = load(database.session(), options)?;
        session.execute("CHECKPOINT").map_err(text)?;
        drop(session);
        database.close().map_err(text)?;
    }
    let config = Config { memory_bytes: *memory_bytes, ..config };
    Ok(tessera::open_files(directory, config).map_err(text)?.session())
}

/// The session, with the data.
fn load(mut session: Session, options: &Options) -> Result<Session, String> {
    let Suite { name, unit, tables, data, .. } = &options.suite;
    match data {
        Data::Procedure => {
            let call = format!("CALL {name}({unit} => {})", options.scale);
            session.execute(&call).map_err(text)?;
        }
        Data::Files(folder) => {
            for table in *tables {
                let file = folder.join(format!("{table}.parquet"));
                let create = format!("CREATE TABLE {table} AS SELECT * FROM '{}'", file.display());
                session.execute(&create).map_err(text)?;
            }
        }
    }
    Ok(session)
}

/// Generates the data in Tessera, hands it to the peer as files, and opens both.
///
/// # Errors
/// Errors of either side.
pub fn open(options: &Options, which: Which) -> Result<Pair, String> {
    let mut tessera = generate(options)?;
    let scratch = Scratch::new(options.suite.name)?;
    let peer = peers::open(which, options.suite.tables, options.threads, &mut tessera, &scratch.0)?;
    Ok(Pair { tessera, peer, scratch })
}
