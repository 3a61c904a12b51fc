//! Epinions-like: people who review things and trust each other.
//!
//! Source: Massa and Avesani 2005 (the data), Difallah et al. 2013, "OLTP-Bench", appendix: nine
//! transactions, of which four join or aggregate and four write.

use testkit::Random;

use super::client::{Client, Failure, Prepared};
use super::{Effect, Workload};

/// The workload.
pub(super) struct Epinions {
    pub(super) users: i64,
    pub(super) items: i64,
}

/// Reviews that an item has, and people that each trusts.
const REVIEWS: i64 = 50;
const TRUSTED: i64 = 20;

impl Workload for Epinions {
    fn name(&self) -> String {
        "epinions".into()
    }

    fn fill(&self) -> Vec<String> {
        let (users, items) = (self.users, self.items);
        let series =
            |n: i64, name: &str| format!("generate_series(0, {n} - 1) AS {name}_s({name})");
        vec![
            "CREATE TABLE useracct (u_id int PRIMARY KEY, name varchar(128), email varchar(128))"
                .into(),
            "CREATE TABLE item (i_id int PRIMARY KEY, title varchar(128), description varchar(512))"
                .into(),
            "CREATE TABLE review (a_id int PRIMARY KEY, u_id int NOT NULL REFERENCES useracct,
             i_id int NOT NULL REFERENCES item, rating int, rank int)"
                .into(),
            "CREATE TABLE trust (source_u_id int NOT NULL REFERENCES useracct,
             target_u_id int NOT NULL REFERENCES useracct, trust int NOT NULL,
             creation_date timestamp)"
                .into(),
            format!(
                "INSERT INTO useracct SELECT u, 'name ' || u, 'mail ' || u FROM {}",
                series(users, "u")
            ),
            format!(
                "INSERT INTO item SELECT i, 'title ' || i, repeat('words ', 40) FROM {}",
                series(items, "i")
            ),
            format!(
                "INSERT INTO review SELECT i * {REVIEWS} + r, (i * 37 + r * 101) % {users}, i,
                 (i + r) % 5, r FROM {}, {}",
                series(items, "i"),
                series(REVIEWS, "r")
            ),
            format!(
                "INSERT INTO trust SELECT u, (u * 41 + t * 211) % {users}, (u + t) % 2,
                 timestamp '2020-01-01' FROM {}, {}",
                series(users, "u"),
                series(TRUSTED, "t")
            ),
            "CREATE INDEX review_user ON review (u_id)".into(),
            "CREATE INDEX review_item ON review (i_id)".into(),
            "CREATE INDEX trust_source ON trust (source_u_id)".into(),
            "CREATE INDEX trust_target ON trust (target_u_id)".into(),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        vec![
            new(
                "SELECT * FROM review r, item i WHERE i.i_id = r.i_id AND r.i_id = $1
                 ORDER BY rating LIMIT 10",
                "l",
            ),
            new(
                "SELECT * FROM review r, useracct u WHERE u.u_id = r.u_id AND r.u_id = $1
                 ORDER BY rating LIMIT 10",
                "l",
            ),
            new(
                "SELECT avg(rating) FROM review r, trust t WHERE r.u_id = t.target_u_id
                 AND r.i_id = $1 AND t.source_u_id = $2",
                "ll",
            ),
            new("SELECT avg(rating) FROM review r WHERE r.i_id = $1", "l"),
            new("SELECT * FROM review r WHERE r.i_id = $1", "l"),
            new("SELECT * FROM trust t WHERE t.source_u_id = $1", "l"),
            new("UPDATE useracct SET name = $1 WHERE u_id = $2", "sl"),
            new("UPDATE item SET title = $1 WHERE i_id = $2", "sl"),
            new("UPDATE review SET rating = $1 WHERE i_id = $2 AND u_id = $3", "lll"),
            new("UPDATE trust SET trust = $1 WHERE source_u_id = $2 AND target_u_id = $3", "lll"),
        ]
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let (user, item) = (random.within(0..self.users), random.within(0..self.items));
        let (other, text) = (random.within(0..self.users), format!("new {}", random.below(1000)));
        match random.below(100) {
            0..10 => drop(client.query(0, &[&item])?),
            10..20 => drop(client.query(1, &[&user])?),
            20..30 => drop(client.query(2, &[&item, &user])?),
            30..40 => drop(client.query(3, &[&item])?),
            40..50 => client
                .transaction(|client| {
                    client.query(4, &[&item])?;
                    client.query(5, &[&user])
                })
                .map(drop)?,
            50..60 => drop(client.execute(6, &[&text, &user])?),
            60..70 => drop(client.execute(7, &[&text, &item])?),
            70..90 => drop(client.execute(8, &[&random.within(0..5), &item, &user])?),
            _ => drop(client.execute(9, &[&random.within(0..2), &user, &other])?),
        }
        Ok(Effect::default())
    }

    fn invariants(&self, _: Effect) -> Vec<(String, i64)> {
        let reviews =
            "SELECT count(*) FROM review JOIN useracct USING (u_id) JOIN item USING (i_id)
             WHERE rating BETWEEN 0 AND 4";
        vec![
            (reviews.into(), self.items * REVIEWS),
            ("SELECT count(*) FROM trust WHERE trust IN (0, 1)".into(), self.users * TRUSTED),
        ]
    }
}
