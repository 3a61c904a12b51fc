//! Tables about the database itself: the catalogs of PostgreSQL and the functions `tessera_...()`.

pub(crate) mod pg_catalog;
pub(crate) mod system;
