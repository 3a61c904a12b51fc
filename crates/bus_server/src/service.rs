//! A bus as others may call it: limits, calls that come twice, counts. Knows no network, so that a
//! simulation can be one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bus::{Bus, Interrupt};
use host::Clock;

use crate::call::{Call, Failure, Receive, Reply, Retry};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::requests::{Moment, Requests};

type Health = Box<dyn Fn() -> bus::Result<()> + Send + Sync>;

/// A bus behind a server.
pub struct Service {
    bus: Arc<dyn Bus>,
    clock: Arc<dyn Clock>,
    health: Health,
    run: u64,
    limits: Limits,
    requests: Arc<Requests>,
    pub(crate) metrics: Metrics,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("bus", &self.bus).field("run", &self.run).finish()
    }
}

impl Service {
    /// A service over `bus`. `run` is a number that no other start of the server has; not 0.
    pub fn new(bus: Arc<dyn Bus>, clock: Arc<dyn Clock>, run: u64, limits: Limits) -> Self {
        Self {
            bus,
            clock,
            health: Box::new(|| Ok(())),
            run: run.max(1),
            limits,
            requests: Arc::default(),
            metrics: Metrics::default(),
        }
    }

    /// The same service, whose health is what `health` says.
    #[must_use]
    pub fn with_health(
        mut self,
        health: impl Fn() -> bus::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.health = Box::new(health);
        self
    }

    /// The run of the server.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Says whether the bus works.
    ///
    /// # Errors
    /// Why it does not.
    pub fn health(&self) -> bus::Result<()> {
        (self.health)()
    }

    /// Carries out a call, once if `retry` names it. May wait for messages until `interrupt` is
    /// triggered.
    ///
    /// # Errors
    /// Each of [`Failure`] but [`Failure::Unauthenticated`] and [`Failure::Lost`].
    pub fn call(
        &self,
        call: Call,
        retry: Option<&Retry>,
        interrupt: Option<&Interrupt>,
    ) -> Result<Reply, Failure> {
        let begin = Instant::now();
        let call = self.within_limits(call)?;
        let outcome = match retry {
            Some(retry) if call.needs_retry() => self.once(&call, retry, interrupt),
            _ => call.perform(&*self.bus, interrupt).map_err(Failure::Bus),
        };
        self.metrics.count(&call, &outcome, begin.elapsed());
        outcome
    }

    fn once(
        &self,
        call: &Call,
        retry: &Retry,
        interrupt: Option<&Interrupt>,
    ) -> Result<Reply, Failure> {
        if retry.run != self.run {
            return Err(Failure::OtherRun);
        }
        if retry.number == 0 || retry.answered_below > retry.number {
            let message = format!(
                "call {} of a caller that has the answers below {}",
                retry.number, retry.answered_below
            );
            return Err(Failure::Malformed(message));
        }
        let moment = Moment { now: self.clock.micros(), limits: &self.limits };
        let mut is_new = false;
        let outcome = self.requests.once(retry, moment, interrupt, || {
            is_new = true;
            call.perform(&*self.bus, interrupt)
        });
        if outcome.is_ok() && !is_new {
            self.metrics.repeated.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    fn within_limits(&self, mut call: Call) -> Result<Call, Failure> {
        let most = self.limits.batch;
        let (count, what) = match &mut call {
            Call::Send(send) => (send.named.as_ref().map_or(0, Vec::len), "receivers"),
            Call::Delete(_, keys) => (keys.len(), "keys"),
            Call::Cancel(_, tokens, _) => (tokens.len(), "tokens"),
            Call::Receive(Receive { limit, .. }) => {
                *limit = (*limit).min(most);
                return Ok(call);
            }
            _ => return Ok(call),
        };
        if count > most {
            return Err(Failure::TooLarge(format!("{count} {what}, {most} are allowed")));
        }
        Ok(call)
    }
}
