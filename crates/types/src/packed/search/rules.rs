//! States of the scanner of documents: the rules of each.
//!
//! Source: PostgreSQL manual, "Parsers"; which texts are which tokens was found by trying.

use super::rule::{Is, MERGE, Mark, Rule, attempt, back, forget, found, go, rerun, stay};
use super::tokens::Kind;

/// State of the scanner: what was read of the token so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    Base,
    NumWord,
    AsciiWord,
    Word,
    UnsignedInt,
    SignedIntFirst,
    SignedInt,
    Space,
    UnsignedDecimalFirst,
    UnsignedDecimal,
    DecimalFirst,
    Decimal,
    SignedVersion,
    SignBeforeVersion,
    VersionFirst,
    Version,
    MantissaFirst,
    MantissaSign,
    Mantissa,
    EntityFirst,
    Entity,
    EntityNumberFirst,
    EntityHexFirst,
    EntityNumber,
    EntityHex,
    EntityEnd,
    TagFirst,
    XmlBegin,
    TagCloseFirst,
    TagName,
    TagBeginEnd,
    Tag,
    TagQuote,
    TagDoubleQuote,
    TagEscape,
    TagEnd,
    CommentFirst,
    CommentLast,
    Comment,
    CloseCommentFirst,
    CloseCommentLast,
    CommentEnd,
    HostFirstDomain,
    HostDomainSecond,
    HostDomain,
    PortFirst,
    Port,
    HostFirst,
    Host,
    Email,
    FileFirst,
    TildeFirst,
    PathFirst,
    PathFirstFirst,
    PathSecond,
    File,
    FileNext,
    UrlPathFirst,
    UrlPathStart,
    UrlPath,
    UrlAfterHost,
    ProtocolFirst,
    ProtocolSecond,
    ProtocolEnd,
    HyphenAsciiWordFirst,
    HyphenAsciiWord,
    HyphenWordFirst,
    HyphenWord,
    HyphenNumWordFirst,
    HyphenNumWord,
    HyphenDigits,
    ParseHyphen,
    ParseHyphenHyphen,
    PartWord,
    PartAsciiWord,
    PartNumWord,
    PartUnsignedInt,
}

/// The rules of a state, the first that fits counts; the last one always fits.
pub(super) fn rules(state: State) -> &'static [Rule] {
    RULES[state as usize]
}

/// The rules of all states, in their order.
static RULES: [&[Rule]; 77] = [
    BASE,
    NUM_WORD,
    ASCII_WORD,
    WORD,
    UNSIGNED_INT,
    SIGNED_INT_FIRST,
    SIGNED_INT,
    SPACE,
    UNSIGNED_DECIMAL_FIRST,
    UNSIGNED_DECIMAL,
    DECIMAL_FIRST,
    DECIMAL,
    SIGNED_VERSION,
    SIGN_BEFORE_VERSION,
    VERSION_FIRST,
    VERSION,
    MANTISSA_FIRST,
    MANTISSA_SIGN,
    MANTISSA,
    ENTITY_FIRST,
    ENTITY,
    ENTITY_NUMBER_FIRST,
    ENTITY_HEX_FIRST,
    ENTITY_NUMBER,
    ENTITY_HEX,
    ENTITY_END,
    TAG_FIRST,
    XML_BEGIN,
    TAG_CLOSE_FIRST,
    TAG_NAME,
    TAG_BEGIN_END,
    TAG,
    TAG_QUOTE,
    TAG_DOUBLE_QUOTE,
    TAG_ESCAPE,
    TAG_END,
    COMMENT_FIRST,
    COMMENT_LAST,
    COMMENT,
    CLOSE_COMMENT_FIRST,
    CLOSE_COMMENT_LAST,
    COMMENT_END,
    HOST_FIRST_DOMAIN,
    HOST_DOMAIN_SECOND,
    HOST_DOMAIN,
    PORT_FIRST,
    PORT,
    HOST_FIRST,
    HOST,
    EMAIL,
    FILE_FIRST,
    TILDE_FIRST,
    PATH_FIRST,
    PATH_FIRST_FIRST,
    PATH_SECOND,
    FILE,
    FILE_NEXT,
    URL_PATH_FIRST,
    URL_PATH_START,
    URL_PATH,
    URL_AFTER_HOST,
    PROTOCOL_FIRST,
    PROTOCOL_SECOND,
    PROTOCOL_END,
    HYPHEN_ASCII_WORD_FIRST,
    HYPHEN_ASCII_WORD,
    HYPHEN_WORD_FIRST,
    HYPHEN_WORD,
    HYPHEN_NUM_WORD_FIRST,
    HYPHEN_NUM_WORD,
    HYPHEN_DIGITS,
    PARSE_HYPHEN,
    PARSE_HYPHEN_HYPHEN,
    PART_WORD,
    PART_ASCII_WORD,
    PART_NUM_WORD,
    PART_UNSIGNED_INT,
];

