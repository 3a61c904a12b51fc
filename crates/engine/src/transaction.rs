//! The work between BEGIN and COMMIT: what a transaction holds, reads, changes and puts off.

pub(crate) mod descriptors;
pub(crate) mod held;
pub(crate) mod reads;
pub(crate) mod deferred;
pub(crate) mod holds;
pub(crate) mod work;
pub(crate) mod attached;
