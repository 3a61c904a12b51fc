//! The simple protocol: a text with any number of statements.

use std::time::Instant;

use engine::QueryResult;
use parking_lot::Mutex;

use super::{Connection, send};
use crate::broken::Broken;
use crate::encode::{self, Format};
use crate::link::Link;
use crate::message::{self, Fields};

impl Connection {
    /// Query.
    pub(super) fn query(&mut self, body: &[u8]) -> Result<(), Broken> {
        self.unnamed = None;
        self.portals.remove("");
        let mut fields = Fields::new(body);
        match fields.text().and_then(|text| fields.end().map(|()| text)) {
            Ok(text) => self.run_text(text)?,
            Err(error) => self.fail(&error, "")?,
        }
        self.ready();
        Ok(())
    }

    fn run_text(&mut self, text: &str) -> Result<(), Broken> {
        let mut results = 0;
        let mut broken = None;
        let link = &self.link;
        self.session.show_query(&text.into());
        let begin = Instant::now();
        self.activity.begin(begin, self.settings.statement_ms);
        let (metrics, mut since) = (&self.watcher.metrics, begin);
        let outcome = self.session.execute_together(text, |result| {
            results += 1;
            let now = Instant::now();
            metrics.done(result.tag(), now - since);
            since = now;
            answer(link, &result).map_err(|reason| {
                let error = reason.to_error();
                broken = Some(reason).filter(|reason| !matches!(reason, Broken::Statement(_)));
                error
            })
        });
        self.activity.end();
        let watcher = &self.watcher;
        watcher.log.statement(self.session.id(), &watcher.user, text, begin.elapsed());
        if let Some(broken) = broken {
            return Err(broken);
        }
        match outcome {
            Ok(()) if results == 0 => message::empty(&mut self.link.lock().outgoing, b'I'),
            Ok(()) => {}
            Err(error) => self.fail(&self.activity.explain(error), text)?,
        }
        self.refresh_settings();
        Ok(())
    }
}

/// Sends a result with its columns, in the encoding that its statement had.
fn answer(link: &Mutex<Link>, result: &QueryResult) -> Result<(), Broken> {
    let formats = if result.is_binary() { &[Format::Binary][..] } else { &[] };
    let mut writer = link.lock();
    writer.charset = result.charset();
    if result.has_rows() {
        writer.say(|out| encode::describe(out, result.columns(), &[], formats))?;
    }
    drop(writer);
    send(link, result, formats)
}
