//! Functions of extensions: they are there where CREATE EXTENSION made them.
//!
//! Convention: as in [`text_fn`](crate::text_fn): NULL gives NULL, one row counts for all.

mod alike;
mod crypto;
mod password;
mod secret;
mod trigram;
mod unaccent;
mod uuid;

pub use alike::{difference, levenshtein, levenshtein_within, soundex};
pub use crypto::{digest, hmac, random_bytes};
pub use password::{crypt, salt};
pub use trigram::{similarity, trigrams, word_similarity, words_similarity};
pub use unaccent::unaccent;
pub use uuid::{NodeAddress, uuid_of_name_md5, uuid_of_name_sha1, uuid_of_time, uuid_random};
