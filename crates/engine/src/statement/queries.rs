//! How queries of a session are planned and run.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use catalog::locks::LockMode;
use catalog::who::Who;
use catalog::wide::WideReader;
use exec::{Profile, QueryContext, ResultSet, SpillSpace};
use parking_lot::Mutex;
use plan::physical::PhysicalPlan;
use plan::{PathsTold, PlanOptions};
use sched::Ticket;
use sql::algebra::Query;
use sql::catalog::{Sequences, SequencesRef};
use txn::manager::Isolation;
use types::{Error, Result, SqlState};

use crate::Session;
use crate::session::compiled::{Compiled, PartQuery, Reliance};
use crate::statement::admission::Rows;
use crate::statement::identity::TransactionIdentity;
use crate::statement::running::{Purpose, Run, Running};
use crate::statement::sequence::{AttachedNames, SessionSequences};
use crate::statement::statistics::StoredStatistics;
use crate::transaction::work::{Begun, Work, lost_update, stale};
use crate::words::cancel::RunningQuery;

impl Session {
    /// Keeps the tables of a query as they are until the transaction ends.
    ///
    /// # Errors
    /// [`stale`] after waiting for somebody who changed one of them; 40001 when one was stored anew
    /// after the transaction's snapshot; 40P01, 55P03, 57014 from waiting.
    fn read_tables(&mut self, tables: &[Reliance]) -> Result<()> {
        for Reliance { table, lock, .. } in tables {
            if let Some(lock) = lock
                && !self.work_mut().try_read(lock)
            {
                let (work, cancel) = self.work_and_cancel();
                if work.lock(lock, LockMode::AccessShare, cancel)? {
                    return Err(stale());
                }
            }
            let work = self.work();
            if !work.txn.snapshot().sees_commit(table.replaced_at()) {
                let is_new_each_time = work.begun == Begun::ForOneStatement
                    || work.statements == 0
                    || work.txn.isolation() == Isolation::ReadCommitted;
                if !is_new_each_time {
                    return Err(lost_update());
                }
                // Its commit is about to be seen.
                std::thread::yield_now();
                return Err(stale());
            }
        }
        Ok(())
    }

    /// The next value of a sequence of the database itself, called by its key in the catalog: asks
    /// for no rights, and lastval does not know of it.
    ///
    /// # Errors
    /// Errors of nextval.
    pub(crate) fn own_value(&self, key: &str) -> Result<i64> {
        let own = SessionSequences {
            memory: Arc::default(),
            who: Who::All,
            ..self.sequences_of(self.work())
        };
        let mut value = [0];
        own.next(key, &mut value)?;
        Ok(value[0])
    }

    fn sequences_of(&self, work: &Work) -> SessionSequences {
        SessionSequences {
            state: self.state(),
            memory: Arc::clone(&self.sequences),
            used: Arc::clone(work.sequences.get_or_init(Arc::default)),
            access: work.access,
            who: self.who(),
            calls: Arc::clone(&self.calls),
            identity: TransactionIdentity {
                number: work.number.cell().clone(),
                snapshot: OnceLock::new(),
                base: work.txn.snapshot().base(),
                has_written: work.txn.changes().is_some() || work.has_changed_catalog(),
            },
            lent: Arc::clone(&self.lent),
            attached: self.attached_names(work),
        }
    }

    fn attached_names(&self, work: &Work) -> Option<AttachedNames> {
        let attachment = Arc::clone(self.database().registry().attachment()?);
        let transaction = Mutex::new(work.attached.lock().clone());
        Some(AttachedNames { attachment, transaction, described: Mutex::default() })
    }

    /// The next value of the sequence called `name`, quoted where SQL needs it.
    ///
    /// # Errors
    /// Errors of nextval.
    pub(crate) fn next_value(&self, name: &str) -> Result<i64> {
        let mut value = [0];
        self.sequences_of(self.work()).next(name, &mut value)?;
        Ok(value[0])
    }

    /// Where queries of this session put what does not fit in memory.
    fn spill_space(&self) -> SpillSpace {
        let mut space = self.inner().spill.clone();
        if let Some(directory) = self.settings.changed("temp_directory").filter(|d| !d.is_empty()) {
            space.directory = directory.into();
        }
        space.work_bytes = self.settings.work_bytes();
        space
    }

    /// No query runs any more.
    pub(crate) fn end_progress(&self) {
        *self.info().progress.0.lock() = None;
    }
}

