//! The extended protocol: statements are parsed, bound to values and executed in steps.
//!
//! Statements between two Syncs share a transaction unless BEGIN began one. The frequent case, one
//! Execute right before its Sync, is a statement by itself, so that its error comes before its
//! result.

use std::sync::Arc;
use std::time::Instant;

use engine::{KeptStatement, PreparedStatement, QueryResult};
use types::{DataType, Error, Result, SqlState, Value};

use super::{Connection, Skipping};
use crate::broken::Broken;
use crate::encode::{self, Format, Place, format_at};
use crate::message::{self, Fields, violation};
use crate::{decode, oid};

/// How far a portal is.
enum Progress {
    /// Not run yet; the values of its parameters.
    Bound(Vec<Value>),
    /// Run: its result and the rows not sent yet.
    Open(Box<QueryResult>, Place),
    /// Everything was sent.
    Done,
}

/// A statement with values.
pub(super) struct Portal {
    statement: Arc<KeptStatement>,
    formats: Vec<Format>,
    progress: Progress,
}

/// Most portals that a connection keeps.
const KEPT_MAX: usize = 100_000;

pub(super) fn format_of(code: u16) -> Result<Format> {
    match code {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        other => {
            let message = format!("unsupported format code: {other}");
            Err(Error::new(SqlState::INVALID_PARAMETER, message))
        }
    }
}

pub(super) fn formats(fields: &mut Fields<'_>) -> Result<Vec<Format>> {
    let count = fields.u16()?;
    (0..count).map(|_| format_of(fields.u16()?)).collect()
}

fn check_count(count: usize, what: &str) -> Result<()> {
    if count < KEPT_MAX {
        return Ok(());
    }
    Err(Error::new(SqlState::LIMIT_EXCEEDED, format!("too many {what}: more than {KEPT_MAX}")))
}

fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}

fn unknown_statement(name: &str) -> Error {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}