const BASE: &[Rule] = &[
    attempt(Is::Char('<'), State::TagFirst),
    go(Is::Ignored, State::Space),
    go(Is::AsciiLetter, State::AsciiWord),
    go(Is::Letter, State::Word),
    go(Is::Digit, State::UnsignedInt),
    attempt(Is::Char('-'), State::SignedIntFirst),
    attempt(Is::Char('+'), State::SignedIntFirst),
    attempt(Is::Char('&'), State::EntityFirst),
    attempt(Is::Char('~'), State::TildeFirst),
    attempt(Is::Char('/'), State::FileFirst),
    attempt(Is::Char('.'), State::PathFirstFirst),
    go(Is::Always, State::Space),
];

const NUM_WORD: &[Rule] = &[
    found(Is::End, State::Base, Kind::NumWord),
    go(Is::LetterOrDigit, State::NumWord),
    go(Is::Mark, State::NumWord),
    attempt(Is::Char('@'), State::Email),
    attempt(Is::Char('/'), State::FileFirst),
    attempt(Is::Char('.'), State::FileNext),
    attempt(Is::Char('-'), State::HyphenNumWordFirst),
    found(Is::Always, State::Base, Kind::NumWord),
];

const ASCII_WORD: &[Rule] = &[
    found(Is::End, State::Base, Kind::AsciiWord),
    stay(Is::AsciiLetter),
    attempt(Is::Char('.'), State::HostFirstDomain),
    attempt(Is::Char('.'), State::FileNext),
    attempt(Is::Char('-'), State::HostFirst),
    attempt(Is::Char('-'), State::HyphenAsciiWordFirst),
    attempt(Is::Char('_'), State::HostFirst),
    attempt(Is::Char('@'), State::Email),
    attempt(Is::Char(':'), State::ProtocolFirst),
    attempt(Is::Char('/'), State::FileFirst),
    attempt(Is::Digit, State::Host),
    go(Is::Digit, State::NumWord),
    go(Is::Letter, State::Word),
    go(Is::Mark, State::Word),
    found(Is::Always, State::Base, Kind::AsciiWord),
];

const WORD: &[Rule] = &[
    found(Is::End, State::Base, Kind::Word),
    stay(Is::Letter),
    stay(Is::Mark),
    go(Is::Digit, State::NumWord),
    attempt(Is::Char('-'), State::HyphenWordFirst),
    found(Is::Always, State::Base, Kind::Word),
];

const UNSIGNED_INT: &[Rule] = &[
    found(Is::End, State::Base, Kind::UnsignedInt),
    stay(Is::Digit),
    attempt(Is::Char('.'), State::HostFirstDomain),
    attempt(Is::Char('.'), State::UnsignedDecimalFirst),
    attempt(Is::Char('e'), State::MantissaFirst),
    attempt(Is::Char('E'), State::MantissaFirst),
    attempt(Is::Char('-'), State::HostFirst),
    attempt(Is::Char('_'), State::HostFirst),
    attempt(Is::Char('@'), State::Email),
    attempt(Is::AsciiLetter, State::Host),
    go(Is::Letter, State::NumWord),
    go(Is::Mark, State::NumWord),
    attempt(Is::Char('/'), State::FileFirst),
    found(Is::Always, State::Base, Kind::UnsignedInt),
];

const SIGNED_INT_FIRST: &[Rule] =
    &[back(Is::End), forget(Is::Digit, State::SignedInt), back(Is::Always)];

const SIGNED_INT: &[Rule] = &[
    found(Is::End, State::Base, Kind::SignedInt),
    stay(Is::Digit),
    attempt(Is::Char('.'), State::DecimalFirst),
    attempt(Is::Char('e'), State::MantissaFirst),
    attempt(Is::Char('E'), State::MantissaFirst),
    found(Is::Always, State::Base, Kind::SignedInt),
];