impl Running<'_> {
    /// The physical plan of `query` and a context to run it in.
    pub(crate) fn plan_query(
        &mut self,
        query: &Query,
        run: Run,
    ) -> Result<(Arc<PhysicalPlan>, Arc<QueryContext>)> {
        let begin = self.explaining.as_ref().map(|_| Instant::now());
        let is_kept = |_: &(&Arc<Compiled>, PartQuery)| self.paths_told == PathsTold::Chosen;
        let own = run.own.map(|query| PartQuery { part: self.part, query });
        let kept = self.compiled.as_ref().zip(own).filter(is_kept);
        let known = kept.and_then(|(compiled, own)| compiled.plan(own));
        let is_own = run.at.is_none() && run.recheck.is_none();
        let purpose = run.purpose;
        let (plan, relies_on) = match known {
            Some(known) => known,
            None => {
                let reader =
                    if is_own { self.session.wide_reader() } else { WideReader::default() };
                let statistics = StoredStatistics::with_wide(self.session.state(), reader);
                let options = PlanOptions {
                    paths_told: self.paths_told,
                    ..self.session.settings.plan_options()
                };
                let plan = Arc::new(plan::plan(query, &statistics, &options)?);
                let relies_on: Arc<[Reliance]> = statistics.asked().into();
                if let Some((compiled, own)) = kept {
                    compiled.keep(own, &plan, &relies_on);
                }
                (plan, relies_on)
            }
        };
        let mut unfilled = relies_on.iter().filter_map(|of| of.unfilled.as_ref());
        if let (Purpose::Rows, Some(name)) = (purpose, unfilled.next()) {
            let message = format!("materialized view \"{name}\" has not been populated");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .with_hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        if is_own {
            self.session.read_tables(&relies_on)?;
        }
        self.session.work_mut().statements += 1;
        if plan.calls_routines {
            self.open = relies_on.iter().map(|of| of.table.id()).collect();
        }
        if plan.calls_routines && self.view.is_none() {
            // What they write is not for the query that calls them.
            self.view = Some(self.session.work_mut().txn.begin_statement()?);
        }
        let planning = begin.map(|begin| begin.elapsed());
        let context = self.context(Some(&plan), run);
        if let (Some(explaining), Some(planning)) = (&mut self.explaining, planning) {
            explaining.note(&plan, &context, planning);
        }
        Ok((plan, context))
    }

    /// A context to run `plan` in, or rows that come without one.
    pub(crate) fn context(&self, plan: Option<&Arc<PhysicalPlan>>, run: Run) -> Arc<QueryContext> {
        let operator_count = plan.map_or(0, |plan| plan.operator_count);
        let inner = self.session.inner();
        let scheduler = Arc::clone(&inner.scheduler);
        let info = self.session.info();
        let ticket = Ticket::of(self.session.settings.priority(), info.id, &info.suspension);
        let pool = Arc::clone(&inner.pool);
        let mut context = QueryContext::new(pool, scheduler, ticket, operator_count);
        context.cancel = Arc::clone(&self.session.cancel_handle().0);
        context.spill = Some(self.session.spill_space());
        context.switches = self.session.settings.plan_options().switches;
        context.block_paths = self.session.settings.block_paths();
        context.is_serial = plan.is_some_and(|plan| plan.calls_routines);
        context.profile = if self.explaining.is_some() { Profile::On } else { Profile::Off };
        context.inputs = match &self.parts {
            Some(parts) => parts.inputs(run.inputs),
            None => run.inputs,
        };
        context.recheck = run.recheck;
        context.parameters.clone_from(&self.parameters);
        if let Some(work) = &self.session.work {
            context.at = run.at.or(self.view).unwrap_or_else(|| work.txn.snapshot());
            if work.txn.isolation() == Isolation::Serializable {
                context.reads = Some(Arc::clone(work.read_log.get_or_init(Arc::default)));
            }
            self.session.calls.begin(&self.session.settings);
            context.sequences = Some(SequencesRef(Arc::new(self.session.sequences_of(work))));
        }
        *self.session.info().progress.0.lock() = Some(RunningQuery {
            plan: plan.cloned(),
            progress: Arc::clone(&context.progress),
            ticket: Arc::clone(&context.ticket),
        });
        Arc::new(context)
    }

    /// Runs a query in the transaction.
    pub(crate) fn run_query(&mut self, query: &Query, run: Run) -> Result<ResultSet> {
        let (plan, context) = self.plan_query(query, run)?;
        self.admit(&plan, &context, Rows::Kept)?;
        let result = self.execute(&plan, &context);
        self.session.end_progress();
        result
    }

    /// Runs a plan; the routines that it calls find the session.
    pub(crate) fn execute(
        &mut self,
        plan: &PhysicalPlan,
        context: &Arc<QueryContext>,
    ) -> Result<ResultSet> {
        let outer = self.session.in_use.len();
        self.session.in_use.append(&mut self.open);
        let result = self.session.lend(plan, || exec::execute(plan, context));
        self.session.in_use.truncate(outer);
        result
    }
}
