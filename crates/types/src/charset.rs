//! Encodings of text that clients and files may have, under PostgreSQL's names.
//!
//! ```text
//! bytes of a client --decode--> UTF-8, as all text here is --encode--> bytes of a client
//! ```
//! Invariants: each answer is PostgreSQL's: a byte or a character is translated as it does, or the
//! same error says that it is not; ASCII stays as it is in all encodings.
//!
//! Elsewhere: one byte for each character (`single`), several (`multi`), messages and streams of
//! clients (`wire`), files of COPY (`formats`).

mod multi;
mod single;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use crate::{Error, Result, SqlState};
use multi::Multi;
use single::Upper;

/// An encoding of text; the default is UTF-8, which all text here has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset(u8);

impl Default for Charset {
    fn default() -> Self {
        Self::UTF8
    }
}

/// How characters become bytes.
enum Form {
    /// Bytes as they are.
    Plain,
    Single(Upper),
    Multi(Multi),
    /// Known by name alone.
    Absent,
}

/// An encoding: its name, the most bytes of a character, and how.
struct Known {
    name: &'static str,
    bytes_max: u8,
    form: Form,
}

const fn known(name: &'static str, bytes_max: u8, form: Form) -> Known {
    Known { name, bytes_max, form }
}

const fn one(name: &'static str, upper: Upper) -> Known {
    known(name, 1, Form::Single(upper))
}

/// All encodings of PostgreSQL, by their numbers.
static KNOWN: [Known; 42] = [
    known("SQL_ASCII", 1, Form::Plain),
    known("EUC_JP", 3, Form::Multi(Multi::EucJp)),
    known("EUC_CN", 3, Form::Multi(Multi::EucCn)),
    known("EUC_KR", 3, Form::Multi(Multi::EucKr)),
    known("EUC_TW", 4, Form::Absent),
    known("EUC_JIS_2004", 3, Form::Absent),
    known("UTF8", 4, Form::Plain),
    known("MULE_INTERNAL", 4, Form::Absent),
    one("LATIN1", single::LATIN1),
    one("LATIN2", single::LATIN2),
    one("LATIN3", single::LATIN3),
    one("LATIN4", single::LATIN4),
    one("LATIN5", single::LATIN5),
    one("LATIN6", single::LATIN6),
    one("LATIN7", single::LATIN7),
    one("LATIN8", single::LATIN8),
    one("LATIN9", single::LATIN9),
    one("LATIN10", single::LATIN10),
    one("WIN1256", single::WIN1256),
    one("WIN1258", single::WIN1258),
    one("WIN866", single::WIN866),
    one("WIN874", single::WIN874),
    one("KOI8R", single::KOI8R),
    one("WIN1251", single::WIN1251),
    one("WIN1252", single::WIN1252),
    one("ISO_8859_5", single::ISO_8859_5),
    one("ISO_8859_6", single::ISO_8859_6),
    one("ISO_8859_7", single::ISO_8859_7),
    one("ISO_8859_8", single::ISO_8859_8),
    one("WIN1250", single::WIN1250),
    one("WIN1253", single::WIN1253),
    one("WIN1254", single::WIN1254),
    one("WIN1255", single::WIN1255),
    one("WIN1257", single::WIN1257),
    one("KOI8U", single::KOI8U),
    known("SJIS", 2, Form::Multi(Multi::Sjis)),
    known("BIG5", 2, Form::Multi(Multi::Big5)),
    known("GBK", 2, Form::Multi(Multi::Gbk)),
    known("UHC", 2, Form::Multi(Multi::Uhc)),
    known("GB18030", 4, Form::Multi(Multi::Gb18030)),
    known("JOHAB", 3, Form::Absent),
    known("SHIFT_JIS_2004", 2, Form::Absent),
];

