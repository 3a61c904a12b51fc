//! Tessera as a store to kill.

use std::path::Path;
use std::time::Duration;

use engine::{Config, Database};
use storage::Layout;
use testkit::Random;
use testkit::slt;
use testkit::torture::sql::SqlLedger;

use super::{Commits, Role};
use crate::tessera::{boxed, sql_error};

/// Memory of a child's database in bytes.
const MEMORY_BYTES: u64 = 4 << 30;

/// Bytes of log between checkpoints: one of these for each child, some of them tiny, so that there
/// are checkpoints in a life of half a second; with the last there is none but by command.
const CHECKPOINT_BYTES: [u64; 4] = [32 << 10, 256 << 10, 2 << 20, 1 << 30];

/// The longest pause between two CHECKPOINT statements in milliseconds.
const PAUSE_MS: u64 = 200;

/// Opens the database in `directory`; a child has it disturbed.
pub(super) fn open(directory: &Path, commits: Commits, role: Role) -> types::Result<Database> {
    // The layout only counts when tables are made: one case has frozen blocks, the other none.
    let layout = match commits {
        Commits::Wait => Layout::Auto,
        Commits::DoNotWait => Layout::Row,
    };
    let database =
        Database::open(directory, Config { threads: 2, memory_bytes: MEMORY_BYTES, layout })?;
    if let Role::Child(seed) = role {
        disturb(&database, seed)?;
    }
    Ok(database)
}

/// Chooses how often checkpoints are written, and forces some at random from a thread of its own.
fn disturb(database: &Database, seed: u64) -> types::Result<()> {
    let mut random = Random::new(seed);
    let bytes = CHECKPOINT_BYTES[random.below(CHECKPOINT_BYTES.len() as u64) as usize];
    let mut session = database.session();
    session.execute(&format!("SET checkpoint_wal_bytes = {bytes}"))?;
    if random.chance(50) {
        session.execute("SET freezing = eager")?;
    }
    if random.chance(70) {
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(random.below(PAUSE_MS)));
                if let Err(error) = session.execute("CHECKPOINT") {
                    eprintln!("CHECKPOINT: {error}");
                    std::process::exit(1);
                }
            }
        });
    }
    Ok(())
}

/// The store of ledgers.
pub(super) fn ledgers(commits: Commits, role: Role) -> SqlLedger {
    let open = move |directory: &Path| -> Result<Box<dyn slt::Database>, slt::SqlError> {
        Ok(boxed(open(directory, commits, role).map_err(sql_error)?))
    };
    let greeting = match commits {
        Commits::Wait => None,
        Commits::DoNotWait => Some("SET synchronous_commit = off".to_owned()),
    };
    let check = Some("SELECT problem FROM tessera_check()".to_owned());
    SqlLedger { open: Box::new(open), greeting, check }
}
