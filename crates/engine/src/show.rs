//! What a database shows of itself: the catalogs of PostgreSQL and the functions `tessera_...()`.

pub(crate) mod pg_catalog;
pub(crate) mod system;