/// Other names, without what is no letter and no digit.
const ALIASES: &[(&str, &str)] = &[
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88599", "LATIN5"),
    ("koi8", "KOI8R"),
    ("mskanji", "SJIS"),
    ("shiftjis", "SJIS"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("unicode", "UTF8"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
    ("windows932", "SJIS"),
    ("windows936", "GBK"),
    ("windows949", "UHC"),
    ("windows950", "BIG5"),
];

/// Pairs without UTF-8 between which PostgreSQL converts, both ways: not through Unicode, with
/// other answers.
const PAIRS: &[[&str; 2]] = &[
    ["ISO_8859_5", "KOI8R"],
    ["ISO_8859_5", "WIN1251"],
    ["ISO_8859_5", "WIN866"],
    ["KOI8R", "WIN1251"],
    ["KOI8R", "WIN866"],
    ["LATIN2", "WIN1250"],
    ["WIN1251", "WIN866"],
    ["EUC_JP", "SJIS"],
    ["BIG5", "EUC_TW"],
    ["EUC_JIS_2004", "SHIFT_JIS_2004"],
];

const MULE: &str = "MULE_INTERNAL";

/// Encodings that PostgreSQL converts from and to MULE_INTERNAL.
const WITH_MULE: &[&str] = &[
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "KOI8R",
    "WIN1250",
    "WIN1251",
    "WIN866",
    "ISO_8859_5",
    "EUC_CN",
    "EUC_JP",
    "EUC_KR",
    "EUC_TW",
    "BIG5",
    "SJIS",
];

/// The most bytes of a character that an error shows.
const SHOWN_BYTES_MAX: usize = 8;

impl Charset {
    /// UTF-8, as all text here is.
    pub const UTF8: Self = Self(6);
    /// Bytes that are taken as they are.
    pub const SQL_ASCII: Self = Self(0);

    fn known(self) -> &'static Known {
        &KNOWN[usize::from(self.0)]
    }

    /// The encoding called `name`, in any case and with any punctuation.
    pub fn named(name: &str) -> Option<Self> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
        let plain = match plain.strip_prefix("windows") {
            Some(page) if page.starts_with("125") || page.starts_with("8") => format!("win{page}"),
            _ => plain,
        };
        let alias = ALIASES.iter().find(|(alias, _)| *alias == plain);
        let is_named = |known: &Known| match alias {
            Some((_, name)) => known.name == *name,
            None => known.name.replace('_', "").eq_ignore_ascii_case(&plain),
        };
        let number = KNOWN.iter().position(is_named)?;
        u8::try_from(number).ok().map(Self)
    }

    /// The encoding of this number.
    pub fn numbered(number: i32) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| usize::from(*number) < KNOWN.len()).map(Self)
    }

    /// Its number.
    pub fn number(self) -> i32 {
        self.0.into()
    }

    /// Its name, as PostgreSQL spells it.
    pub fn name(self) -> &'static str {
        self.known().name
    }

    /// The most bytes of a character.
    pub fn bytes_max(self) -> i32 {
        self.known().bytes_max.into()
    }

    /// True when text goes to and from it as it is: UTF-8, and SQL_ASCII, which says nothing.
    pub fn is_plain(self) -> bool {
        matches!(self.known().form, Form::Plain)
    }

    /// True when there are conversions between it and UTF-8.
    pub fn is_here(self) -> bool {
        !matches!(self.known().form, Form::Absent)
    }

    /// Characters outside of ASCII whose only byte is that of another character in ASCII: who
    /// writes backslashes before special bytes has to know them.
    pub fn written_as_ascii(self) -> &'static [(char, u8)] {
        if self.name() == "SJIS" { &[('¥', b'\\'), ('‾', b'~')] } else { &[] }
    }

    /// How conversions between it and another encoding go.
    fn way(self, other: Self) -> Way {
        let names = [self.name(), other.name()];
        let is_pair = |pair: &[&str; 2]| *pair == names || *pair == [names[1], names[0]];
        let mule = |[one, other]: [&str; 2]| one == MULE && WITH_MULE.contains(&other);
        let beside_utf8 = [self, other].contains(&Self::UTF8) && !names.contains(&MULE);
        if self == other || [self, other].contains(&Self::SQL_ASCII) {
            Way::None
        } else if other == Self::UTF8 && self.is_here() {
            Way::Decode
        } else if self == Self::UTF8 && other.is_here() {
            Way::Encode
        } else if beside_utf8
            || PAIRS.iter().any(is_pair)
            || [names, [names[1], names[0]]].into_iter().any(mule)
        {
            Way::Absent
        } else {
            Way::Unknown
        }
    }

    /// Appends `bytes` of this encoding as bytes of `target`.
    ///
    /// # Errors
    /// 22021 for bytes that are no text, 22P05 for characters that the target lacks, 42883 where
    /// PostgreSQL does not convert, 0A000 where it does.
    pub fn convert(self, bytes: &[u8], target: Self, out: &mut Vec<u8>) -> Result<()> {
        match self.way(target) {
            Way::None => {
                if self == Self::SQL_ASCII { target } else { self }.check(bytes)?;
                out.extend_from_slice(bytes);
                Ok(())
            }
            Way::Decode => self.decode(bytes, out),
            Way::Encode => target.encode(text_of(bytes)?, out),
            Way::Absent => {
                let what = format!("conversion from {} to {}", self.name(), target.name());
                Err(Error::unsupported(what))
            }
            Way::Unknown => {
                let message = format!(
                    "default conversion function for encoding \"{}\" to \"{}\" does not exist",
                    self.name(),
                    target.name()
                );
                Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
            }
        }
    }

    /// # Errors
    /// 22021 for bytes that are no text of this encoding.
    fn check(self, bytes: &[u8]) -> Result<()> {
        if self == Self::UTF8 {
            return text_of(bytes).map(|_| ());
        }
        let mut at = 0;
        while at < bytes.len() {
            at += self.character(bytes, at)?;
        }
        Ok(())
    }

    /// Appends `bytes` of this encoding as UTF-8.
    ///
    /// # Errors
    /// 22021 for bytes that are no text, 22P05 for codes without a character.
    pub fn decode(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.is_plain() {
            out.extend_from_slice(text_of(bytes)?.as_bytes());
            return Ok(());
        }
        let mut rest = bytes;
        let mut buffer = [0; 4];
        loop {
            // Zero bytes are no text.
            let plain = rest.iter().take_while(|byte| (1..128).contains(*byte)).count();
            out.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            if rest.is_empty() {
                return Ok(());
            }
            let length = self.character(rest, 0)?;
            let code = &rest[..length];
            let Some(c) = self.char_of(code) else {
                return Err(untranslatable(self, code, Self::UTF8));
            };
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            rest = &rest[length..];
        }
    }

    /// How many bytes at the end of `bytes` begin a character that is not all there.
    pub fn unfinished(self, bytes: &[u8]) -> usize {
        if self.bytes_max() == 1 || self.is_plain() {
            return 0;
        }
        let mut at = 0;
        while at < bytes.len() {
            let plain = bytes[at..].iter().take_while(|byte| **byte < 128).count();
            at += plain;
            if at == bytes.len() {
                return 0;
            }
            let length = self.length(&bytes[at..]);
            if at + length > bytes.len() {
                return bytes.len() - at;
            }
            at += length;
        }
        0
    }

    /// Appends `text` in this encoding.
    ///
    /// # Errors
    /// 22P05 for characters that it lacks.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        if self.is_plain() {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let mut rest = text;
        loop {
            let plain = rest.bytes().take_while(u8::is_ascii).count();
            out.extend_from_slice(&rest.as_bytes()[..plain]);
            rest = &rest[plain..];
            let Some(c) = rest.chars().next() else { return Ok(()) };
            let (character, after) = rest.split_at(c.len_utf8());
            let Some(code) = self.code_of(c) else {
                return Err(untranslatable(Self::UTF8, character.as_bytes(), self));
            };
            push_code(out, code);
            rest = after;
        }
    }

    /// The bytes of the character at `at`.
    ///
    /// # Errors
    /// 22021 when there is none.
    fn character(self, bytes: &[u8], at: usize) -> Result<usize> {
        let rest = &bytes[at..];
        let found = match &self.known().form {
            _ if rest[0] == 0 => None,
            Form::Multi(multi) if rest[0] >= 128 => multi.character(rest),
            _ => Some(1),
        };
        found.ok_or_else(|| invalid(self, rest))
    }

    /// The bytes that the character at the front of `bytes` claims.
    fn length(self, bytes: &[u8]) -> usize {
        match &self.known().form {
            Form::Multi(multi) => multi.length(bytes),
            _ if self == Self::UTF8 => match bytes[0] {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            },
            _ => 1,
        }
    }

    fn pairs(self) -> Option<&'static Pairs> {
        static ALL: [OnceLock<Pairs>; KNOWN.len()] = [const { OnceLock::new() }; KNOWN.len()];
        let made = &ALL[usize::from(self.0)];
        match &self.known().form {
            Form::Single(upper) => Some(made.get_or_init(|| upper.pairs())),
            Form::Multi(multi) => Some(made.get_or_init(|| multi.pairs())),
            Form::Plain | Form::Absent => None,
        }
    }

    /// The character of a code, which is no ASCII.
    fn char_of(self, code: &[u8]) -> Option<char> {
        let number = code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let is_gb18030 = matches!(self.known().form, Form::Multi(Multi::Gb18030));
        if is_gb18030 && code.len() == 4 && code[0] >= 0x90 {
            return multi::beyond_bmp(code);
        }
        let pairs = &self.pairs()?.chars;
        let at = pairs.binary_search_by_key(&number, |pair| pair.0).ok()?;
        Some(pairs[at].1)
    }

    /// The code of a character, which is no ASCII.
    fn code_of(self, c: char) -> Option<u32> {
        if matches!(self.known().form, Form::Multi(Multi::Gb18030)) && u32::from(c) > 0xffff {
            return Some(multi::code_beyond_bmp(c));
        }
        let pairs = &self.pairs()?.codes;
        let at = pairs.binary_search_by_key(&c, |pair| pair.0).ok()?;
        Some(pairs[at].1)
    }
}

