//! Plans against naive evaluation, and plans as text.
//!
//! ```text
//! generate -> Query -> logical (naive: sub-queries again for each row) -> rows --.
//!                '---> plan  -> physical (operators as documented)     -> rows --'-- equal?
//! ```

mod data;
mod eval;
mod logical;
mod physical;
mod generate;
mod equivalence;
mod build;
mod tpch;
mod paths;
mod eager;
