//! A session: takes SQL text, runs it statement by statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use exec::context::Progress;
use exec::{Profile, QueryContext, ResultSet};
use parking_lot::Mutex;
use plan::PlanOptions;
use plan::physical::PhysicalPlan;
use sched::{Priority, Scheduler, Ticket};
use sql::algebra::Query;
use sql::statement::{ExplainMode, SetValue, Statement};
use types::{DataType, Error, Result, SqlState, Value};

use crate::catalog::StatementCatalog;
use crate::settings::Settings;
use crate::statistics::StoredStatistics;
use crate::{Database, QueryResult, copy, ddl, insert};

/// Cancels what a session runs, from another thread.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle(Arc<AtomicBool>);

impl CancelHandle {
    /// Cancels the running statement; without one nothing happens.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after a cancel, until the next statement begins.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// 57014 after a cancel.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            let message = "canceling statement due to user request";
            return Err(Error::new(SqlState::QUERY_CANCELED, message));
        }
        Ok(())
    }

    fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Shows how far the running statement is: work orders done and known.
#[derive(Clone, Default)]
pub struct ProgressHandle(Arc<Mutex<Option<Arc<Progress>>>>);

impl ProgressHandle {
    /// Work orders done and known of the query that runs, if one does.
    pub fn get(&self) -> Option<(u64, u64)> {
        let progress = self.0.lock().clone()?;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Some((read(&progress.done), read(&progress.total)))
    }
}

/// One user of a database. A session runs one statement at a time.
pub struct Session {
    database: Database,
    settings: Settings,
    cancel: CancelHandle,
    progress: ProgressHandle,
}

impl Session {
    pub(crate) fn new(database: Database) -> Self {
        Self {
            database,
            settings: Settings::default(),
            cancel: CancelHandle::default(),
            progress: ProgressHandle::default(),
        }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A handle to cancel this session's statements.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// A handle to watch this session's queries.
    pub fn progress_handle(&self) -> ProgressHandle {
        self.progress.clone()
    }

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
        mut each: impl FnMut(QueryResult) -> Result<()>,
    ) -> Result<()> {
        self.cancel.reset();
        for statement in sql::parse(text)? {
            self.cancel.check()?;
            let bound = sql::bind(&statement, &self.catalog(), &[])?;
            let result = self.run(bound)?;
            each(result)?;
        }
        Ok(())
    }

