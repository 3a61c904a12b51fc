//! State that a manager has on disk: enough that a new life repeats no version.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use host::{FileLock, Io, read_file, replace_file};
use transport::{Attempt, DatabaseId, Move, Phase, Ring};
use types::Result;
use types::codec::{Input, Malformed, put_u64};

use super::{NodeId, list, put_list};

/// State of a manager that outlives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Lives so far.
    pub life: u64,
    /// No version above was given.
    pub limit: u64,
    /// All versions up to this one are finished; others may be.
    pub base: u64,
    /// Nodes so far.
    pub next_node: u64,
    /// Nodes that joined, and neither left nor were recovered.
    pub nodes: BTreeSet<NodeId>,
    /// Where keys are.
    pub stores: Stores,
    /// Number of the database; None before it was drawn.
    pub database: Option<DatabaseId>,
}

/// A move that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    /// The move.
    pub what: Move,
    /// How far it is.
    pub phase: Phase,
}

/// The ring and its changes, as far as they outlive the manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stores {
    /// Where keys are; `None` before anybody said which stores there are.
    pub ring: Option<Ring>,
    /// The move that is under way.
    pub moving: Option<Moving>,
    /// The last order.
    pub attempt: Attempt,
    /// Stores so far.
    pub next_store: u64,
}

impl Stores {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.ring.is_some()));
        self.ring.iter().for_each(|ring| ring.put(out));
        out.push(u8::from(self.moving.is_some()));
        if let Some(moving) = &self.moving {
            moving.what.put(out);
            out.push(moving.phase.number());
        }
        put_u64(out, self.attempt.0);
        put_u64(out, self.next_store);
    }

    fn read(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let ring = if input.u8()? == 1 { Some(Ring::read(input)?) } else { None };
        let moving = if input.u8()? == 1 {
            Some(Moving { what: Move::read(input)?, phase: Phase::read(input)? })
        } else {
            None
        };
        let (attempt, next_store) = (Attempt(input.u64()?), input.u64()?);
        Ok(Self { ring, moving, attempt, next_store })
    }

    /// Version of the ring; 0 without one.
    pub fn version(&self) -> u64 {
        self.ring.as_ref().map_or(0, Ring::version)
    }
}

/// Place of a manager's state.
pub trait Keeper: Send {
    /// The state that was kept last.
    ///
    /// # Errors
    /// Errors of the disk; XX001 when it is damaged.
    fn load(&mut self) -> Result<Option<Kept>>;

    /// Keeps it; durable when this returns.
    ///
    /// # Errors
    /// Errors of the disk.
    fn keep(&mut self, kept: &Kept) -> Result<()>;
}

/// A file.
#[derive(Debug)]
pub struct FileKeeper {
    io: Arc<dyn Io>,
    path: PathBuf,
    _lock: Box<dyn FileLock>,
}

impl FileKeeper {
    /// The file `manager` in `directory`, which is made and locked: two managers of one directory
    /// would give versions twice.
    ///
    /// # Errors
    /// 55006 when another process has it open; errors of `io`.
    pub fn open(io: Arc<dyn Io>, directory: PathBuf) -> Result<Self> {
        io.create_directory(&directory)?;
        let lock = io.lock(&directory.join("lock"))?;
        Ok(Self { io, path: directory.join("manager"), _lock: lock })
    }
}

impl Keeper for FileKeeper {
    fn load(&mut self) -> Result<Option<Kept>> {
        let directory = self.path.parent().unwrap_or(&self.path);
        let is_there = self.io.list(directory)?.iter().any(|name| name == "manager");
        if !is_there {
            return Ok(None);
        }
        let bytes = read_file(&*self.io, &self.path)?;
        let what = format!("\"{}\"", self.path.display());
        read(&bytes).map(Some).map_err(|malformed| malformed.in_bytes_of(&what))
    }

    fn keep(&mut self, kept: &Kept) -> Result<()> {
        let mut out = vec![FORMAT];
        let numbers = [kept.life, kept.limit, kept.base, kept.next_node];
        numbers.iter().for_each(|number| put_u64(&mut out, *number));
        put_list(&mut out, kept.nodes.iter().map(|id| id.0));
        kept.stores.put(&mut out);
        let drawn = kept.database.map_or(0, |id| id.0);
        [(drawn >> 64) as u64, drawn as u64].iter().for_each(|half| put_u64(&mut out, *half));
        replace_file(&*self.io, &self.path, &out)
    }
}

/// Format; 1 has no stores, and 2 no number of the database.
const FORMAT: u8 = 3;

/// Numbers are never 0.
fn read_database(input: &mut Input<'_>) -> Result<Option<DatabaseId>, Malformed> {
    let (high, low) = (u128::from(input.u64()?), u128::from(input.u64()?));
    Ok(Some(DatabaseId(high << 64 | low)).filter(|id| id.0 != 0))
}

fn read(bytes: &[u8]) -> Result<Kept, Malformed> {
    let mut input = Input::new(bytes);
    let format = input.u8()?;
    if !(1..=FORMAT).contains(&format) {
        return Err(input.malformed("a manager's state of format 1 to 3"));
    }
    Ok(Kept {
        life: input.u64()?,
        limit: input.u64()?,
        base: input.u64()?,
        next_node: input.u64()?,
        nodes: list(&mut input)?.into_iter().map(NodeId).collect(),
        stores: if format == 1 { Stores::default() } else { Stores::read(&mut input)? },
        database: if format < 3 { None } else { read_database(&mut input)? },
    })
}
