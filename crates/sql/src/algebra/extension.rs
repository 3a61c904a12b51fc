//! Functions of extensions.

/// A function of an extension: strict, and there only where the extension was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtensionFunction {
    // pgcrypto.
    /// digest(TEXT or BYTEA, TEXT algorithm) -> BYTEA.
    Digest,
    /// hmac(data, key, TEXT algorithm) -> BYTEA, data and key of one type.
    Hmac,
    /// crypt(TEXT password, TEXT salt) -> TEXT.
    Crypt,
    /// gen_salt(TEXT algorithm [, INTEGER rounds]) -> TEXT; volatile.
    Salt,
    /// gen_random_bytes(INTEGER) -> BYTEA; volatile.
    RandomBytes,
    // uuid-ossp.
    /// uuid_generate_v1(); volatile.
    UuidOfTime,
    /// uuid_generate_v1mc(); volatile.
    UuidOfTimeOnly,
    /// uuid_generate_v3(UUID, TEXT).
    UuidOfNameMd5,
    /// uuid_generate_v4(); volatile.
    UuidRandom,
    /// uuid_generate_v5(UUID, TEXT).
    UuidOfNameSha1,
    // unaccent.
    /// unaccent(TEXT); stable, as it goes by a file.
    Unaccent,
    // pg_trgm.
    /// similarity(TEXT, TEXT) -> REAL.
    Similarity,
    /// word_similarity(TEXT, TEXT) -> REAL.
    WordSimilarity,
    /// strict_word_similarity(TEXT, TEXT) -> REAL.
    WordsSimilarity,
    /// show_trgm(TEXT) -> TEXT[].
    Trigrams,
    // fuzzystrmatch.
    /// soundex(TEXT) -> TEXT.
    Soundex,
    /// difference(TEXT, TEXT) -> INTEGER.
    Difference,
    /// levenshtein(TEXT, TEXT [, INTEGER insert, delete, substitute]) -> INTEGER.
    Levenshtein,
    /// levenshtein_less_equal: as levenshtein with an INTEGER limit behind.
    LevenshteinWithin,
}

impl ExtensionFunction {
    /// The name that SQL calls it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Digest => "digest",
            Self::Hmac => "hmac",
            Self::Crypt => "crypt",
            Self::Salt => "gen_salt",
            Self::RandomBytes => "gen_random_bytes",
            Self::UuidOfTime => "uuid_generate_v1",
            Self::UuidOfTimeOnly => "uuid_generate_v1mc",
            Self::UuidOfNameMd5 => "uuid_generate_v3",
            Self::UuidRandom => "uuid_generate_v4",
            Self::UuidOfNameSha1 => "uuid_generate_v5",
            Self::Unaccent => "unaccent",
            Self::Similarity => "similarity",
            Self::WordSimilarity => "word_similarity",
            Self::WordsSimilarity => "strict_word_similarity",
            Self::Trigrams => "show_trgm",
            Self::Soundex => "soundex",
            Self::Difference => "difference",
            Self::Levenshtein => "levenshtein",
            Self::LevenshteinWithin => "levenshtein_less_equal",
        }
    }

    /// True when two calls with equal arguments may differ.
    pub fn is_volatile(self) -> bool {
        matches!(
            self,
            Self::Salt
                | Self::RandomBytes
                | Self::UuidOfTime
                | Self::UuidOfTimeOnly
                | Self::UuidRandom
        )
    }
}