    pub(crate) fn catalog(&self) -> StatementCatalog<'_> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        StatementCatalog {
            state: self.database.inner().relations.snapshot(),
            registry: self.database.registry(),
            now_micros: i64::try_from(now.as_micros()).unwrap_or(0),
        }
    }

    fn run(&mut self, statement: Statement) -> Result<QueryResult> {
        match statement {
            Statement::Query(query) => Ok(QueryResult::from_rows(self.query(&query)?)),
            Statement::Explain { mode, statement } => self.explain(mode, *statement),
            Statement::CreateTable(create) => ddl::create_table(self, *create),
            Statement::CreateTableAs(create) => insert::create_table_as(self, *create),
            Statement::CreateView(create) => ddl::create_view(self, *create),
            Statement::DropTable(drop) => ddl::drop_tables(self, &drop),
            Statement::DropView(drop) => ddl::drop_views(self, &drop),
            Statement::Insert(insert) => insert::insert(self, &insert),
            Statement::Truncate(truncate) => ddl::truncate(&truncate.tables),
            Statement::Copy(statement) => copy::copy(self, &statement),
            Statement::Call { name, arguments } => {
                let procedure = self.database.registry().procedure(&name).ok_or_else(|| {
                    let message = format!("procedure {name} does not exist");
                    Error::new(SqlState::UNDEFINED_FUNCTION, message)
                })?;
                procedure.call(self, &arguments)
            }
            Statement::Set { name, value, .. } => {
                let value = match value {
                    SetValue::Default => None,
                    SetValue::Text(text) => Some(text),
                };
                self.set(&name, value.as_deref())?;
                Ok(QueryResult::command("SET"))
            }
            Statement::Show { name } => self.show(&name),
            Statement::Reset { name } => {
                match name {
                    Some(name) => self.set(&name, None)?,
                    None => self.settings.reset(),
                }
                Ok(QueryResult::command("RESET"))
            }
            Statement::Analyze { .. } => Ok(QueryResult::command("ANALYZE")),
            Statement::Begin(_) | Statement::SetTransaction(_) => {
                Err(Error::unsupported("a transaction of several statements"))
            }
            Statement::Commit(_) | Statement::Rollback(_) => {
                let message = "there is no transaction in progress";
                Err(Error::new(SqlState(*b"25P01"), message))
            }
            _ => Err(Error::unsupported("this statement")),
        }
    }

    /// The physical plan of `query` and a context to run it in.
    pub(crate) fn prepare(
        &self,
        query: &Query,
        profile: Profile,
    ) -> Result<(PhysicalPlan, Arc<QueryContext>)> {
        let statistics = StoredStatistics::default();
        let plan = plan::plan(query, &statistics, &PlanOptions::default())?;
        let context = self.context(plan.operator_count, profile);
        Ok((plan, context))
    }

    /// A context with `operator_count` counters.
    pub(crate) fn context(&self, operator_count: usize, profile: Profile) -> Arc<QueryContext> {
        let inner = self.database.inner();
        let scheduler = Arc::clone(&inner.scheduler.read());
        let ticket = Ticket::new(Priority::default());
        let pool = Arc::clone(&inner.pool);
        let mut context = QueryContext::new(pool, scheduler, ticket, operator_count);
        context.cancel = Arc::clone(&self.cancel.0);
        context.profile = profile;
        *self.progress.0.lock() = Some(Arc::clone(&context.progress));
        Arc::new(context)
    }

    /// Runs a query.
    pub(crate) fn query(&self, query: &Query) -> Result<ResultSet> {
        let (plan, context) = self.prepare(query, Profile::Off)?;
        let result = exec::execute(&plan, &context);
        *self.progress.0.lock() = None;
        result
    }

    fn explain(&self, mode: ExplainMode, statement: Statement) -> Result<QueryResult> {
        let query = match statement {
            Statement::Query(query) => query,
            Statement::Insert(insert) if mode == ExplainMode::Plan => insert.source,
            Statement::CreateTableAs(create) if mode == ExplainMode::Plan => create.query,
            _ => return Err(Error::unsupported("EXPLAIN of this statement")),
        };
        let text = match mode {
            ExplainMode::Plan => {
                let (plan, _) = self.prepare(&query, Profile::Off)?;
                plan::explain(&plan, None)
            }
            ExplainMode::Analyze => {
                let begin = std::time::Instant::now();
                let (plan, context) = self.prepare(&query, Profile::On)?;
                let planning = begin.elapsed();
                let result = exec::execute(&plan, &context)?;
                let total = begin.elapsed();
                let mut text = plan::explain(&plan, Some(&context.profiles()));
                let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
                text.push_str(&format!(
                    "\nRows: {}\nPlanning: {:.3} ms\nExecution: {:.3} ms",
                    result.rows(),
                    ms(planning),
                    ms(total - planning)
                ));
                text
            }
        };
        let rows: Vec<Vec<Value>> = text.lines().map(|line| vec![Value::text(line)]).collect();
        let columns = vec![("QUERY PLAN".to_owned(), DataType::Text)];
        Ok(QueryResult::from_values("EXPLAIN", columns, &rows))
    }

    fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        match name {
            "threads" | "tessera.threads" => {
                let count = match value {
                    None => crate::Config::default().threads,
                    Some(text) => parse_threads(text)?,
                };
                *self.database.inner().scheduler.write() = Scheduler::new(count);
                Ok(())
            }
            "memory_limit" | "tessera.memory_limit" => Err(Error::unsupported(
                "changing the memory limit of a running database (start with --memory)",
            )),
            _ => self.settings.set(name, value),
        }
    }

    fn show(&self, name: &str) -> Result<QueryResult> {
        let text = DataType::Text;
        if name == "all" {
            let mut all = self.settings.all();
            all.push(("threads".to_owned(), self.database.threads().to_string()));
            all.push(("memory_limit".to_owned(), self.database.pool().limit().to_string()));
            all.sort();
            let rows: Vec<Vec<Value>> =
                all.iter().map(|(n, v)| vec![Value::text(n), Value::text(v)]).collect();
            let columns = vec![("name".to_owned(), text), ("setting".to_owned(), text)];
            return Ok(QueryResult::from_values("SHOW", columns, &rows));
        }
        let value = match name {
            "threads" | "tessera.threads" => self.database.threads().to_string(),
            "memory_limit" | "tessera.memory_limit" => self.database.pool().limit().to_string(),
            _ => self.settings.get(name)?,
        };
        let columns = vec![(name.to_owned(), text)];
        Ok(QueryResult::from_values("SHOW", columns, &[vec![Value::text(&value)]]))
    }
}

fn parse_threads(text: &str) -> Result<usize> {
    match text.trim().parse::<usize>() {
        Ok(count @ 1..=1024) => Ok(count),
        _ => {
            let message = format!("invalid value for parameter \"threads\": \"{text}\"");
            let error = Error::new(SqlState::INVALID_PARAMETER, message);
            Err(error.with_hint("Give a number from 1 to 1024."))
        }
    }
}
