//! The running statement: how it is bound, planned and run, and what its queries may call.

pub(crate) mod at_end;
pub(crate) mod parts;
pub(crate) mod trigger;
pub(crate) mod explaining;
pub(crate) mod running;
pub(crate) mod attached;
pub(crate) mod catalog;
pub(crate) mod statistics;
pub(crate) mod point;
mod compile;
pub(crate) mod defaults;
pub(crate) mod describe;
pub(crate) mod row_types;
pub(crate) mod binding;
mod calls;
pub(crate) mod identity;
pub(crate) mod sequence;
pub(crate) mod admission;
mod queries;