const SPACE: &[Rule] = &[
    found(Is::End, State::Base, Kind::Space),
    found(Is::Char('<'), State::Base, Kind::Space),
    stay(Is::Ignored),
    found(Is::Char('-'), State::Base, Kind::Space),
    found(Is::Char('+'), State::Base, Kind::Space),
    found(Is::Char('&'), State::Base, Kind::Space),
    found(Is::Char('/'), State::Base, Kind::Space),
    go(Is::Other, State::Space),
    found(Is::Always, State::Base, Kind::Space),
];

const UNSIGNED_DECIMAL_FIRST: &[Rule] =
    &[back(Is::End), forget(Is::Digit, State::UnsignedDecimal), back(Is::Always)];

const UNSIGNED_DECIMAL: &[Rule] = &[
    found(Is::End, State::Base, Kind::Decimal),
    stay(Is::Digit),
    attempt(Is::Char('.'), State::VersionFirst),
    attempt(Is::Char('e'), State::MantissaFirst),
    attempt(Is::Char('E'), State::MantissaFirst),
    found(Is::Always, State::Base, Kind::Decimal),
];

const DECIMAL_FIRST: &[Rule] =
    &[back(Is::End), forget(Is::Digit, State::Decimal), back(Is::Always)];

const DECIMAL: &[Rule] = &[
    found(Is::End, State::Base, Kind::Decimal),
    stay(Is::Digit),
    attempt(Is::Char('.'), State::SignedVersion),
    attempt(Is::Char('e'), State::MantissaFirst),
    attempt(Is::Char('E'), State::MantissaFirst),
    found(Is::Always, State::Base, Kind::Decimal),
];

const SIGNED_VERSION: &[Rule] = &[
    back(Is::End),
    rerun(Is::Digit, State::SignBeforeVersion).with(Mark::Restart),
    back(Is::Always),
];

const SIGN_BEFORE_VERSION: &[Rule] =
    &[back(Is::End), found(Is::Digit, State::UnsignedInt, Kind::Space), stay(Is::Always)];

const VERSION_FIRST: &[Rule] =
    &[back(Is::End), forget(Is::Digit, State::Version), back(Is::Always)];

const VERSION: &[Rule] = &[
    found(Is::End, State::Base, Kind::Version),
    stay(Is::Digit),
    attempt(Is::Char('.'), State::VersionFirst),
    found(Is::Always, State::Base, Kind::Version),
];

const MANTISSA_FIRST: &[Rule] = &[
    back(Is::End),
    forget(Is::Digit, State::Mantissa),
    go(Is::Char('+'), State::MantissaSign),
    go(Is::Char('-'), State::MantissaSign),
    back(Is::Always),
];

const MANTISSA_SIGN: &[Rule] =
    &[back(Is::End), forget(Is::Digit, State::Mantissa), back(Is::Always)];

const MANTISSA: &[Rule] = &[
    found(Is::End, State::Base, Kind::Scientific),
    stay(Is::Digit),
    found(Is::Always, State::Base, Kind::Scientific),
];

const ENTITY_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Char('#'), State::EntityNumberFirst),
    go(Is::AsciiLetter, State::Entity),
    go(Is::Char(':'), State::Entity),
    go(Is::Char('_'), State::Entity),
    back(Is::Always),
];

const ENTITY: &[Rule] = &[
    back(Is::End),
    stay(Is::LetterOrDigit),
    stay(Is::Char(':')),
    stay(Is::Char('_')),
    stay(Is::Char('.')),
    stay(Is::Char('-')),
    go(Is::Char(';'), State::EntityEnd),
    back(Is::Always),
];

const ENTITY_NUMBER_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Char('x'), State::EntityHexFirst),
    go(Is::Char('X'), State::EntityHexFirst),
    go(Is::Digit, State::EntityNumber),
    back(Is::Always),
];

const ENTITY_HEX_FIRST: &[Rule] =
    &[back(Is::End), go(Is::HexDigit, State::EntityHex), back(Is::Always)];

const ENTITY_NUMBER: &[Rule] =
    &[back(Is::End), stay(Is::Digit), go(Is::Char(';'), State::EntityEnd), back(Is::Always)];

const ENTITY_HEX: &[Rule] =
    &[back(Is::End), stay(Is::HexDigit), go(Is::Char(';'), State::EntityEnd), back(Is::Always)];

const ENTITY_END: &[Rule] = &[found(Is::Always, State::Base, Kind::Entity)];

