//! Files that are not as they are read: compressed ones are what they hold, texts in other
//! encodings are UTF-8.

use std::fs::File;
use std::io::{BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use types::charset::Charset;
use types::{Result, budget};

use crate::output::{io_error, open_to_read};

/// First bytes of files by gzip and zstd.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Number of the next temporary file of the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The file `path`, to be read at any place; for a compressed one, a temporary file without a name
/// that has its contents.
///
/// # Errors
/// 58P01 and others of the system, 53100 when the contents have no room, 57014.
pub(crate) fn open_plain(path: &str) -> Result<File> {
    let mut file = open_to_read(path)?;
    let failed = |error: std::io::Error| io_error(path, "read", &error);
    let mut magic = Vec::with_capacity(ZSTD.len());
    (&mut file).take(ZSTD.len() as u64).read_to_end(&mut magic).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    if magic.starts_with(GZIP) {
        return contents(path, flate2::bufread::MultiGzDecoder::new(BufReader::new(file)));
    }
    if magic.starts_with(ZSTD) {
        return contents(path, zstd::stream::read::Decoder::new(file).map_err(failed)?);
    }
    Ok(file)
}

/// As [`open_plain`], of a text in `charset`: one in UTF-8.
///
/// # Errors
/// As [`open_plain`]; 22021 and 22P05 for what is no text of the encoding.
pub(crate) fn open_text(path: &str, charset: Charset) -> Result<File> {
    let mut file = open_plain(path)?;
    if charset.is_plain() {
        return Ok(file);
    }
    file.seek(SeekFrom::Start(0)).map_err(|error| io_error(path, "read", &error))?;
    let (bytes, text) = (Vec::new(), std::io::Cursor::default());
    contents(path, Decoder { file, charset, bytes, text })
}

/// A text that is decoded while it is read.
struct Decoder {
    file: File,
    charset: Charset,
    /// Bytes of a character that is not all there.
    bytes: Vec<u8>,
    /// Characters that were not read yet.
    text: std::io::Cursor<Vec<u8>>,
}

impl Read for Decoder {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.text.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            let known = self.bytes.len();
            let more = (&mut self.file).take(PIECE_BYTES as u64).read_to_end(&mut self.bytes)?;
            if self.bytes.is_empty() {
                return Ok(0);
            }
            // Of the last character everything is there, or it is none.
            let kept = if more == 0 { 0 } else { self.charset.unfinished(&self.bytes) };
            let whole = known + more - kept;
            let mut text = Vec::with_capacity(whole);
            let decoded = self.charset.decode(&self.bytes[..whole], &mut text);
            decoded.map_err(std::io::Error::other)?;
            self.bytes.drain(..whole);
            self.text = std::io::Cursor::new(text);
        }
    }
}

/// A temporary file with everything that `from` gives.
fn contents(path: &str, mut from: impl Read) -> Result<File> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("tessera-{}-{number}.plain", std::process::id());
    let temporary = std::env::temp_dir().join(name);
    let shown = temporary.display().to_string();
    let failed = |error: std::io::Error| io_error(&shown, "write", &error);
    let options = &mut std::fs::OpenOptions::new();
    let options = options.read(true).write(true).create_new(true);
    let mut to = options.open(&temporary).map_err(failed)?;
    // The file goes with its last handle.
    std::fs::remove_file(&temporary).map_err(failed)?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        budget::check()?;
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(to),
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(io_error(path, "decompress", &error)),
        };
        to.write_all(&piece[..read]).map_err(failed)?;
    }
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    fn read(path: &std::path::Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut file = open_plain(&path.display().to_string()).expect("it can be read");
        file.seek(SeekFrom::Start(0)).expect("a file");
        file.read_to_end(&mut bytes).expect("it can be read");
        bytes
    }

    #[test]
    fn compressed_files_are_what_they_hold() {
        let directory = Scratch::new("formats-compressed");
        let plain: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("plain"), &plain).expect("writable");
        std::fs::write(path("zstd"), zstd::encode_all(&plain[..], 1).expect("zstd"))
            .expect("writable");
        // Two members, as `cat a.gz b.gz` makes them.
        let mut members = Vec::new();
        for half in plain.chunks(plain.len() / 2) {
            let mut to = flate2::write::GzEncoder::new(members, flate2::Compression::fast());
            to.write_all(half).expect("memory");
            members = to.finish().expect("memory");
        }
        std::fs::write(path("gzip"), &members).expect("writable");
        for name in ["plain", "zstd", "gzip"] {
            assert!(read(&path(name)) == plain, "{name}");
        }
        members.truncate(members.len() / 2);
        std::fs::write(path("cut"), &members).expect("writable");
        let cut = open_plain(&path("cut").display().to_string());
        assert!(cut.is_err_and(|error| error.message().contains("decompress")));
    }
}
