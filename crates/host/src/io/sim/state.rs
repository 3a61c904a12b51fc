//! Contents of the simulated disk, and their changes by chance.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Fault, Tear};

/// Percentages of unsynced changes that a crash keeps; each crash draws one of them.
const KEPT_PERCENTS: [u64; 5] = [0, 20, 50, 80, 100];
/// Percentage of kept writes that are torn.
const TORN_PERCENT: u64 = 30;
/// The unit that disks write whole.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { bytes: usize },
}

#[derive(Clone, Debug, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Naming {
    Link { path: PathBuf, inode: u64 },
    Unlink { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, inode: u64 },
}

impl Naming {
    fn directory(&self) -> Option<&Path> {
        match self {
            Self::Link { path, .. } | Self::Unlink { path } => path.parent(),
            Self::Rename { to, .. } => to.parent(),
        }
    }

    fn apply(self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Self::Link { path, inode } => {
                names.insert(path, inode);
            }
            Self::Unlink { path } => {
                names.remove(&path);
            }
            Self::Rename { from, to, inode } => {
                if names.get(&from) == Some(&inode) {
                    names.remove(&from);
                }
                names.insert(to, inode);
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct State {
    random: u64,
    tear: Tear,
    /// Counts crashes: handles of earlier ones are dead.
    pub(super) boot: u64,
    pub(super) names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    naming: Vec<Naming>,
    /// Directories are durable at once, which spares tests no case that matters here.
    pub(super) directories: BTreeSet<PathBuf>,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    pub(super) locks: BTreeSet<PathBuf>,
    pub(super) faults: Vec<Fault>,
    pub(super) capacity: Option<u64>,
    pub(super) powerless: bool,
    /// Bytes that files gave to readers.
    pub(super) read_bytes: u64,
    /// Bytes of which it was told that they will be read.
    pub(super) expected_bytes: u64,
}

impl State {
    pub(super) fn new(seed: u64, tear: Tear) -> Self {
        Self {
            random: seed,
            tear,
            boot: 0,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            naming: Vec::new(),
            directories: BTreeSet::from([PathBuf::from("/"), PathBuf::new()]),
            inodes: BTreeMap::new(),
            next_inode: 1,
            locks: BTreeSet::new(),
            faults: Vec::new(),
            capacity: None,
            powerless: false,
            read_bytes: 0,
            expected_bytes: 0,
        }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    pub(super) fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.random()) * u128::from(bound)) >> 64) as u64
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Counts a change; an error when there is no power for it.
    pub(super) fn change(&mut self) -> Result<(), ()> {
        if self.due(|fault| matches!(fault, Fault::PowerLoss(1))) {
            self.powerless = true;
        }
        if self.powerless { Err(()) } else { Ok(()) }
    }

    /// Counts the faults down that `is_now` would recognise at 1; true when one is due.
    pub(super) fn due(&mut self, is_now: impl Fn(&Fault) -> bool) -> bool {
        let mut due = false;
        self.faults.retain_mut(|fault| {
            if is_now(fault) {
                due = true;
                return false;
            }
            let (count, now) = match fault {
                Fault::Sync(count) => (count, Fault::Sync(1)),
                Fault::Write(count) => (count, Fault::Write(1)),
                Fault::PowerLoss(count) => (count, Fault::PowerLoss(1)),
            };
            if is_now(&now) {
                *count = count.saturating_sub(1);
            }
            true
        });
        due
    }

    pub(super) fn has_directory_of(&self, path: &Path) -> bool {
        path.parent().is_none_or(|parent| self.directories.contains(parent))
    }

    pub(super) fn create_directory(&mut self, path: &Path) {
        for ancestor in path.ancestors() {
            self.directories.insert(ancestor.to_owned());
        }
    }

    pub(super) fn list(&self, path: &Path) -> Vec<String> {
        let inside =
            |entry: &&PathBuf| entry.parent() == Some(path) && !entry.as_os_str().is_empty();
        let files = self.names.keys().filter(inside);
        let all = files.chain(self.directories.iter().filter(inside));
        let names = all.filter_map(|entry| entry.file_name());
        let mut names: Vec<String> =
            names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(super) fn files(&self) -> Vec<(PathBuf, u64)> {
        let bytes = |inode: &u64| self.content(*inode).len() as u64;
        self.names.iter().map(|(path, inode)| (path.clone(), bytes(inode))).collect()
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.files().iter().map(|(_, bytes)| bytes).sum()
    }

    fn name(&mut self, naming: Naming) {
        naming.clone().apply(&mut self.names);
        self.naming.push(naming);
    }

    pub(super) fn create(&mut self, path: &Path) -> u64 {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, Inode::default());
        self.name(Naming::Link { path: path.to_owned(), inode });
        inode
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let Some(inode) = self.names.get(from).copied() else {
            return false;
        };
        self.name(Naming::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        true
    }

    pub(super) fn remove(&mut self, path: &Path) -> bool {
        let present = self.names.contains_key(path);
        if present {
            self.name(Naming::Unlink { path: path.to_owned() });
        }
        present
    }

    pub(super) fn sync_directory(&mut self, path: &Path) {
        let all = std::mem::take(&mut self.naming);
        for naming in all {
            if naming.directory() == Some(path) {
                naming.apply(&mut self.durable_names)
            } else {
                self.naming.push(naming)
            }
        }
    }

    pub(super) fn content(&self, inode: u64) -> &[u8] {
        self.inodes.get(&inode).map_or(&[], |inode| &inode.live)
    }

    /// How many of `bytes` at `offset` the disk has room for.
    pub(super) fn room(&self, inode: u64, offset: u64, bytes: u64) -> u64 {
        let Some(capacity) = self.capacity else {
            return bytes;
        };
        let length = self.content(inode).len() as u64;
        let free = capacity.saturating_sub(self.used_bytes());
        (length + free).saturating_sub(offset).min(bytes)
    }

    pub(super) fn write(&mut self, inode: u64, offset: u64, bytes: &[u8]) {
        self.record(inode, Change::Write { offset: offset as usize, bytes: bytes.to_vec() });
    }

    pub(super) fn truncate(&mut self, inode: u64, bytes: u64) {
        self.record(inode, Change::Truncate { bytes: bytes as usize });
    }

    fn record(&mut self, inode: u64, change: Change) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            apply(&mut inode.live, &change);
            inode.pending.push(change);
        }
    }