const TAG_FIRST: &[Rule] = &[
    back(Is::End),
    attempt(Is::Char('/'), State::TagCloseFirst),
    attempt(Is::Char('!'), State::CommentFirst),
    attempt(Is::Char('?'), State::XmlBegin),
    attempt(Is::AsciiLetter, State::TagName),
    attempt(Is::Char(':'), State::TagName),
    attempt(Is::Char('_'), State::TagName),
    back(Is::Always),
];

const XML_BEGIN: &[Rule] = &[
    back(Is::End),
    go(Is::Char('x'), State::Tag),
    go(Is::Char('X'), State::Tag),
    back(Is::Always),
];

const TAG_CLOSE_FIRST: &[Rule] =
    &[back(Is::End), go(Is::AsciiLetter, State::TagName), back(Is::Always)];

const TAG_NAME: &[Rule] = &[
    back(Is::End),
    go(Is::Char('/'), State::TagBeginEnd),
    go(Is::Char('>'), State::TagEnd).with(Mark::Tag),
    go(Is::Space, State::Tag).with(Mark::Tag),
    stay(Is::LetterOrDigit),
    stay(Is::Char(':')),
    stay(Is::Char('_')),
    stay(Is::Char('.')),
    stay(Is::Char('-')),
    back(Is::Always),
];

const TAG_BEGIN_END: &[Rule] = &[back(Is::End), go(Is::Char('>'), State::TagEnd), back(Is::Always)];

const TAG: &[Rule] = &[
    back(Is::End),
    go(Is::Char('>'), State::TagEnd).with(Mark::Tag),
    go(Is::Char('\''), State::TagQuote),
    go(Is::Char('"'), State::TagDoubleQuote),
    stay(Is::AsciiLetter),
    stay(Is::Digit),
    stay(Is::Char('=')),
    stay(Is::Char('-')),
    stay(Is::Char('_')),
    stay(Is::Char('#')),
    stay(Is::Char('/')),
    stay(Is::Char(':')),
    stay(Is::Char('.')),
    stay(Is::Char('&')),
    stay(Is::Char('?')),
    stay(Is::Char('%')),
    stay(Is::Char('~')),
    stay(Is::Space).with(Mark::Tag),
    back(Is::Always),
];

const TAG_QUOTE: &[Rule] = &[
    back(Is::End),
    attempt(Is::Char('\\'), State::TagEscape),
    go(Is::Char('\''), State::Tag),
    stay(Is::Always),
];

const TAG_DOUBLE_QUOTE: &[Rule] = &[
    back(Is::End),
    attempt(Is::Char('\\'), State::TagEscape),
    go(Is::Char('"'), State::Tag),
    stay(Is::Always),
];

const TAG_ESCAPE: &[Rule] = &[back(Is::End), MERGE];

const TAG_END: &[Rule] = &[found(Is::Always, State::Base, Kind::Tag)];

const COMMENT_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Char('-'), State::CommentLast),
    go(Is::Char('D'), State::Tag),
    go(Is::Char('d'), State::Tag),
    back(Is::Always),
];

const COMMENT_LAST: &[Rule] = &[back(Is::End), go(Is::Char('-'), State::Comment), back(Is::Always)];

const COMMENT: &[Rule] =
    &[back(Is::End), go(Is::Char('-'), State::CloseCommentFirst), stay(Is::Always)];

const CLOSE_COMMENT_FIRST: &[Rule] =
    &[back(Is::End), go(Is::Char('-'), State::CloseCommentLast), go(Is::Always, State::Comment)];

const CLOSE_COMMENT_LAST: &[Rule] = &[
    back(Is::End),
    stay(Is::Char('-')),
    go(Is::Char('>'), State::CommentEnd),
    go(Is::Always, State::Comment),
];

const COMMENT_END: &[Rule] = &[found(Is::Always, State::Base, Kind::Tag)];

const HOST_FIRST_DOMAIN: &[Rule] = &[
    back(Is::End),
    go(Is::AsciiLetter, State::HostDomainSecond),
    go(Is::Digit, State::Host),
    back(Is::Always),
];

const HOST_DOMAIN_SECOND: &[Rule] = &[
    back(Is::End),
    go(Is::AsciiLetter, State::HostDomain),
    attempt(Is::Digit, State::Host),
    attempt(Is::Char('-'), State::HostFirst),
    attempt(Is::Char('_'), State::HostFirst),
    attempt(Is::Char('.'), State::HostFirstDomain),
    attempt(Is::Char('@'), State::Email),
    back(Is::Always),
];

