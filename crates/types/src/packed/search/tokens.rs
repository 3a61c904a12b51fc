//! Tokens of documents: the kinds that PostgreSQL's default parser tells apart.

/// Kind of a token, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    AsciiWord = 1,
    Word,
    NumWord,
    Email,
    Url,
    Host,
    Scientific,
    Version,
    PartNumWord,
    PartWord,
    PartAsciiWord,
    Space,
    Tag,
    Protocol,
    HyphenNumWord,
    HyphenAsciiWord,
    HyphenWord,
    UrlPath,
    File,
    Decimal,
    SignedInt,
    UnsignedInt,
    Entity,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 23] = [
        Self::AsciiWord,
        Self::Word,
        Self::NumWord,
        Self::Email,
        Self::Url,
        Self::Host,
        Self::Scientific,
        Self::Version,
        Self::PartNumWord,
        Self::PartWord,
        Self::PartAsciiWord,
        Self::Space,
        Self::Tag,
        Self::Protocol,
        Self::HyphenNumWord,
        Self::HyphenAsciiWord,
        Self::HyphenWord,
        Self::UrlPath,
        Self::File,
        Self::Decimal,
        Self::SignedInt,
        Self::UnsignedInt,
        Self::Entity,
    ];

    /// Its number.
    pub(super) const fn number(self) -> u8 {
        self as u8
    }

    /// Its name and its description.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AsciiWord => ("asciiword", "Word, all ASCII"),
            Self::Word => ("word", "Word, all letters"),
            Self::NumWord => ("numword", "Word, letters and digits"),
            Self::Email => ("email", "Email address"),
            Self::Url => ("url", "URL"),
            Self::Host => ("host", "Host"),
            Self::Scientific => ("sfloat", "Scientific notation"),
            Self::Version => ("version", "Version number"),
            Self::PartNumWord => ("hword_numpart", "Hyphenated word part, letters and digits"),
            Self::PartWord => ("hword_part", "Hyphenated word part, all letters"),
            Self::PartAsciiWord => ("hword_asciipart", "Hyphenated word part, all ASCII"),
            Self::Space => ("blank", "Space symbols"),
            Self::Tag => ("tag", "XML tag"),
            Self::Protocol => ("protocol", "Protocol head"),
            Self::HyphenNumWord => ("numhword", "Hyphenated word, letters and digits"),
            Self::HyphenAsciiWord => ("asciihword", "Hyphenated word, all ASCII"),
            Self::HyphenWord => ("hword", "Hyphenated word, all letters"),
            Self::UrlPath => ("url_path", "URL path"),
            Self::File => ("file", "File or path name"),
            Self::Decimal => ("float", "Decimal notation"),
            Self::SignedInt => ("int", "Signed integer"),
            Self::UnsignedInt => ("uint", "Unsigned integer"),
            Self::Entity => ("entity", "XML entity"),
        }
    }

    /// True for words of letters, which dictionaries of languages take.
    pub(super) const fn is_language(self) -> bool {
        matches!(
            self,
            Self::AsciiWord
                | Self::Word
                | Self::PartWord
                | Self::PartAsciiWord
                | Self::HyphenAsciiWord
                | Self::HyphenWord
        )
    }

    /// True for words of ASCII letters alone.
    pub(super) const fn is_ascii_word(self) -> bool {
        matches!(self, Self::AsciiWord | Self::PartAsciiWord | Self::HyphenAsciiWord)
    }

    /// True for tokens that no dictionary takes.
    pub(super) const fn is_skipped(self) -> bool {
        matches!(self, Self::Space | Self::Tag | Self::Protocol | Self::Entity)
    }
}

/// A token and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
}