impl Connection {
    /// Parse.
    pub(super) fn parse(&mut self, body: &[u8]) -> Result<()> {
        let mut fields = Fields::new(body);
        let (name, text) = (fields.text()?, fields.text()?);
        let count = fields.u16()?;
        let given: Vec<u32> = (0..count).map(|_| fields.u32()).collect::<Result<_>>()?;
        fields.end()?;
        if name.is_empty() {
            self.unnamed = None;
        } else if self.session.kept_statement(name).is_some() {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        let own = |oid| self.session.type_numbered(oid);
        let types = given.iter().map(|oid| own(*oid).map_or_else(|| oid::parameter(*oid), Ok));
        let types: Vec<DataType> = types.collect::<Result<_>>()?;
        let statement = self.session.prepare_kept(text, given, &types)?;
        match name {
            "" => self.unnamed = Some(statement),
            name => self.session.keep_statement(name, statement)?,
        }
        message::empty(&mut self.link.lock().outgoing, b'1');
        Ok(())
    }

    /// The statement of Parse or PREPARE.
    fn statement(&self, name: &str) -> Result<&Arc<KeptStatement>> {
        let found = match name {
            "" => self.unnamed.as_ref(),
            name => self.session.kept_statement(name),
        };
        found.ok_or_else(|| unknown_statement(name))
    }

    /// Bind.
    pub(super) fn bind(&mut self, body: &[u8]) -> Result<()> {
        let mut fields = Fields::new(body);
        let (name, statement) = (fields.text()?, fields.text()?);
        let statement = Arc::clone(self.statement(statement)?);
        let given = formats(&mut fields)?;
        let values = self.values(&statement, &given, &mut fields)?;
        let formats = formats(&mut fields)?;
        fields.end()?;
        let columns = statement.columns().map_or(0, <[_]>::len);
        if formats.len() > 1 && formats.len() != columns {
            let message = format!(
                "bind message has {} result formats but query has {columns} columns",
                formats.len()
            );
            return Err(violation(message));
        }
        if !name.is_empty() && self.portals.get(name).is_some() {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
        }
        check_count(self.portals.count(), "portals")?;
        let progress = Progress::Bound(values);
        self.portals.insert(name, Portal { statement, formats, progress });
        message::empty(&mut self.link.lock().outgoing, b'2');
        Ok(())
    }

    fn values(
        &self,
        statement: &KeptStatement,
        formats: &[Format],
        fields: &mut Fields<'_>,
    ) -> Result<Vec<Value>> {
        let count = usize::from(fields.u16()?);
        if formats.len() > 1 && formats.len() != count {
            let message = format!(
                "bind message has {} parameter formats but {count} parameters",
                formats.len()
            );
            return Err(violation(message));
        }
        let types = statement.parameters();
        if count != types.len() {
            let message = format!(
                "bind message supplies {count} parameters, but prepared statement requires {}",
                types.len()
            );
            return Err(violation(message));
        }
        let zone = self.session.time_zone();
        let value = |(at, ty): (usize, &DataType)| match fields.value()? {
            Some(bytes) => decode::value(bytes, *ty, (format_at(formats, at), zone), at + 1),
            None => Ok(Value::Null),
        };
        types.iter().enumerate().map(value).collect()
    }

    /// Describe.
    pub(super) fn describe(&mut self, body: &[u8]) -> Result<()> {
        let mut fields = Fields::new(body);
        let (kind, name) = (fields.u8()?, fields.text()?);
        fields.end()?;
        let mut link = self.link.lock();
        let (columns, origins, formats) = match kind {
            b'S' => {
                let statement = self.statement(name)?;
                let types = statement.parameters();
                let number = |(at, ty): (usize, &DataType)| match statement.declared(at) {
                    0 => oid::of(*ty).0,
                    declared => declared,
                };
                message::message(&mut link.outgoing, b't', |out| {
                    out.extend_from_slice(&(types.len() as u16).to_be_bytes());
                    let numbers = types.iter().enumerate().map(number);
                    numbers.for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
                });
                (statement.columns(), statement.origins(), &[][..])
            }
            b'P' => match self.portals.get(name) {
                Some(portal) => {
                    let statement = &portal.statement;
                    (statement.columns(), statement.origins(), &portal.formats[..])
                }
                // One of DECLARE is a portal, too.
                None => match self.session.cursor_columns(name) {
                    Some(columns) => (Some(columns), &[][..], &[][..]),
                    None => return Err(unknown_portal(name)),
                },
            },
            _ => return Err(violation("invalid DESCRIBE message subtype")),
        };
        match columns {
            Some(columns) => link
                .say(|out| encode::describe(out, columns, origins, formats))
                .map_err(|broken| broken.to_error()),
            None => {
                message::empty(&mut link.outgoing, b'n');
                Ok(())
            }
        }
    }

    /// Close.
    pub(super) fn close(&mut self, body: &[u8]) -> Result<()> {
        let mut fields = Fields::new(body);
        let (kind, name) = (fields.u8()?, fields.text()?);
        fields.end()?;
        match kind {
            b'S' if name.is_empty() => self.unnamed = None,
            b'S' => self.session.forget_statement(name),
            b'P' => drop(self.portals.remove(name)),
            _ => return Err(violation("invalid CLOSE message subtype")),
        }
        message::empty(&mut self.link.lock().outgoing, b'3');
        Ok(())
    }

    /// Execute.
    pub(super) fn execute(&mut self, body: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::new(body);
        let asked = fields.text().and_then(|name| Ok((name, fields.i32()?)));
        let (name, count) = match asked {
            Ok((name, count)) => (name, usize::try_from(count).unwrap_or(0)),
            Err(error) => return self.skip(&error, ""),
        };
        let Some(mut portal) = self.portals.remove(name) else {
            return self.skip(&unknown_portal(name), "");
        };
        let outcome = self.advance(&mut portal, count);
        let statement = Arc::clone(&portal.statement);
        if self.session.in_transaction() || !matches!(outcome, Ok(Ok(()))) {
            self.portals.insert(name, portal);
        }
        match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => self.skip(&error, statement.text()),
            Err(Broken::Statement(error)) => self.skip(&error, ""),
            Err(broken) => Err(broken),
        }
    }

    /// Reports an error and skips what follows.
    fn skip(&mut self, error: &Error, text: &str) -> Result<(), Broken> {
        self.skipping = Skipping::UntilSync;
        self.fail(error, text)
    }

