//! Runs sqllogictest files against any database that speaks Tessera's dialect.
//!
//! ```text
//! file -> records -> Connection::run -> cells -> compared with the lines of the file
//! ```
//! A file that begins with `setup` has several sessions: see `script`.
//! Invariants: each file sees a database of its own; a record that fails does not stop its file.
//!
//! Cells are compared as text: NULL is `NULL`, the empty string `(empty)`, booleans `t` and `f`.

mod backend;
mod run;
mod script;
mod sessions;
mod serial;

pub use backend::{Answer, Backend, Connection, Database, SqlError};
pub use run::{COPY_DIR, Failure, Report, files, rewrite_file, run_file};
