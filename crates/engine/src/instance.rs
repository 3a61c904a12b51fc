//! One open database: memory, workers, catalog, log, and what sessions share.

pub mod attached;
pub mod registry;
pub(crate) mod advisory;
pub(crate) mod xids;
pub(crate) mod channels;
pub(crate) mod arrivals;
pub(crate) mod info;
pub(crate) mod compaction;
pub(crate) mod freezing;
pub(crate) mod gathering;
pub(crate) mod prepared;
pub(crate) mod database;
pub(crate) mod cluster;
pub(crate) mod commits;