    /// Runs the portal if it was not, and sends at most `count` rows, all for 0.
    fn advance(&mut self, portal: &mut Portal, count: usize) -> Result<Result<()>, Broken> {
        let (result, place) = match std::mem::replace(&mut portal.progress, Progress::Done) {
            Progress::Bound(values) => {
                let outcome = match portal.statement.lock() {
                    Ok(Some(mut prepared)) => {
                        self.run(portal.statement.text(), &mut prepared, &values)
                    }
                    Ok(None) => {
                        message::empty(&mut self.link.lock().outgoing, b'I');
                        return Ok(Ok(()));
                    }
                    Err(error) => Err(error),
                };
                let checked = outcome.and_then(|result| {
                    check_columns(&portal.statement, &result)?;
                    Ok(result)
                });
                match checked {
                    Ok(result) => (result, Place::default()),
                    Err(error) => {
                        portal.progress = Progress::Bound(values);
                        return Ok(Err(error));
                    }
                }
            }
            Progress::Open(result, place) => (*result, place),
            Progress::Done => {
                message::complete(&mut self.link.lock().outgoing, "SELECT 0");
                return Ok(Ok(()));
            }
        };
        self.send_some(portal, (result, place), count)?;
        Ok(Ok(()))
    }

    /// Runs a statement: by itself when nothing else comes before Sync, else in a transaction with
    /// what does.
    fn run(
        &mut self,
        text: &Arc<str>,
        prepared: &mut PreparedStatement,
        values: &[Value],
    ) -> Result<QueryResult> {
        self.session.show_query(text);
        if self.link.lock().peek() != Some(b'S') {
            self.session.begin_implicit()?;
        }
        let begin = Instant::now();
        self.activity.begin(begin, self.settings.statement_ms);
        let result = self.session.execute_prepared(prepared, values);
        self.activity.end();
        let (watcher, time) = (&self.watcher, begin.elapsed());
        if let Ok(result) = &result {
            watcher.metrics.done(result.tag(), time);
        }
        watcher.log.statement(self.session.id(), &watcher.user, text, time);
        self.refresh_settings();
        result.map_err(|error| self.activity.explain(error))
    }

    /// Sends at most `count` rows of `result` from `place` on, all for 0; `portal` keeps the rest.
    fn send_some(
        &self,
        portal: &mut Portal,
        (result, mut place): (QueryResult, Place),
        count: usize,
    ) -> Result<(), Broken> {
        let mut link = self.link.lock();
        let is_first = place.is_first();
        if is_first {
            let mut notices = result.notices().iter();
            notices.try_for_each(|notice| link.say(|out| message::notice(out, notice)))?;
        }
        // CALL may have rows that nobody was told of.
        let has_rows = result.has_rows() && portal.statement.columns().is_some();
        let count_max = if count == 0 { usize::MAX } else { count };
        let (sent, more) = if has_rows {
            encode::rows(&mut *link, &result, &portal.formats, &mut place, count_max)?
        } else {
            (0, false)
        };
        if more {
            portal.progress = Progress::Open(Box::new(result), place);
            message::empty(&mut link.outgoing, b's');
            return Ok(());
        }
        match result.tag().strip_prefix("SELECT ") {
            // A portal read in pieces counts the rows of the last one.
            Some(_) if !is_first => {
                message::complete(&mut link.outgoing, &format!("SELECT {sent}"))
            }
            _ => message::complete(&mut link.outgoing, result.tag()),
        }
        link.flush_full()
    }

    /// Sync: what ran since the last one is committed, unless BEGIN began it.
    pub(super) fn sync(&mut self) -> Result<(), Broken> {
        self.skipping = Skipping::No;
        if self.session.in_implicit()
            && let Err(error) = self.session.end_implicit()
        {
            self.fail(&error, "")?;
        }
        self.ready();
        Ok(())
    }
}

/// The rows must be what the client was told.
fn check_columns(statement: &KeptStatement, result: &QueryResult) -> Result<()> {
    let Some(columns) = statement.columns() else { return Ok(()) };
    let is_same = |((_, told), (_, has)): (&(String, DataType), &(String, DataType))| {
        told == has || oid::of(*told).0 == oid::of(*has).0
    };
    let is = result.columns();
    if columns.len() == is.len() && columns.iter().zip(is).all(is_same) {
        return Ok(());
    }
    // A table has other columns by now. pgjdbc and asyncpg look for the routine, others for the
    // text, and prepare again.
    let message = "cached plan must not change result type";
    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    Err(error.with_routine("RevalidateCachedQuery"))
}
