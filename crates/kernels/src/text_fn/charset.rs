//! Text in other encodings.

use types::charset::Charset;
use types::{Error, Result, SqlState};

use crate::Vector;
use crate::rows::{Fixed, Texts, Written, try_build, try_build_nullable, try_write};

/// The encoding called `name`; `side` is what it is to the call.
///
/// # Errors
/// 22023 when there is no such encoding.
fn named(name: &str, side: &str) -> Result<Charset> {
    Charset::named(name).ok_or_else(|| {
        let message = format!("invalid {side} encoding name \"{name}\"");
        Error::new(SqlState::INVALID_PARAMETER, message)
    })
}

/// Appends `bytes` of the first encoding as bytes of the second.
fn write(out: &mut Written, bytes: &[u8], [source, target]: [Charset; 2]) -> Result<()> {
    let mut converted = Vec::with_capacity(bytes.len());
    source.convert(bytes, target, &mut converted)?;
    out.push_bytes(&converted)
}

/// convert_from(BYTEA, name) -> TEXT.
///
/// # Errors
/// 22021, 22P05, 22023, 42883, 0A000.
pub fn convert_from(bytes: &Vector, source: &Vector) -> Result<Vector> {
    let (values, sources) = (Texts::new(bytes), Texts::new(source));
    try_write(&[bytes, source], |i, out| {
        let source = named(sources.str(i)?, "source")?;
        write(out, values.bytes(i), [source, Charset::UTF8])
    })
}

/// Each byte as the character of that number, a zero too: lengths and places are those of the
/// bytes.
///
/// # Errors
/// 54000 for a value that gets too long, 53200.
pub fn bytes_as_text(bytes: &Vector) -> Result<Vector> {
    let values = Texts::new(bytes);
    try_write(&[bytes], |i, out| {
        let mut buffer = [0; 2];
        for byte in values.bytes(i) {
            out.extend_from_slice(char::from(*byte).encode_utf8(&mut buffer).as_bytes());
        }
        Ok(())
    })
}

/// convert_to(TEXT, name) -> BYTEA.
///
/// # Errors
/// 22P05, 22023, 42883, 0A000.
pub fn convert_to(text: &Vector, target: &Vector) -> Result<Vector> {
    let (texts, targets) = (Texts::new(text), Texts::new(target));
    try_write(&[text, target], |i, out| {
        let target = named(targets.str(i)?, "destination")?;
        write(out, texts.bytes(i), [Charset::UTF8, target])
    })
}

/// convert(BYTEA, source name, target name) -> BYTEA.
///
/// # Errors
/// 22021, 22P05, 22023, 42883, 0A000.
pub fn convert(bytes: &Vector, source: &Vector, target: &Vector) -> Result<Vector> {
    let (values, sources, targets) = (Texts::new(bytes), Texts::new(source), Texts::new(target));
    try_write(&[bytes, source, target], |i, out| {
        let source = named(sources.str(i)?, "source")?;
        let target = named(targets.str(i)?, "destination")?;
        write(out, values.bytes(i), [source, target])
    })
}

/// pg_encoding_to_char(INTEGER) -> NAME: empty for a number of none.
///
/// # Errors
/// None.
pub fn encoding_name(number: &Vector) -> Result<Vector> {
    let numbers = i32::values(number);
    try_write(&[number], |i, out| {
        let name = Charset::numbered(numbers[i]).map_or("", Charset::name);
        out.extend_from_slice(name.as_bytes());
        Ok(())
    })
}

/// pg_char_to_encoding(NAME) -> INTEGER: -1 for a name of none.
///
/// # Errors
/// 22021.
pub fn encoding_number(name: &Vector) -> Result<Vector> {
    let names = Texts::new(name);
    try_build(&[name], |i| Ok(Charset::named(names.str(i)?).map_or(-1, Charset::number)))
}

/// pg_encoding_max_length(INTEGER) -> INTEGER, NULL for a number of none.
///
/// # Errors
/// None.
pub fn encoding_bytes(number: &Vector) -> Result<Vector> {
    let numbers = i32::values(number);
    try_build_nullable(&[number], |i| Ok(Charset::numbered(numbers[i]).map(Charset::bytes_max)))
}