/// Codes and characters, each sorted.
struct Pairs {
    chars: Vec<(u32, char)>,
    codes: Vec<(char, u32)>,
}

impl Upper {
    fn pairs(&self) -> Pairs {
        let same = (128..self.first).map(|byte| (u32::from(byte), char::from(byte)));
        let bytes = u32::from(self.first)..;
        let others = bytes.zip(self.characters).filter(|(_, number)| **number != 0);
        let others = others
            .filter_map(|(byte, number)| char::from_u32(u32::from(*number)).map(|c| (byte, c)));
        let chars: Vec<(u32, char)> = same.chain(others).collect();
        let mut codes: Vec<(char, u32)> = chars.iter().map(|(byte, c)| (*c, *byte)).collect();
        codes.sort_unstable();
        Pairs { chars, codes }
    }
}

/// How conversions go.
enum Way {
    /// Bytes stay as they are.
    None,
    /// From or to UTF-8.
    Decode,
    Encode,
    /// PostgreSQL has them.
    Absent,
    /// Nobody has them.
    Unknown,
}

fn push_code(out: &mut Vec<u8>, code: u32) {
    let bytes = code.to_be_bytes();
    let from = bytes.iter().take_while(|byte| **byte == 0).count();
    out.extend_from_slice(&bytes[from..]);
}

