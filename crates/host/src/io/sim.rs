//! A file system in memory that forgets what was not synced when its machine crashes.
//!
//! ```text
//! write, truncate ---> live content    --sync--> durable content
//! create, rename  ---> live names      --sync directory--> durable names
//! crash(): live := durable + what chance keeps of the rest; all handles and locks die
//! ```
//! Everything follows from the seed and the order of calls. Writes that were not synced are kept
//! each with a chance of its own, whole or torn; so are names. A failed sync drops what it should
//! have written, in part, and the next one succeeds without it, as Linux has it.

mod state;

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use types::{Error, Result, SqlState};

use super::real::{error, in_use};
use super::{File, FileLock, Io, OpenMode};
use state::State;

/// Where a write that a crash interrupts may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// Behind any byte.
    Bytes,
    /// At sectors of 512 bytes of the file, each there or not.
    Sectors,
}

/// Fault to simulate; counts start at 1 with the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The sync of a file with this count fails.
    Sync(u64),
    /// The write with this count writes only a part and fails.
    Write(u64),
    /// The change (write, sync, create, rename ...) with this count and all that follow fail, until
    /// [`SimIo::crash`].
    PowerLoss(u64),
}

/// The simulated file system. Clones are the same file system.
#[derive(Clone, Debug)]
pub struct SimIo {
    state: Arc<Mutex<State>>,
    disk: Arc<Disk>,
}

/// Simulated disk that syncs wait for.
#[derive(Debug, Default)]
struct Disk {
    is_held: Mutex<bool>,
    moved: Condvar,
}

/// Syncs of files wait while this lives, as on a disk that stalls.
#[derive(Debug)]
pub struct HeldSyncs(Arc<Disk>);

impl Drop for HeldSyncs {
    fn drop(&mut self) {
        *self.0.is_held.lock() = false;
        self.0.moved.notify_all();
    }
}

/// A handle; dies with its machine.
#[derive(Debug)]
struct SimFile {
    state: Arc<Mutex<State>>,
    disk: Arc<Disk>,
    boot: u64,
    inode: u64,
    path: std::path::PathBuf,
    writable: bool,
}

#[derive(Debug)]
struct SimLock {
    state: Arc<Mutex<State>>,
    boot: u64,
    path: std::path::PathBuf,
}

impl FileLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.boot == self.boot {
            state.locks.remove(&self.path);
        }
    }
}

impl SimIo {
    /// An empty file system.
    pub fn new(seed: u64, tear: Tear) -> Self {
        Self::of(State::new(seed, tear))
    }

    fn of(state: State) -> Self {
        Self { state: Arc::new(Mutex::new(state)), disk: Arc::default() }
    }

    /// Holds the syncs of files up.
    pub fn hold_syncs(&self) -> HeldSyncs {
        *self.disk.is_held.lock() = true;
        HeldSyncs(Arc::clone(&self.disk))
    }

    /// Loses power and starts again. Only what was durable is there, and what chance kept.
    pub fn crash(&self) {
        self.state.lock().crash();
    }

    /// Ends the process, not the machine: handles and locks die, nothing is lost.
    pub fn kill(&self) {
        self.state.lock().kill();
    }

    /// True when the power is gone, until [`Self::crash`].
    pub fn is_powerless(&self) -> bool {
        self.state.lock().powerless
    }

    /// Arranges for a fault, beside those arranged before.
    pub fn inject(&self, fault: Fault) {
        self.state.lock().faults.push(fault);
    }

    /// Forgets the faults that did not happen yet.
    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    /// Lets all files together grow to `bytes`; behind that the disk is full.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity = bytes;
    }

    /// Bytes of all files.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used_bytes()
    }

    /// Bytes read of files since the start.
    pub fn read_bytes(&self) -> u64 {
        self.state.lock().read_bytes
    }

    /// Bytes that [`File::expect`] told of since the start.
    pub fn expected_bytes(&self) -> u64 {
        self.state.lock().expected_bytes
    }

    /// All files and their lengths, by name.
    pub fn files(&self) -> Vec<(std::path::PathBuf, u64)> {
        self.state.lock().files()
    }

    /// Flips the bits of `mask` in one byte of a file, on the disk and for readers.
    ///
    /// # Errors
    /// 58P01 when there is no such byte.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) -> Result<()> {
        let flipped = self.state.lock().flip(path, offset, mask);
        flipped.ok_or_else(|| error(SqlState::UNDEFINED_FILE, "damage", path, "no such byte"))
    }

    /// A copy of the disk as it is, which goes its own way.
    pub fn fork(&self, seed: u64) -> Self {
        Self::of(self.state.lock().fork(seed))
    }
}

fn absent(action: &str, path: &Path) -> Error {
    error(SqlState::UNDEFINED_FILE, action, path, "no such file or directory")
}

fn powerless(action: &str, path: &Path) -> Error {
    error(SqlState::IO_ERROR, action, path, "simulated loss of power")
}