    pub(super) fn sync(&mut self, inode: u64) {
        if let Some(inode) = self.inodes.get_mut(&inode) {
            for change in inode.pending.drain(..) {
                apply(&mut inode.durable, &change);
            }
        }
    }

    /// Keeps some of what should have been written and forgets that the rest should.
    pub(super) fn fail_sync(&mut self, inode: u64) {
        let percent = self.kept_percent();
        self.settle(inode, percent);
    }

    fn kept_percent(&mut self) -> u64 {
        let choice = self.below(KEPT_PERCENTS.len() as u64);
        KEPT_PERCENTS[choice as usize]
    }

    /// Makes some of the pending changes of a file durable, the rest vanish.
    fn settle(&mut self, inode: u64, percent: u64) {
        let Some(found) = self.inodes.get_mut(&inode) else {
            return;
        };
        let pending = std::mem::take(&mut found.pending);
        let mut durable = std::mem::take(&mut found.durable);
        for change in pending {
            if !self.chance(percent) {
                continue;
            }
            match change {
                Change::Write { offset, bytes } if self.chance(TORN_PERCENT) => {
                    self.tear(&mut durable, offset, &bytes);
                }
                change => apply(&mut durable, &change),
            }
        }
        if let Some(found) = self.inodes.get_mut(&inode) {
            found.durable = durable;
        }
    }

    fn tear(&mut self, content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
        match self.tear {
            Tear::Bytes => {
                let kept = self.below(bytes.len() as u64 + 1) as usize;
                put(content, offset, &bytes[..kept]);
            }
            Tear::Sectors => {
                let mut at = 0;
                while at < bytes.len() {
                    let sector_end = (offset + at + 1).next_multiple_of(SECTOR_BYTES) - offset;
                    let end = sector_end.min(bytes.len());
                    if self.chance(50) {
                        put(content, offset + at, &bytes[at..end]);
                    }
                    at = end;
                }
            }
        }
    }

    pub(super) fn kill(&mut self) {
        self.boot += 1;
        self.locks.clear();
        self.faults.clear();
        self.powerless = false;
    }

    pub(super) fn crash(&mut self) {
        self.kill();
        let percent = self.kept_percent();
        let ordered = self.chance(50);
        let inodes: Vec<u64> = self.inodes.keys().copied().collect();
        for inode in inodes {
            self.settle(inode, percent);
        }
        let naming = std::mem::take(&mut self.naming);
        let mut lost = false;
        for naming in naming {
            // Journals lose the end; other file systems lose anything.
            let kept = self.chance(percent) && !(ordered && lost);
            lost |= !kept;
            if kept {
                naming.apply(&mut self.durable_names);
            }
        }
        self.names = self.durable_names.clone();
        let used: BTreeSet<u64> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| used.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.live = inode.durable.clone();
        }
    }

    pub(super) fn flip(&mut self, path: &Path, offset: u64, mask: u8) -> Option<()> {
        let inode = self.inodes.get_mut(self.names.get(path)?)?;
        *inode.live.get_mut(offset as usize)? ^= mask;
        if let Some(byte) = inode.durable.get_mut(offset as usize) {
            *byte ^= mask;
        }
        Some(())
    }

    pub(super) fn fork(&self, seed: u64) -> Self {
        let mut state = self.clone();
        state.random = seed;
        state.kill();
        state
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    if content.len() < offset + bytes.len() {
        content.resize(offset + bytes.len(), 0);
    }
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes } => put(content, *offset, bytes),
        Change::Truncate { bytes } => content.resize(*bytes, 0),
    }
}