/// Bytes as text.
///
/// # Errors
/// 22021 when they are no UTF-8, or have a zero byte.
pub fn text_of(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|error| invalid(Charset::UTF8, &bytes[error.valid_up_to()..]))?;
    match text.find('\0') {
        Some(at) => Err(invalid(Charset::UTF8, &bytes[at..])),
        None => Ok(text),
    }
}

fn shown(bytes: &[u8]) -> String {
    let bytes = bytes.iter().take(SHOWN_BYTES_MAX);
    bytes.map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// 22021: what begins `rest` is no character of `charset`.
#[cold]
pub fn invalid(charset: Charset, rest: &[u8]) -> Error {
    let length = if rest.is_empty() { 0 } else { charset.length(rest).min(rest.len()) };
    let bytes = shown(&rest[..length]);
    let message = format!("invalid byte sequence for encoding \"{}\": {bytes}", charset.name());
    Error::new(SqlState::INVALID_ENCODING, message)
}

/// 22P05: the character `code` of `source` is none of `target`.
#[cold]
fn untranslatable(source: Charset, code: &[u8], target: Charset) -> Error {
    let message = format!(
        "character with byte sequence {} in encoding \"{}\" has no equivalent in encoding \"{}\"",
        shown(code),
        source.name(),
        target.name()
    );
    Error::new(SqlState::UNTRANSLATABLE, message)
}
