//! COPY FROM STDIN and TO STDOUT.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use exec::ResultSet;
use kernels::Column;
use sql::statement::{Copy, CopyDirection, CopyItem};
use types::charset::{Charset, text_of};
use types::{DataType, Error, Result, SqlState};

use super::{Load, Size, Target, check_style, returned, table_rows};
use crate::instance::registry::{Came, CopyClient, FileOptions, StreamForm, StreamFormat};
use crate::statement::running::{Run, Running};
use crate::{QueryResult, Session};

/// Bytes that are gathered before they become rows: some blocks of rows of usual width.
const PART_BYTES: usize = 32 << 20;

/// Bytes below which rows are inserted as INSERT does, into blocks that there are.
const SMALL_BYTES: usize = 1 << 20;

fn format_of(session: &Session, copy: &Copy) -> Result<Arc<dyn StreamFormat>> {
    let name = copy.format.as_deref().unwrap_or("text");
    session.database().registry().stream_format(name).ok_or_else(|| {
        let message = format!("COPY format \"{name}\" not recognized");
        Error::new(SqlState::INVALID_PARAMETER, message)
    })
}

pub(super) fn copy(running: &mut Running<'_>, copy: &Copy) -> Result<QueryResult> {
    let format = format_of(running.session, copy)?;
    let Some(mut client) = running.session.client.take() else {
        return Err(Error::unsupported("COPY from STDIN or to STDOUT without a client"));
    };
    let outcome = with_client(running, copy, &*format, &mut *client);
    running.session.client = Some(client);
    // The client's rows come once.
    outcome.map_err(Error::final_form)
}

fn with_client(
    running: &mut Running<'_>,
    copy: &Copy,
    format: &dyn StreamFormat,
    client: &mut dyn CopyClient,
) -> Result<QueryResult> {
    let rows = match (&copy.item, copy.direction) {
        (CopyItem::Table { table, columns }, CopyDirection::From) => {
            receive(running, copy, format, client, Target { table, columns })?
        }
        (CopyItem::Query(query), CopyDirection::To) => {
            let result = running.run_query(query, Run::default())?;
            send(running.session, copy, format, client, &result)?
        }
        (CopyItem::Table { table, columns }, CopyDirection::To) => {
            let result = table_rows(running, table, columns)?;
            send(running.session, copy, format, client, &result)?
        }
        (CopyItem::Statement(statement), CopyDirection::To) => {
            let result = returned(running, statement)?;
            send(running.session, copy, format, client, &result)?
        }
        (CopyItem::Query(_) | CopyItem::Statement(_), CopyDirection::From) => {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM needs a table"));
        }
    };
    Ok(QueryResult::command(format!("COPY {rows}")))
}

/// Gathers what the client sends, and loads it part by part. While one is loaded, the next is
/// gathered.
fn receive(
    running: &mut Running<'_>,
    copy: &Copy,
    format: &dyn StreamFormat,
    client: &mut dyn CopyClient,
    into: Target<'_>,
) -> Result<u64> {
    let Target { table, columns } = into;
    let all = table.columns();
    let target: Vec<(String, DataType)> =
        columns.iter().map(|&c| (all[c].name.clone(), all[c].ty)).collect();
    let options = stream_options(running.session, copy, format)?;
    let charset = options.charset;
    let mut reader = format.reader(options, &target)?;
    let mut load = Load::begin(running, copy, into)?;
    client.begin_in(columns.len(), format.form())?;
    running.session.work_mut().runs_once = true;
    let cancel = running.session.cancel_handle();
    let mut bytes = Vec::new();
    let charset = if format.form() == StreamForm::Text { charset } else { Charset::UTF8 };
    let client = &mut Texts { client, charset, came: Vec::new() };
    let mut came = gather(client, &mut bytes, PART_BYTES, || cancel.check())?;
    loop {
        let size = if bytes.len() < SMALL_BYTES { Size::Small } else { Size::Large };
        let piece = reader.take(&mut bytes, came)?;
        // Without a piece it is a record longer than a part.
        let wanted = bytes.len() + if piece.is_some() { PART_BYTES } else { bytes.len() };
        let load_piece = |running: &mut Running<'_>| match piece {
            Some(piece) => load.add(running, piece, size),
            None => Ok(()),
        };
        if came == Came::All {
            load_piece(running)?;
            return load.finish(running);
        }
        let failed = AtomicBool::new(false);
        let check = || if failed.load(Ordering::Relaxed) { Err(over()) } else { cancel.check() };
        let (loaded, gathered) = std::thread::scope(|scope| {
            let next = || gather(client, &mut bytes, wanted, check);
            let next = std::thread::Builder::new().name("copy".into()).spawn_scoped(scope, next);
            let failing = Failing(&failed);
            let loaded = load_piece(running);
            match loaded {
                Ok(()) => std::mem::forget(failing),
                Err(_) => drop(failing),
            }
            (loaded, next.map(|thread| thread.join()))
        });
        loaded?;
        let gathered = gathered.map_err(|error| {
            Error::new(SqlState::OUT_OF_MEMORY, format!("no thread for COPY: {error}"))
        })?;
        came = gathered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    }
}

