//! A batch of queries, prepared for evaluation: equal conjuncts of all of them are one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::aside::Ready;
use super::check::FieldCheck;
use super::rows::{Flow, ScanEnd, ScanRequest};
use super::total::Total;
use super::worker::Worker;
use crate::error::Result;
use crate::query::Output;
use crate::schema::Schema;

/// Result of a query.
pub(crate) enum Give {
    Fields { schema: Schema, fields: Vec<usize> },
    Totals(Vec<Total>),
}

/// A query of the batch.
pub(crate) struct Planned<'a> {
    pub request: ScanRequest<'a>,
    /// Numbers of its conjuncts.
    pub conjuncts: Vec<usize>,
    pub give: Give,
    /// Set when its sink wants no more.
    pub is_over: AtomicBool,
}

impl Planned<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn obey(&self, flow: Flow) {
        if flow == Flow::Stop {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// The batch.
pub(crate) struct Plan<'a> {
    pub schema: Arc<Schema>,
    /// Each is an OR; no two are equal.
    pub conjuncts: Vec<Vec<FieldCheck>>,
    pub queries: Vec<Planned<'a>>,
    /// Their code, which may come while the pass runs.
    pub code: Ready,
}

impl<'a> Plan<'a> {
    /// The plan of `requests`.
    ///
    /// # Errors
    /// [`crate::StoreError::InvalidScan`] when one does not fit the schema.
    pub(crate) fn new(schema: &Arc<Schema>, requests: &[ScanRequest<'a>]) -> Result<Self> {
        let mut plan = Self {
            schema: schema.clone(),
            conjuncts: Vec::new(),
            queries: Vec::new(),
            code: Ready::default(),
        };
        for request in requests {
            request.query.check(schema)?;
            let conjuncts = &request.query.selection.conjuncts;
            let conjuncts = conjuncts.iter().map(|conjunct| {
                let checks = conjunct.iter().map(FieldCheck::new).collect();
                plan.number_of(checks)
            });
            let conjuncts = conjuncts.collect();
            let give = match &request.query.output {
                Output::Aggregates(list) => {
                    Give::Totals(list.iter().map(|a| Total::new(*a, schema)).collect())
                }
                Output::Fields(fields) => Give::Fields {
                    schema: schema.project(fields).expect("the check found all fields"),
                    fields: fields.iter().map(|field| field.idx()).collect(),
                },
            };
            let is_over = AtomicBool::new(false);
            plan.queries.push(Planned { request: *request, conjuncts, give, is_over });
        }
        Ok(plan)
    }

    fn number_of(&mut self, checks: Vec<FieldCheck>) -> usize {
        self.conjuncts.iter().position(|known| *known == checks).unwrap_or_else(|| {
            self.conjuncts.push(checks);
            self.conjuncts.len() - 1
        })
    }

    /// The end of each query, of what all workers found.
    fn ends(&self, workers: Vec<Worker<'_, '_>>) -> Vec<ScanEnd> {
        let mut ends: Vec<(Vec<Total>, u64)> = self
            .queries
            .iter()
            .map(|query| match &query.give {
                Give::Totals(totals) => (totals.clone(), 0),
                Give::Fields { .. } => (Vec::new(), 0),
            })
            .collect();
        for worker in workers {
            for (end, found) in ends.iter_mut().zip(worker.into_found()) {
                end.0.iter_mut().zip(found.totals).for_each(|(total, more)| total.merge(more));
                end.1 += found.rows;
            }
        }
        let finished = self.queries.iter().zip(ends).map(|(query, (totals, rows))| ScanEnd {
            values: totals.iter().map(Total::value).collect(),
            rows,
            flow: if query.is_over() { Flow::Stop } else { Flow::Continue },
        });
        finished.collect()
    }
}

/// Runs `read` for each part, on `threads` threads of which the caller is one; whoever is free
/// takes the next part.
///
/// # Errors
/// The first error of a part; the others are not begun then.
pub(crate) fn run_parts<'p, 'a: 'p>(
    plan: &'p Plan<'a>,
    parts: usize,
    threads: usize,
    read: impl Fn(usize, &mut Worker<'p, 'a>) -> Result<()> + Sync,
) -> Result<Vec<ScanEnd>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut worker = Worker::new(plan);
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts || !worker.is_wanted() {
                break;
            }
            if let Err(error) = read(part, &mut worker) {
                next.store(parts, Ordering::Relaxed);
                return Err(error);
            }
        }
        worker.flush();
        Ok(worker)
    };
    let workers = thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads.clamp(1, parts.max(1))).map(|_| scope.spawn(work)).collect();
        let mut workers = vec![work()];
        for other in others {
            workers.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        workers.into_iter().collect::<Result<Vec<_>>>()
    })?;
    Ok(plan.ends(workers))
}
