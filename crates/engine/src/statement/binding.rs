//! Catalog and clocks that statements are bound with.

use std::cell::Cell;
use std::sync::Arc;

use catalog::checks::Clocks;
use catalog::who::Who;
use catalog::wide::WideReader;
use sql::catalog::{Digits, Variables};
use sql::statement::Statement;
use sql::{Effect, ParsedStatement};
use types::Result;
use types::calendar::TimeZone;

use crate::PreparedStatement;
use crate::session::Session;
use crate::session::compiled::{Compiled, Ready, Timing};
use crate::statement::catalog::{Checking, Names, StatementCatalog};
use crate::transaction::work::Work;

impl Session {
    /// The catalog for a statement of the session.
    pub(crate) fn catalog(&self) -> StatementCatalog<'_> {
        let zone = self.settings.time_zone().clone();
        let literal_zone = match &self.work {
            Some(work) => zone.with_now(work.now_micros),
            None => zone,
        };
        StatementCatalog {
            state: self.state(),
            registry: self.database.registry(),
            work: self.work.as_ref(),
            now_micros: Some(self.work.as_ref().map_or(0, |work| work.now_micros)),
            literal_zone,
            digits: self.digits,
            names: Names::ByPath,
            asks_time: Cell::new(false),
            names_routines: Cell::new(false),
            prepared: &self.prepared,
            session: self.info.id,
            settings: &self.settings,
            cursors: &self.cursors,
            database: &self.database,
            checks: Checking::Rights,
            outside: self.outside.as_deref(),
            transitions: &self.transitions,
            wide: self.wide_reader(),
            is_enough: Cell::new(true),
            variables: None,
            maintained: None,
        }
    }

    /// Which wide tables the statement may read.
    pub(crate) fn wide_reader(&self) -> WideReader {
        self.work.as_ref().map(Work::wide_reader).unwrap_or_default()
    }

    /// The catalog for `parsed`. What writes does not read wide tables by their names: parts of it
    /// see what it wrote.
    pub(crate) fn catalog_for(&self, parsed: &ParsedStatement) -> StatementCatalog<'_> {
        match parsed.effect() {
            Effect::Reads => self.catalog(),
            _ => StatementCatalog { wide: WideReader::default(), ..self.catalog() },
        }
    }

    /// The catalog for queries of the database itself, which may read everything.
    pub(crate) fn own_catalog(&self) -> StatementCatalog<'_> {
        StatementCatalog { checks: Checking::Nothing, ..self.catalog() }
    }

    /// The catalog for text of definitions, whose literals are those of UTC, and whose names those
    /// of `public`.
    pub(crate) fn definition_catalog(&self) -> StatementCatalog<'_> {
        let names = Names::Public;
        StatementCatalog { literal_zone: TimeZone::UTC, names, ..self.own_catalog() }
    }

    /// Clocks for conditions over rows: the time of the session's transaction, and its
    /// time zone.
    pub(crate) fn clocks(&self) -> Clocks<'_> {
        Clocks {
            now: self.work().now_micros,
            clock: &*self.inner().clock,
            zone: self.settings.time_zone(),
        }
    }

    /// Role that its statements run as.
    pub(crate) fn who(&self) -> Who {
        self.settings.who().clone()
    }

    /// Binds a prepared statement.
    pub(crate) fn compile(&self, prepared: &PreparedStatement) -> Result<Ready> {
        let PreparedStatement { statement: parsed, types, timing, zone, names, .. } = prepared;
        let variables = names.as_deref().map(|names| names as &dyn Variables);
        let (timing, types) = (*timing, types.as_slice());
        let catalog_for = || {
            let literal_zone = zone.clone();
            StatementCatalog { literal_zone, variables, ..self.catalog_for(parsed) }
        };
        // Before the catalog is looked at: it may be newer, never older.
        let version = self.inner().stores.relations.version();
        let mut catalog = catalog_for();
        if timing == Timing::AnyTime {
            catalog.now_micros = None;
        }
        let statement = sql::bind(parsed, &catalog, types)?;
        let is_about_rows = matches!(
            statement,
            Statement::Query(_)
                | Statement::SelectForUpdate(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
                | Statement::WithChanges(_)
        );
        let asks_time = catalog.asks_time.get();
        let is_kept = is_about_rows
            && self.digits == Digits::Likely
            && catalog.is_enough.get()
            && self.sees_committed_catalog()
            && (timing == Timing::AnyTime || !asks_time);
        if is_kept {
            let compiled = Compiled::new(self, statement, version, asks_time);
            if !asks_time || compiled.is_good_at_any_time() {
                return Ok(Ready::Again(Arc::new(compiled)));
            }
        } else if timing == Timing::Now || !asks_time {
            return Ok(Ready::Once(Box::new(statement)));
        }
        let now = Box::new(sql::bind(parsed, &catalog_for(), types)?);
        Ok(if is_kept { Ready::Now(now) } else { Ready::Once(now) })
    }

    /// The version of the catalog, which is another one after each change; None while the session
    /// sees relations, types or functions that others do not.
    pub fn catalog_version(&self) -> Option<u64> {
        let version = self.inner().stores.relations.version();
        self.sees_committed_catalog().then_some(version)
    }

    /// True when the session sees the relations that everybody does, and no others.
    pub(crate) fn sees_committed_catalog(&self) -> bool {
        let own = self.work.as_ref().is_some_and(|work| !work.sees_committed_catalog());
        !own && self.temporary.is_empty()
    }
}
