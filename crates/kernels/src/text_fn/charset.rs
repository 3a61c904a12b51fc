//! Text in other encodings: UTF-8, Latin 1 and ASCII.

use types::{Error, Result, SqlState};

use crate::Vector;
use crate::rows::{Texts, try_write, utf8};

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charset {
    Utf8,
    Latin1,
    /// Bytes as they are.
    Ascii,
}

impl Charset {
    fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF8",
            Self::Latin1 => "LATIN1",
            Self::Ascii => "SQL_ASCII",
        }
    }

    /// The encoding called `name`; `side` is what it is to the call.
    ///
    /// # Errors
    /// 22023 when PostgreSQL has no such encoding, 0A000 when it has.
    fn named(name: &str, side: &str) -> Result<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        match plain.to_ascii_lowercase().as_str() {
            "utf8" | "unicode" => Ok(Self::Utf8),
            "latin1" | "iso88591" => Ok(Self::Latin1),
            "sqlascii" => Ok(Self::Ascii),
            known if is_known(known) => Err(Error::unsupported(format!("encoding {name}"))),
            _ => {
                let message = format!("invalid {side} encoding name \"{name}\"");
                Err(Error::new(SqlState::INVALID_PARAMETER, message))
            }
        }
    }
}

/// True for encodings of PostgreSQL that are not here.
fn is_known(name: &str) -> bool {
    const STARTS: [&str; 10] =
        ["latin", "iso8859", "win", "windows", "euc", "koi8", "big5", "gb", "sjis", "shiftjis"];
    STARTS.iter().any(|start| name.starts_with(start))
        || matches!(name, "johab" | "uhc" | "muleinternal" | "alt" | "tcvn")
}

/// `bytes` of `source` as bytes of `target`.
///
/// # Errors
/// 22021 for bytes that are no text, 22P05 for characters that the target lacks.
fn push_converted(out: &mut Vec<u8>, bytes: &[u8], source: Charset, target: Charset) -> Result<()> {
    match (source, target) {
        (Charset::Utf8, Charset::Latin1) => {
            for c in utf8(bytes)?.chars() {
                let byte = u8::try_from(u32::from(c)).map_err(|_| missing(c, target))?;
                out.push(byte);
            }
        }
        (Charset::Latin1, Charset::Utf8) => {
            for &byte in bytes {
                out.extend_from_slice(char::from(byte).encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        (Charset::Utf8, _) | (_, Charset::Utf8) => {
            out.extend_from_slice(utf8(bytes)?.as_bytes());
        }
        _ => out.extend_from_slice(bytes),
    }
    Ok(())
}

#[cold]
fn missing(c: char, target: Charset) -> Error {
    let mut buffer = [0; 4];
    let bytes: Vec<String> =
        c.encode_utf8(&mut buffer).bytes().map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!(
        "character with byte sequence {} in encoding \"UTF8\" has no equivalent in encoding \
         \"{}\"",
        bytes.join(" "),
        target.name()
    );
    Error::new(SqlState::UNTRANSLATABLE, message)
}

/// convert_from(BYTEA, name) -> TEXT.
///
/// # Errors
/// 22021, 22023, 0A000.
pub fn convert_from(bytes: &Vector, source: &Vector) -> Result<Vector> {
    let (values, sources) = (Texts::new(bytes), Texts::new(source));
    try_write(&[bytes, source], |i, out| {
        let source = Charset::named(sources.str(i)?, "source")?;
        push_converted(out, values.bytes(i), source, Charset::Utf8)
    })
}

/// convert_to(TEXT, name) -> BYTEA.
///
/// # Errors
/// 22P05, 22023, 0A000.
pub fn convert_to(text: &Vector, target: &Vector) -> Result<Vector> {
    let (texts, targets) = (Texts::new(text), Texts::new(target));
    try_write(&[text, target], |i, out| {
        let target = Charset::named(targets.str(i)?, "destination")?;
        push_converted(out, texts.bytes(i), Charset::Utf8, target)
    })
}

/// convert(BYTEA, source name, target name) -> BYTEA.
///
/// # Errors
/// 22021, 22P05, 22023, 0A000.
pub fn convert(bytes: &Vector, source: &Vector, target: &Vector) -> Result<Vector> {
    let (values, sources, targets) = (Texts::new(bytes), Texts::new(source), Texts::new(target));
    try_write(&[bytes, source, target], |i, out| {
        let source = Charset::named(sources.str(i)?, "source")?;
        let target = Charset::named(targets.str(i)?, "destination")?;
        push_converted(out, values.bytes(i), source, target)
    })
}
