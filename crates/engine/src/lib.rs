//! The database: sessions, catalog, statements.
//!
//! ```text
//! Session::execute: text -> sql::parse -> sql::bind -> plan::plan -> exec::execute -> QueryResult
//! ```
//! Invariants: a statement either happens as a whole or not at all; a session's error leaves the
//! database and other sessions as they were.
//!
//! Elsewhere: files (`formats`), generated data (`workloads`), the shell (`server`); all three
//! register themselves through [`registry`].
#![forbid(unsafe_code)]

// Floors: lowest first.
mod words;
mod instance;
mod transaction;
mod session;
mod show;
mod statement;
mod write;
mod define;
mod run;

pub use catalog::rights::Membership;
pub use catalog::{Role, TableEntry, TableInfo};
pub use durable::{Background, CheckReport, Files, RecoveryReport};
pub use instance::attached;
pub use instance::channels::{Notification, Wake};
pub use instance::commits::Commits;
pub use instance::database::{Condition, Database};
pub use instance::registry;
pub use instance::registry::PasswordHasher;
pub use run::bulk::{BulkLoad, FillPart, Parts, PartsProgress};
pub use run::implicit::is_blank;
pub use run::native;
pub use session::Session;
pub use session::prepared::{ColumnOrigin, KeptStatement, PreparedStatement};
pub use show::system::{no_arguments, rows_function};
pub use transaction::held::{Held, HeldSnapshot};
pub use words::cancel::{CancelHandle, ProgressHandle};
pub use words::config::Config;
pub use words::notice::{Notice, Severity};
pub use words::result::QueryResult;
