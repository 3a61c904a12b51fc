//! SmallBank: two accounts for each customer.
//!
//! Source: Alomari, Cahill, Fekete, Röhm 2008, "The Cost of Serializability on Platforms That Use
//! Snapshot Isolation", section 3: five transactions, equally often; nine of ten customers are from
//! a hotspot of 1,000. Departure: amounts are whole, so that sums of doubles are exact.

use testkit::Random;

use super::client::{Client, Failure, Prepared};
use super::{Effect, Workload};

/// The workload.
pub(super) struct SmallBank {
    pub(super) customers: i64,
}

const HOTSPOT: i64 = 1_000;

impl SmallBank {
    fn customer(&self, random: &mut Random) -> String {
        let all = self.customers;
        let id = if random.chance(90) {
            random.within(0..HOTSPOT.min(all))
        } else {
            random.within(0..all)
        };
        name_of(id)
    }

    /// A customer's number, by name.
    fn number(client: &mut Client, name: &str) -> Result<i64, Failure> {
        Ok(client.one(0, &[&name])?.try_get(0)?)
    }
}

fn name_of(id: i64) -> String {
    format!("customer {id:08}")
}

fn balance(client: &mut Client, statement: usize, id: i64) -> Result<f64, Failure> {
    Ok(client.one(statement, &[&id])?.try_get(0)?)
}

impl Workload for SmallBank {
    fn name(&self) -> String {
        "smallbank".into()
    }

    fn fill(&self) -> Vec<String> {
        let n = self.customers;
        let rows = format!("FROM generate_series(0::bigint, {n} - 1) AS g(i)");
        vec![
            "CREATE TABLE account (custid bigint PRIMARY KEY, name varchar(64) NOT NULL UNIQUE)"
                .into(),
            "CREATE TABLE savings (custid bigint PRIMARY KEY, bal float8 NOT NULL)".into(),
            "CREATE TABLE checking (custid bigint PRIMARY KEY, bal float8 NOT NULL)".into(),
            format!("INSERT INTO account SELECT i, 'customer ' || lpad(i::text, 8, '0') {rows}"),
            format!("INSERT INTO savings SELECT i, 10000 + i % 40000 {rows}"),
            format!("INSERT INTO checking SELECT i, 10000 + i % 30000 {rows}"),
        ]
    }

    fn statements(&self) -> Vec<Prepared> {
        let new = Prepared::new;
        vec![
            new("SELECT custid FROM account WHERE name = $1", "s"),
            new("SELECT bal FROM savings WHERE custid = $1", "l"),
            new("SELECT bal FROM checking WHERE custid = $1", "l"),
            new("UPDATE savings SET bal = bal + $1 WHERE custid = $2", "dl"),
            new("UPDATE checking SET bal = bal + $1 WHERE custid = $2", "dl"),
            new("UPDATE savings SET bal = 0 WHERE custid = $1", "l"),
            new("UPDATE checking SET bal = 0 WHERE custid = $1", "l"),
        ]
    }

    fn transact(&self, client: &mut Client, random: &mut Random) -> Result<Effect, Failure> {
        let name = self.customer(random);
        let mut other = self.customer(random);
        while other == name {
            other = self.customer(random);
        }
        let amount = random.within(1..100);
        let value = amount as f64;
        let kind = random.below(5);
        client.transaction(|client| {
            let id = Self::number(client, &name)?;
            match kind {
                0 => {
                    balance(client, 1, id)?;
                    balance(client, 2, id)?;
                    Ok(Effect::default())
                }
                1 => {
                    client.execute(4, &[&value, &id])?;
                    Ok(Effect::first(amount))
                }
                2 => {
                    // Of a withdrawal nothing happens where too little is there.
                    if balance(client, 1, id)? < value {
                        return Ok(Effect::default());
                    }
                    client.execute(3, &[&-value, &id])?;
                    Ok(Effect::first(-amount))
                }
                3 => {
                    let to = Self::number(client, &other)?;
                    let all = balance(client, 1, id)? + balance(client, 2, id)?;
                    client.execute(5, &[&id])?;
                    client.execute(6, &[&id])?;
                    client.execute(4, &[&all, &to])?;
                    Ok(Effect::default())
                }
                _ => {
                    let all = balance(client, 1, id)? + balance(client, 2, id)?;
                    let fee = i64::from(all < value);
                    client.execute(4, &[&-(value + fee as f64), &id])?;
                    Ok(Effect::first(-(amount + fee)))
                }
            }
        })
    }

    fn invariants(&self, effects: Effect) -> Vec<(String, i64)> {
        let sum = (0..self.customers).map(|i| 20_000 + i % 40_000 + i % 30_000).sum::<i64>();
        let all =
            "SELECT ((SELECT sum(bal) FROM savings) + (SELECT sum(bal) FROM checking))::bigint";
        vec![(all.into(), sum + effects.first)]
    }
}
