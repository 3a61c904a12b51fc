//! A client that reads rows and looks at nothing but their number: what a server can send at most.

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::text;

/// Runs `sql` as a simple query; how many rows came, and how long it took to the last one.
pub(super) fn read_all(socket: &Path, user: &str, sql: &str) -> Result<(u64, Duration), String> {
    let stream = UnixStream::connect(socket).map_err(text)?;
    let mut writer = stream.try_clone().map_err(text)?;
    let mut messages =
        Messages { stream: BufReader::with_capacity(1 << 20, stream), body: Vec::new() };
    let mut startup = 196_608_u32.to_be_bytes().to_vec();
    startup.extend_from_slice(format!("user\0{user}\0database\0postgres\0\0").as_bytes());
    let length = (startup.len() as u32 + 4).to_be_bytes();
    writer.write_all(&[&length[..], &startup].concat()).map_err(text)?;
    messages.rows()?;
    let start = Instant::now();
    let length = (sql.len() as u32 + 5).to_be_bytes();
    writer.write_all(&[b"Q", &length[..], sql.as_bytes(), b"\0"].concat()).map_err(text)?;
    let rows = messages.rows()?;
    Ok((rows, start.elapsed()))
}

struct Messages {
    stream: BufReader<UnixStream>,
    body: Vec<u8>,
}

impl Messages {
    /// Reads up to ReadyForQuery; how many rows there were.
    fn rows(&mut self) -> Result<u64, String> {
        let mut rows = 0;
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head).map_err(text)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            self.body.resize(length.saturating_sub(4), 0);
            self.stream.read_exact(&mut self.body).map_err(text)?;
            match head[0] {
                b'D' => rows += 1,
                b'E' => return Err(String::from_utf8_lossy(&self.body).into_owned()),
                b'Z' => return Ok(rows),
                _ => {}
            }
        }
    }
}