/// Ends what is gathered for a load that fails, by an error or a panic.
struct Failing<'a>(&'a AtomicBool);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Error that nobody is told, because the load has failed already.
fn over() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "the rows before cannot be loaded")
}

/// A client whose texts may be in another encoding.
struct Texts<'a> {
    client: &'a mut dyn CopyClient,
    charset: Charset,
    /// Bytes in that encoding.
    came: Vec<u8>,
}

impl Texts<'_> {
    /// Appends what it sends next to `bytes`, in UTF-8.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Came> {
        if self.charset.is_plain() {
            return self.client.read(bytes);
        }
        let came = self.client.read(&mut self.came)?;
        // The rest of a character comes with what follows.
        let kept = if came == Came::All { 0 } else { self.charset.unfinished(&self.came) };
        let whole = self.came.len() - kept;
        self.charset.decode(&self.came[..whole], bytes)?;
        self.came.drain(..whole);
        Ok(came)
    }
}

/// Appends what the client sends to `bytes` until there are `wanted`, or all.
fn gather(
    client: &mut Texts<'_>,
    bytes: &mut Vec<u8>,
    wanted: usize,
    check: impl Fn() -> Result<()>,
) -> Result<Came> {
    loop {
        let came = client.read(bytes)?;
        check()?;
        if came == Came::All || bytes.len() >= wanted {
            return Ok(came);
        }
        if bytes.len() >= SMALL_BYTES && bytes.capacity() < wanted {
            // At once: memory that grows step by step is cleared by the system at each of them.
            bytes.reserve_exact(wanted + SMALL_BYTES - bytes.len());
        }
    }
}

fn send(
    session: &Session,
    copy: &Copy,
    format: &dyn StreamFormat,
    client: &mut dyn CopyClient,
    result: &ResultSet,
) -> Result<u64> {
    check_style(session, &result.columns)?;
    let options = stream_options(session, copy, format)?;
    let charset = options.charset;
    let mut writer = format.writer(options, &result.columns)?;
    let charset = if format.form() == StreamForm::Text { charset } else { Charset::UTF8 };
    let mut said = Vec::new();
    client.begin_out(result.columns.len(), format.form())?;
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    writer.begin(&mut bytes, &mut ends);
    for batch in &result.batches {
        session.cancel_handle().check()?;
        let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
        writer.rows(&columns, 0..batch.rows, &mut bytes, &mut ends)?;
        recode(charset, &mut bytes, &mut ends, &mut said)?;
        client.write(&bytes, &ends)?;
        bytes.clear();
        ends.clear();
    }
    writer.end(&mut bytes);
    if !bytes.is_empty() {
        ends.push(bytes.len());
    }
    recode(charset, &mut bytes, &mut ends, &mut said)?;
    client.write(&bytes, &ends)?;
    client.end_out()?;
    Ok(result.rows() as u64)
}

/// The options of a COPY with the client. ENCODING says nothing about values in binary, whose texts
/// are always in the client's encoding.
fn stream_options<'a>(
    session: &'a Session,
    copy: &'a Copy,
    format: &dyn StreamFormat,
) -> Result<FileOptions<'a>> {
    let options = session.file_options(&copy.options)?;
    let charset = match format.form() {
        StreamForm::Text => options.charset,
        StreamForm::Binary => session.settings.charset(),
    };
    Ok(FileOptions { charset, ..options })
}

/// Puts rows of text, each up to one of `ends`, into another encoding; `said` is a buffer.
///
/// # Errors
/// 22P05 for a character that it lacks.
fn recode(
    charset: Charset,
    bytes: &mut Vec<u8>,
    ends: &mut [usize],
    said: &mut Vec<u8>,
) -> Result<()> {
    if charset.is_plain() || bytes.is_ascii() {
        return Ok(());
    }
    said.clear();
    let mut start = 0;
    for end in ends {
        charset.encode(text_of(&bytes[start..*end])?, said)?;
        start = std::mem::replace(end, said.len());
    }
    std::mem::swap(bytes, said);
    Ok(())
}
