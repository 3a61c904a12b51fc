//! A join-order workload: 21 tables about recorded music, and 20 queries with 6 to 12 joins.
//!
//! ```text
//! country -- city -- artist -- membership -- artist         dictionaries: kind, role, format,
//!    |        |        |  '--- artist_alias, artist_info     info_type, link_kind, genre, tag
//!    |      label -- album --- album_info, album_tag
//!    |        |        |  '--- album_link -- album
//!    '------- release -'  '--- track -- credit -- artist
//! ```
//! Planning is hard for the reasons that the Join Order Benchmark has from real data: skew (a few
//! artists, countries, tags have most rows) and columns that depend on each other across tables.
//! The country decides language, names, genres and labels; genre and year decide moods, tags,
//! words of titles and carriers; fame decides ratings, votes and charts. Estimates that take
//! predicates for independent are wrong by orders of magnitude. Some join graphs have cycles (a
//! guitarist of a track who is a member of the band whose album it is on).
//!
//! Invariant: a row depends on the scale factor and its own number alone. Rows at scale factor 1:
//! 200,000 artists, 250,000 albums, some 2 M tracks, 5 M credits, 11 M in all.
//! Source of the idea: Leis et al. 2015, "How Good Are Query Optimizers, Really?", section 2.1.
//! Schema, data and queries are this project's own.

use engine::{CancelHandle, Database};
use types::Result;

use crate::load::{Generator, LoadProgress, load_all};

mod words;
mod schema;
mod things;
mod rows;

/// The queries, each one statement without a semicolon.
pub const QUERIES: [&str; 20] = queries!(
    "job":
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10"
    "11" "12" "13" "14" "15" "16" "17" "18" "19" "20"
);

/// The tables, in loading order.
pub const TABLES: [&str; 21] = [
    "kind",
    "role",
    "info_type",
    "format",
    "link_kind",
    "country",
    "city",
    "genre",
    "tag",
    "label",
    "artist",
    "artist_alias",
    "artist_info",
    "membership",
    "album",
    "album_info",
    "album_tag",
    "album_link",
    "release",
    "track",
    "credit",
];

/// Generates the tables at scale factor `sf` into `database`.
///
/// # Errors
/// 42P07 when one of the tables exists, 57014 when cancelled, 53200 without memory; nothing stays
/// then.
pub fn load(
    database: &Database,
    sf: f64,
    cancel: &CancelHandle,
    progress: &LoadProgress,
) -> Result<()> {
    load_all(database.bulk_load()?, rows::tables(sf), cancel, progress)
}

/// Adds `CALL job(sf => ...)`.
pub(crate) fn register(database: &Database) {
    // Track numbers, 16 an album, fit in an INTEGER.
    Generator { max: 500.0, ..Generator::scaled("job", "sf", load) }.register(database);
}