const HOST_DOMAIN: &[Rule] = &[
    found(Is::End, State::Base, Kind::Host),
    stay(Is::AsciiLetter),
    attempt(Is::Digit, State::Host),
    attempt(Is::Char(':'), State::PortFirst),
    attempt(Is::Char('-'), State::HostFirst),
    attempt(Is::Char('_'), State::HostFirst),
    attempt(Is::Char('.'), State::HostFirstDomain),
    attempt(Is::Char('@'), State::Email),
    back(Is::Digit),
    found(Is::HostWanted, State::UrlPathStart, Kind::Host),
    attempt(Is::Char('/'), State::UrlAfterHost),
    found(Is::Always, State::Base, Kind::Host),
];

const PORT_FIRST: &[Rule] = &[back(Is::End), go(Is::Digit, State::Port), back(Is::Always)];

const PORT: &[Rule] = &[
    found(Is::End, State::Base, Kind::Host),
    stay(Is::Digit),
    found(Is::HostWanted, State::UrlPathStart, Kind::Host),
    attempt(Is::Char('/'), State::UrlAfterHost),
    found(Is::Always, State::Base, Kind::Host),
];

const HOST_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Digit, State::Host),
    go(Is::AsciiLetter, State::Host),
    back(Is::Always),
];

const HOST: &[Rule] = &[
    back(Is::End),
    stay(Is::Digit),
    stay(Is::AsciiLetter),
    attempt(Is::Char('@'), State::Email),
    attempt(Is::Char('.'), State::HostFirstDomain),
    attempt(Is::Char('-'), State::HostFirst),
    attempt(Is::Char('_'), State::HostFirst),
    back(Is::Always),
];

const EMAIL: &[Rule] =
    &[back(Is::HostWanted), found(Is::Host, State::Base, Kind::Email), back(Is::Always)];

const FILE_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::AsciiLetter, State::File),
    go(Is::Digit, State::File),
    go(Is::Char('.'), State::PathFirst),
    go(Is::Char('_'), State::File),
    go(Is::Char('~'), State::TildeFirst),
    back(Is::Always),
];

const TILDE_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::AsciiLetter, State::File),
    go(Is::Digit, State::File),
    go(Is::Char('_'), State::File),
    go(Is::Char('/'), State::FileFirst),
    back(Is::Always),
];

const PATH_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::AsciiLetter, State::File),
    go(Is::Digit, State::File),
    go(Is::Char('_'), State::File),
    go(Is::Char('.'), State::PathSecond),
    go(Is::Char('/'), State::FileFirst),
    back(Is::Always),
];

const PATH_FIRST_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Char('.'), State::PathSecond),
    go(Is::Char('/'), State::FileFirst),
    back(Is::Always),
];

const PATH_SECOND: &[Rule] = &[
    found(Is::End, State::Base, Kind::File),
    attempt(Is::Char('/'), State::FileFirst),
    found(Is::Char('/'), State::Base, Kind::File),
    found(Is::Space, State::Base, Kind::File),
    back(Is::Always),
];

const FILE: &[Rule] = &[
    found(Is::End, State::Base, Kind::File),
    stay(Is::AsciiLetter),
    stay(Is::Digit),
    attempt(Is::Char('.'), State::FileNext),
    stay(Is::Char('_')),
    stay(Is::Char('-')),
    attempt(Is::Char('/'), State::FileFirst),
    found(Is::Always, State::Base, Kind::File),
];

const FILE_NEXT: &[Rule] = &[
    back(Is::End),
    forget(Is::AsciiLetter, State::File),
    forget(Is::Digit, State::File),
    forget(Is::Char('_'), State::File),
    back(Is::Always),
];

const URL_PATH_FIRST: &[Rule] =
    &[back(Is::End), go(Is::UrlLetter, State::UrlPath), back(Is::Always)];

const URL_PATH_START: &[Rule] = &[go(Is::Always, State::UrlPath)];

const URL_PATH: &[Rule] = &[
    found(Is::End, State::Base, Kind::UrlPath),
    stay(Is::UrlLetter),
    found(Is::Always, State::Base, Kind::UrlPath),
];

const URL_AFTER_HOST: &[Rule] = &[
    back(Is::End),
    found(Is::UrlPath, State::Base, Kind::Url).with(Mark::AgainAsHost),
    back(Is::Always),
];

const PROTOCOL_FIRST: &[Rule] =
    &[back(Is::End), go(Is::Char('/'), State::ProtocolSecond), back(Is::Always)];

