//! TATP: subscribers of a telephone network.
//!
//! Source: Telecom Application Transaction Processing benchmark 1.0 (2009), sections 2 and 3: the
//! schema, the non-uniform choice of subscribers, the mix of seven transactions.

use testkit::Random;

use super::client::{Client, Failure, Prepared};
use super::{Effect, Workload};

/// The workload.
pub(super) struct Tatp {
    pub(super) subscribers: i64,
}

/// Spread of the non-uniform choice, up to a million subscribers.
const SPREAD: i64 = 65_535;

impl Tatp {
    fn subscriber(&self, random: &mut Random) -> i64 {
        let (a, b) = (random.within(0..SPREAD + 1), random.within(1..self.subscribers + 1));
        (a | b) % self.subscribers + 1
    }
}

/// The number by which a subscriber is called: 15 digits.
fn number_of(subscriber: i64) -> String {
    format!("{subscriber:015}")
}

impl Workload for Tatp {
    fn name(&self) -> String {
        "tatp".into()
    }

    fn fill(&self) -> Vec<String> {
        let n = self.subscribers;
        let bits: Vec<String> = (1..=10).map(|i| format!("bit_{i} smallint")).collect();
        let hex: Vec<String> = (1..=10).map(|i| format!("hex_{i} smallint")).collect();
        let bytes: Vec<String> = (1..=10).map(|i| format!("byte2_{i} smallint")).collect();
        let columns = [bits, hex, bytes].concat().join(", ");
        let value = |i: i64, most: i64| format!("(s * {} % {most})::smallint", 7919 + i * 104_729);
        let values: Vec<String> = (0..30)
            .map(|i| {
                value(
                    i,
                    if i < 10 {
                        2
                    } else if i < 20 {
                        16
                    } else {
                        256
                    },
                )
            })
            .collect();
        let values = values.join(", ");
        // A subscriber has one to four records of each kind.
        let some = |salt: i64| format!("f <= 1 + s * {salt} % 4");
        vec![
            format!(
                "CREATE TABLE subscriber (s_id int PRIMARY KEY, sub_nbr varchar(15) NOT NULL UNIQUE,
                 {columns}, msc_location int, vlr_location int)"
            ),
            "CREATE TABLE access_info (s_id int NOT NULL, ai_type smallint NOT NULL, data1 smallint,
             data2 smallint, data3 varchar(3), data4 varchar(5), PRIMARY KEY (s_id, ai_type))"
                .into(),
            "CREATE TABLE special_facility (s_id int NOT NULL, sf_type smallint NOT NULL,
             is_active smallint, error_cntrl smallint, data_a smallint, data_b varchar(5),
             PRIMARY KEY (s_id, sf_type))"
                .into(),
            "CREATE TABLE call_forwarding (s_id int NOT NULL, sf_type smallint NOT NULL,
             start_time smallint NOT NULL, end_time smallint, numberx varchar(15),
             PRIMARY KEY (s_id, sf_type, start_time))"
                .into(),
            format!(
                "INSERT INTO subscriber SELECT s::int, lpad(s::text, 15, '0'), {values},
                 (s * 31 % 1000000)::int, (s * 37 % 1000000)::int
                 FROM generate_series(1::bigint, {n}) AS g(s)"
            ),
            format!(
                "INSERT INTO access_info SELECT s::int, f::smallint, (s % 256)::smallint,
                 (s % 255)::smallint, 'abc', 'abcde' FROM generate_series(1::bigint, {n}) AS g(s),
                 generate_series(1, 4) AS h(f) WHERE {}",
                some(13)
            ),
            format!(
                "INSERT INTO special_facility SELECT s::int, f::smallint,
                 CASE WHEN (s + f) % 100 < 85 THEN 1 ELSE 0 END::smallint, (s % 256)::smallint,
                 (s % 255)::smallint, 'abcde' FROM generate_series(1::bigint, {n}) AS g(s),
                 generate_series(1, 4) AS h(f) WHERE {}",
                some(17)
            ),
            "INSERT INTO call_forwarding SELECT s_id, sf_type, t::smallint, (t + 8)::smallint,
             lpad(s_id::text, 15, '0') FROM special_facility, (VALUES (0), (8), (16)) AS v(t)
             WHERE (s_id::bigint * 19 + sf_type * 23 + t) % 4 < 2"
                .into(),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        vec![
            new("SELECT * FROM subscriber WHERE s_id = $1", "l"),
            new(
                "SELECT cf.numberx FROM special_facility AS sf, call_forwarding AS cf
                 WHERE sf.s_id = $1 AND sf.sf_type = $2 AND sf.is_active = 1 AND cf.s_id = sf.s_id
                 AND cf.sf_type = sf.sf_type AND cf.start_time <= $3 AND $4 < cf.end_time",
                "llll",
            ),
            new(
                "SELECT data1, data2, data3, data4 FROM access_info
                 WHERE s_id = $1 AND ai_type = $2",
                "ll",
            ),
            new("UPDATE subscriber SET bit_1 = $1 WHERE s_id = $2", "ll"),
            new("UPDATE special_facility SET data_a = $1 WHERE s_id = $2 AND sf_type = $3", "lll"),
            new("UPDATE subscriber SET vlr_location = $1 WHERE sub_nbr = $2", "ls"),
            new("SELECT s_id FROM subscriber WHERE sub_nbr = $1", "s"),
            new("SELECT sf_type FROM special_facility WHERE s_id = $1", "l"),
            new("INSERT INTO call_forwarding VALUES ($1, $2, $3, $4, $5)", "lllls"),
            new(
                "DELETE FROM call_forwarding WHERE s_id = $1 AND sf_type = $2 AND start_time = $3",
                "lll",
            ),
        ]
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let s = self.subscriber(random);
        let kind = random.within(1..5);
        let start = random.within(0..3) * 8;
        let end = random.within(1..25);
        let number = number_of(s);
        match random.below(100) {
            0..35 => drop(client.one(0, &[&s])?),
            35..45 => drop(client.query(1, &[&s, &kind, &start, &end])?),
            45..80 => drop(client.query(2, &[&s, &kind])?),
            80..82 => client
                .transaction(|client| {
                    client.execute(3, &[&(s % 2), &s])?;
                    client.execute(4, &[&(end % 256), &s, &kind])
                })
                .map(drop)?,
            82..96 => drop(client.execute(5, &[&random.within(0..1 << 30), &number])?),
            96..98 => {
                let done = client.transaction(|client| {
                    let found: i32 = client.one(6, &[&number])?.try_get(0)?;
                    client.query(7, &[&i64::from(found)])?;
                    client.execute(8, &[&i64::from(found), &kind, &start, &end, &number])
                });
                match done {
                    Ok(rows) => return Ok(Effect::first(rows as i64)),
                    // Three of ten are there already, as the definition has it.
                    Err(Failure::Exists) => client.roll_back()?,
                    Err(failure) => return Err(failure),
                }
            }
            _ => {
                let gone = client.transaction(|client| {
                    let found: i32 = client.one(6, &[&number])?.try_get(0)?;
                    client.execute(9, &[&i64::from(found), &kind, &start])
                })?;
                return Ok(Effect::first(-(gone as i64)));
            }
        }
        Ok(Effect::default())
    }

    fn invariants(&self, effects: Effect) -> Vec<(String, i64)> {
        let filled = "(SELECT count(*) FROM special_facility, (VALUES (0), (8), (16)) AS v(t)
             WHERE (s_id::bigint * 19 + sf_type * 23 + t) % 4 < 2)";
        vec![
            (format!("SELECT count(*) - {filled} FROM call_forwarding"), effects.first),
            ("SELECT count(*) FROM subscriber".into(), self.subscribers),
        ]
    }
}
