//! Options that a database is opened with; everything has a default that fits the machine.

use storage::Layout;

/// Options of [`crate::Database::open`] and [`crate::Database::open_in_memory`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Worker threads; by default one per core that the process may use.
    pub threads: usize,
    /// Memory in bytes; by default 80 % of what the machine has.
    pub memory_bytes: u64,
    /// Layout of tables created without `WITH (layout = ...)`.
    pub layout: Layout,
}

/// Share of the machine's memory that a database takes by default (DESIGN section 1).
const MEMORY_PERCENT: u64 = 80;

impl Default for Config {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Self { threads, memory_bytes: machine_bytes() / 100 * MEMORY_PERCENT, layout: Layout::Auto }
    }
}

/// Memory of the machine, or of the control group when that is less.
fn machine_bytes() -> u64 {
    let installed = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
    };
    let group = || {
        let text = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?;
        text.trim().parse::<u64>().ok()
    };
    let installed = installed().unwrap_or(4 << 30);
    group().map_or(installed, |group| group.min(installed))
}