const PROTOCOL_SECOND: &[Rule] =
    &[back(Is::End), go(Is::Char('/'), State::ProtocolEnd), back(Is::Always)];

const PROTOCOL_END: &[Rule] = &[found(Is::Always, State::Base, Kind::Protocol)];

const HYPHEN_ASCII_WORD_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::AsciiLetter, State::HyphenAsciiWord),
    go(Is::Letter, State::HyphenWord),
    go(Is::Digit, State::HyphenDigits),
    back(Is::Always),
];

const HYPHEN_ASCII_WORD: &[Rule] = &[
    found(Is::End, State::ParseHyphen, Kind::HyphenAsciiWord).with(Mark::Again),
    stay(Is::AsciiLetter),
    go(Is::Letter, State::HyphenWord),
    go(Is::Mark, State::HyphenWord),
    go(Is::Digit, State::HyphenNumWord),
    attempt(Is::Char('-'), State::HyphenAsciiWordFirst),
    found(Is::Always, State::ParseHyphen, Kind::HyphenAsciiWord).with(Mark::Again),
];

const HYPHEN_WORD_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Letter, State::HyphenWord),
    go(Is::Digit, State::HyphenDigits),
    back(Is::Always),
];

const HYPHEN_WORD: &[Rule] = &[
    found(Is::End, State::ParseHyphen, Kind::HyphenWord).with(Mark::Again),
    stay(Is::Letter),
    stay(Is::Mark),
    go(Is::Digit, State::HyphenNumWord),
    attempt(Is::Char('-'), State::HyphenWordFirst),
    found(Is::Always, State::ParseHyphen, Kind::HyphenWord).with(Mark::Again),
];

const HYPHEN_NUM_WORD_FIRST: &[Rule] = &[
    back(Is::End),
    go(Is::Letter, State::HyphenNumWord),
    go(Is::Digit, State::HyphenDigits),
    back(Is::Always),
];

const HYPHEN_NUM_WORD: &[Rule] = &[
    found(Is::End, State::ParseHyphen, Kind::HyphenNumWord).with(Mark::Again),
    stay(Is::LetterOrDigit),
    stay(Is::Mark),
    attempt(Is::Char('-'), State::HyphenNumWordFirst),
    found(Is::Always, State::ParseHyphen, Kind::HyphenNumWord).with(Mark::Again),
];

const HYPHEN_DIGITS: &[Rule] = &[
    back(Is::End),
    stay(Is::Digit),
    go(Is::Letter, State::HyphenNumWord),
    go(Is::Mark, State::HyphenNumWord),
    back(Is::Always),
];

const PARSE_HYPHEN: &[Rule] = &[
    rerun(Is::End, State::Base),
    go(Is::AsciiLetter, State::PartAsciiWord),
    go(Is::Letter, State::PartWord),
    attempt(Is::Digit, State::PartUnsignedInt),
    attempt(Is::Char('-'), State::ParseHyphenHyphen),
    rerun(Is::Always, State::Base),
];

const PARSE_HYPHEN_HYPHEN: &[Rule] = &[
    back(Is::End),
    found(Is::LetterOrDigit, State::ParseHyphen, Kind::Space),
    found(Is::Mark, State::ParseHyphen, Kind::Space),
    back(Is::Always),
];

const PART_WORD: &[Rule] = &[
    found(Is::End, State::Base, Kind::PartWord),
    stay(Is::Letter),
    stay(Is::Mark),
    go(Is::Digit, State::PartNumWord),
    found(Is::Always, State::ParseHyphen, Kind::PartWord),
];

const PART_ASCII_WORD: &[Rule] = &[
    found(Is::End, State::Base, Kind::PartAsciiWord),
    stay(Is::AsciiLetter),
    go(Is::Letter, State::PartWord),
    go(Is::Mark, State::PartWord),
    go(Is::Digit, State::PartNumWord),
    found(Is::Always, State::ParseHyphen, Kind::PartAsciiWord),
];

const PART_NUM_WORD: &[Rule] = &[
    found(Is::End, State::Base, Kind::PartNumWord),
    stay(Is::LetterOrDigit),
    stay(Is::Mark),
    found(Is::Always, State::ParseHyphen, Kind::PartNumWord),
];

const PART_UNSIGNED_INT: &[Rule] = &[
    back(Is::End),
    stay(Is::Digit),
    forget(Is::Letter, State::PartNumWord),
    forget(Is::Mark, State::PartNumWord),
    back(Is::Always),
];
