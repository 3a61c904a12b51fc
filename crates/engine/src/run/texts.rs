//! Texts of several statements.

use std::sync::Arc;

use sql::ParsedStatement;
use types::budget::{self, Account};
use types::{Result, stack};

use crate::QueryResult;
use crate::session::Session;

impl Session {
    /// Runs all statements of `text`; the result of the last.
    ///
    /// # Errors
    /// The first error; earlier statements stay done.
    pub fn execute(&mut self, text: &str) -> Result<QueryResult> {
        let mut last = QueryResult::command("");
        self.execute_each(text, |result| {
            last = result;
            Ok(())
        })?;
        Ok(last)
    }

    /// Runs all statements of `text` and hands over each result before the next begins.
    ///
    /// # Errors
    /// The first error; earlier statements stay done.
    pub fn execute_each(
        &mut self,
        text: &str,
        each: impl FnMut(QueryResult) -> Result<()>,
    ) -> Result<()> {
        stack::statement(stack::levels_in(text), || self.execute_each_here(text, each))
    }

    fn execute_each_here(
        &mut self,
        text: &str,
        mut each: impl FnMut(QueryResult) -> Result<()>,
    ) -> Result<()> {
        let statements = self.parse(text)?;
        self.show_query(&Arc::from(text));
        for statement in statements {
            let result = self
                .statement_by(&mut |session| session.bind_and_run(&statement, &[], Vec::new()))?;
            each(result)?;
        }
        Ok(())
    }

    /// The statements of a new text; a transaction fails with an error in it.
    pub(crate) fn parse(&mut self, text: &str) -> Result<Vec<ParsedStatement>> {
        self.begin_text();
        let _entry = budget::enter(Arc::clone(&self.account) as Arc<dyn Account>);
        match self.parse_text(text) {
            Ok(statements) => Ok(statements),
            Err(error) => {
                self.fail()?;
                Err(error)
            }
        }
    }

    /// The statements of a text that a client sent: its strings mean what the session's settings
    /// say.
    ///
    /// # Errors
    /// See [`sql::parse`].
    pub(crate) fn parse_text(&self, text: &str) -> Result<Vec<ParsedStatement>> {
        match self.settings.changed("standard_conforming_strings") {
            Some("off") => sql::parse(&sql::with_escapes(text)?),
            _ => sql::parse(text),
        }
    }

    /// A cancel from before does not count.
    pub(crate) fn begin_text(&self) {
        self.cancel.reset();
        self.account.begin();
    }
}
