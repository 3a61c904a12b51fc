//! Functions of extensions.

use kernels::Vector;
use kernels::extension_fn::{self, NodeAddress};
use sql::algebra::ExtensionFunction as E;

use super::super::node::Traits;
use super::{FALLIBLE, Kernel, one, three, two};

/// The kernel of a function.
pub(super) fn kernel(function: E) -> (Kernel, Traits) {
    let kernel: Kernel = match function {
        E::Digest => two(extension_fn::digest),
        E::Hmac => three(extension_fn::hmac),
        E::Crypt => two(extension_fn::crypt),
        E::Salt => {
            Box::new(|a: &[&Vector], rows| extension_fn::salt(a[0], a.get(1).copied(), rows))
        }
        E::RandomBytes => Box::new(|a: &[&Vector], rows| extension_fn::random_bytes(a[0], rows)),
        E::UuidOfTime => Box::new(|_, rows| extension_fn::uuid_of_time(NodeAddress::Process, rows)),
        E::UuidOfTimeOnly => {
            Box::new(|_, rows| extension_fn::uuid_of_time(NodeAddress::Random, rows))
        }
        E::UuidRandom => Box::new(|_, rows| extension_fn::uuid_random(rows)),
        E::UuidOfNameMd5 => two(extension_fn::uuid_of_name_md5),
        E::UuidOfNameSha1 => two(extension_fn::uuid_of_name_sha1),
        E::Unaccent => one(extension_fn::unaccent),
        E::Similarity => two(extension_fn::similarity),
        E::WordSimilarity => two(extension_fn::word_similarity),
        E::WordsSimilarity => two(extension_fn::words_similarity),
        E::Trigrams => one(extension_fn::trigrams),
        E::Soundex => one(extension_fn::soundex),
        E::Difference => two(extension_fn::difference),
        E::Levenshtein => Box::new(|a: &[&Vector], _| extension_fn::levenshtein(a)),
        E::LevenshteinWithin => Box::new(|a: &[&Vector], _| extension_fn::levenshtein_within(a)),
    };
    (kernel, Traits { volatile: function.is_volatile(), ..FALLIBLE })
}
