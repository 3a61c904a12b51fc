//! Calls of clients: text, prepared statements, cursors, COPY, and the calls of the library; each
//! statement is handed to the floor that carries it out.

pub(crate) mod databases;
mod two_phase;
pub(crate) mod open;
pub(crate) mod transaction;
pub(crate) mod configure;
pub(crate) mod elements;
pub(crate) mod explain;
pub(crate) mod prepared;
mod large_object;
mod program;
pub(crate) mod cursor;
pub(crate) mod copy;
mod vacuum;
pub(crate) mod dispatch;
pub(crate) mod attempts;
pub(crate) mod texts;
pub(crate) mod implicit;
pub(crate) mod bulk;
pub mod native;
