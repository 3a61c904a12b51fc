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

mod advisory;
mod bulk;
mod calls;
mod catalog;
mod channels;
mod comments;
mod commits;
mod config;
mod copy;
mod cursor;
mod database;
mod define;
mod derived;
mod describe;
mod durable;
mod implicit;
mod locks;
pub mod native;
mod notice;
mod compiled;
mod point;
mod pg_catalog;
mod prepared;
mod privilege;
pub mod registry;
mod result;
mod rights;
mod role;
mod sequence;
mod session;
mod settings;
mod statistics;
mod system;
mod transaction;
mod validate;
mod wide;
mod work;
mod write;

pub use bulk::{BulkLoad, FillPart, PartsProgress};
pub use catalog::{Role, TableEntry, TableInfo};
pub use channels::{Notification, Wake};
pub use commits::Commits;
pub use config::Config;
pub use database::{Condition, Database};
pub use durable::{Background, CheckReport, Files, RecoveryReport};
pub use implicit::is_blank;
pub use notice::{Notice, Severity};
pub use prepared::{ColumnOrigin, KeptStatement, PreparedStatement};
pub use result::QueryResult;
pub use rights::Membership;
pub use role::PasswordHasher;
pub use session::{CancelHandle, ProgressHandle, Session};