impl Io for SimIo {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        let inode = match (state.names.get(path).copied(), mode) {
            (None, OpenMode::Read | OpenMode::Write) => return Err(absent("open", path)),
            (Some(inode), OpenMode::Read | OpenMode::Write) => inode,
            (found, OpenMode::Create | OpenMode::CreateUncached) => {
                if !state.has_directory_of(path) {
                    return Err(absent("open", path));
                }
                state.change().map_err(|()| powerless("open", path))?;
                match found {
                    Some(inode) => {
                        state.truncate(inode, 0);
                        inode
                    }
                    None => state.create(path),
                }
            }
        };
        Ok(Arc::new(SimFile {
            state: Arc::clone(&self.state),
            disk: Arc::clone(&self.disk),
            boot: state.boot,
            inode,
            path: path.to_owned(),
            writable: mode != OpenMode::Read,
        }))
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        let mut state = self.state.lock();
        state.change().map_err(|()| powerless("create directory", path))?;
        state.create_directory(path);
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> Result<()> {
        let mut state = self.state.lock();
        state.change().map_err(|()| powerless("sync directory", path))?;
        if !state.directories.contains(path) {
            return Err(absent("sync directory", path));
        }
        state.sync_directory(path);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut state = self.state.lock();
        state.change().map_err(|()| powerless("rename", from))?;
        if state.rename(from, to) { Ok(()) } else { Err(absent("rename", from)) }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut state = self.state.lock();
        state.change().map_err(|()| powerless("remove", path))?;
        if state.remove(path) { Ok(()) } else { Err(absent("remove", path)) }
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        let state = self.state.lock();
        if state.directories.contains(path) {
            Ok(state.list(path))
        } else {
            Err(absent("list directory", path))
        }
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        let present = self.state.lock().names.contains_key(path);
        self.open(path, if present { OpenMode::Write } else { OpenMode::Create })?;
        let mut state = self.state.lock();
        if !state.locks.insert(path.to_owned()) {
            return Err(in_use(path));
        }
        let boot = state.boot;
        Ok(Box::new(SimLock { state: Arc::clone(&self.state), boot, path: path.to_owned() }))
    }

    fn entropy(&self) -> u64 {
        self.state.lock().random()
    }
}

impl SimFile {
    fn live(&self, action: &str) -> Result<parking_lot::MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.boot == self.boot { Ok(state) } else { Err(powerless(action, &self.path)) }
    }

    fn changing(&self, action: &str) -> Result<parking_lot::MutexGuard<'_, State>> {
        let mut state = self.live(action)?;
        if !self.writable {
            return Err(error(SqlState::IO_ERROR, action, &self.path, "opened to read"));
        }
        state.change().map_err(|()| powerless(action, &self.path))?;
        Ok(state)
    }
}

impl File for SimFile {
    fn bytes(&self) -> Result<u64> {
        Ok(self.live("stat")?.content(self.inode).len() as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize> {
        let mut state = self.live("read")?;
        let content = state.content(self.inode);
        let start = content.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let count = into.len().min(content.len() - start);
        into[..count].copy_from_slice(&content[start..start + count]);
        state.read_bytes += count as u64;
        Ok(count)
    }

    /// Counts: what is read is in memory.
    fn expect(&self, offset: u64, bytes: u64) {
        if let Ok(mut state) = self.live("read") {
            let left = (state.content(self.inode).len() as u64).saturating_sub(offset);
            state.expected_bytes += bytes.min(left);
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut state = self.changing("write")?;
        let failing = state.due(|fault| matches!(fault, Fault::Write(1)));
        let room = state.room(self.inode, offset, bytes.len() as u64);
        let count = if failing { state.below(bytes.len() as u64) } else { room };
        state.write(self.inode, offset, &bytes[..count.min(room) as usize]);
        match (failing, room < bytes.len() as u64) {
            (true, _) => Err(error(SqlState::IO_ERROR, "write", &self.path, "simulated fault")),
            (_, true) => Err(error(SqlState::DISK_FULL, "write", &self.path, "disk full")),
            _ => Ok(()),
        }
    }

    fn sync(&self) -> Result<()> {
        let mut is_held = self.disk.is_held.lock();
        self.disk.moved.wait_while(&mut is_held, |is_held| *is_held);
        drop(is_held);
        let mut state = self.live("sync")?;
        state.change().map_err(|()| powerless("sync", &self.path))?;
        if state.due(|fault| matches!(fault, Fault::Sync(1))) {
            state.fail_sync(self.inode);
            return Err(error(SqlState::IO_ERROR, "sync", &self.path, "simulated fault"));
        }
        state.sync(self.inode);
        Ok(())
    }

    fn truncate(&self, bytes: u64) -> Result<()> {
        let mut state = self.changing("truncate")?;
        let length = state.content(self.inode).len() as u64;
        if bytes > length && state.room(self.inode, length, bytes - length) < bytes - length {
            return Err(error(SqlState::DISK_FULL, "truncate", &self.path, "disk full"));
        }
        state.truncate(self.inode, bytes);
        Ok(())
    }
}
