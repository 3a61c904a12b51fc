//! Voter: votes by telephone, each caller a few of them.
//!
//! Source: the Voter benchmark of VoltDB, as in Difallah et al. 2013, "OLTP-Bench", appendix: one
//! transaction of three reads and a write.

use testkit::Random;

use super::client::{Client, Failure, Prepared};
use super::{Effect, Workload};

/// The workload.
pub(super) struct Voter;

const CONTESTANTS: i64 = 6;
const VOTES_MAX: i64 = 10;
/// Area codes of the United States.
const AREA_CODES: i64 = 300;

impl Workload for Voter {
    fn name(&self) -> String {
        "voter".into()
    }

    fn fill(&self) -> Vec<String> {
        vec![
            "CREATE TABLE contestants (contestant_number int PRIMARY KEY,
             contestant_name varchar(50) NOT NULL)"
                .into(),
            "CREATE TABLE area_code_state (area_code smallint PRIMARY KEY,
             state varchar(2) NOT NULL)"
                .into(),
            "CREATE TABLE votes (vote_id bigint NOT NULL, phone_number bigint NOT NULL,
             state varchar(2) NOT NULL, contestant_number int NOT NULL REFERENCES contestants,
             created timestamp NOT NULL)"
                .into(),
            "CREATE INDEX idx_votes_phone ON votes (phone_number)".into(),
            format!(
                "INSERT INTO contestants SELECT i, 'contestant ' || i
                 FROM generate_series(1, {CONTESTANTS}) AS g(i)"
            ),
            format!(
                "INSERT INTO area_code_state SELECT (200 + i)::smallint,
                 chr(65 + i % 26) || chr(65 + i / 26)
                 FROM generate_series(0, {AREA_CODES} - 1) AS g(i)"
            ),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        vec![
            new("SELECT contestant_number FROM contestants WHERE contestant_number = $1", "l"),
            new("SELECT count(*) FROM votes WHERE phone_number = $1", "l"),
            new("SELECT state FROM area_code_state WHERE area_code = $1", "l"),
            new(
                "INSERT INTO votes (vote_id, phone_number, state, contestant_number, created)
                 VALUES ($1, $2, $3, $4, localtimestamp)",
                "llsl",
            ),
        ]
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let area = 200 + random.within(0..AREA_CODES);
        let phone = area * 10_000_000 + random.within(0..10_000_000);
        // One of 100 callers names nobody who stands.
        let contestant = random.within(1..CONTESTANTS + 1) + i64::from(random.chance(1)) * 1000;
        let id = random.bits() as i64 >> 1;
        client.transaction(|client| {
            if client.query(0, &[&contestant])?.is_empty() {
                return Ok(Effect::default());
            }
            let votes: i64 = client.one(1, &[&phone])?.try_get(0)?;
            if votes >= VOTES_MAX {
                return Ok(Effect::default());
            }
            let state: String = client.one(2, &[&area])?.try_get(0)?;
            client.execute(3, &[&id, &phone, &state, &contestant])?;
            Ok(Effect::first(1))
        })
    }

    fn invariants(&self, effects: Effect) -> Vec<(String, i64)> {
        vec![
            ("SELECT count(*) FROM votes".into(), effects.first),
            (
                "SELECT count(*) FROM votes AS v JOIN area_code_state AS a
                 ON a.area_code = v.phone_number / 10000000 AND a.state = v.state"
                    .into(),
                effects.first,
            ),
        ]
    }
}
