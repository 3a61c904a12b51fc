//! A queue of jobs in a table: workers take the most urgent that nobody else has taken.
//!
//! Source: the idiom of job queues on PostgreSQL since 9.5 (SKIP LOCKED): a partial index of what
//! is ready, a row locked past those that others hold. Half of the transactions add a job, half do
//! one.

use testkit::Random;

use super::client::{Client, Failure, Prepared};
use super::{Effect, Workload};

/// The workload.
pub(super) struct Queue {
    pub(super) jobs: i64,
}

impl Workload for Queue {
    fn name(&self) -> String {
        "queue".into()
    }

    fn fill(&self) -> Vec<String> {
        vec![
            "CREATE TABLE job (id bigserial PRIMARY KEY, priority int NOT NULL,
             state varchar(8) NOT NULL, runs int NOT NULL DEFAULT 0, payload text,
             created timestamptz NOT NULL DEFAULT now())"
                .into(),
            "CREATE INDEX job_ready ON job (priority, id) WHERE state = 'ready'".into(),
            format!(
                "INSERT INTO job (priority, state, payload) SELECT i % 10, 'ready', repeat('x', 100)
                 FROM generate_series(1, {}) AS g(i)",
                self.jobs
            ),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        vec![
            new("INSERT INTO job (priority, state, payload) VALUES ($1, 'ready', $2)", "ls"),
            new(
                "SELECT id, payload FROM job WHERE state = 'ready' ORDER BY priority, id LIMIT 1
                 FOR UPDATE SKIP LOCKED",
                "",
            ),
            new("UPDATE job SET state = 'done', runs = runs + 1 WHERE id = $1", "l"),
        ]
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let (adds, priority) = (random.chance(50), random.within(0..10));
        client.transaction(|client| {
            if adds {
                let payload = "x".repeat(100);
                client.execute(0, &[&priority, &payload])?;
                return Ok(Effect::first(1));
            }
            let found = client.query(1, &[])?;
            let Some(row) = found.first() else { return Ok(Effect::default()) };
            let id: i64 = row.try_get(0)?;
            client.execute(2, &[&id])?;
            Ok(Effect::second(1))
        })
    }

    fn invariants(&self, effects: Effect) -> Vec<(String, i64)> {
        vec![
            ("SELECT count(*) FROM job".into(), self.jobs + effects.first),
            ("SELECT count(*) FROM job WHERE state = 'done' AND runs = 1".into(), effects.second),
            ("SELECT coalesce(sum(runs), 0)::bigint FROM job".into(), effects.second),
        ]
    }
}
