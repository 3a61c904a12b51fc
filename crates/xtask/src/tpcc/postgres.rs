//! PostgreSQL as a system: a server of our own, a connection over its socket for each worker.
//!
//! Through SQL a transaction takes a round trip for each statement, BEGIN and COMMIT; natively it
//! is one call of a PL/pgSQL function (`functions.sql`), one round trip in all. Isolation is
//! REPEATABLE READ, PostgreSQL's snapshots, under which TPC-C is serializable.

use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Statement};
use testkit::postgres::Postgres;
use workloads::tpcc::driver::{System, Use};
use workloads::tpcc::postgres::{Connection, Copy, Value, failure};
use workloads::tpcc::{
    Delivery, Dialect, Failure, NewOrder, OrderStatus, Paid, Param, Payment, Placed, Scale,
    SqlTerminal, Status, StockLevel, Table, Terminal, Who, create_indexes, create_tables, populate,
};

use super::{Durability, Interface, Measured};

/// Everything in memory, no checkpoint for want of log space, the rest as installed.
const SETTINGS: &str = "
listen_addresses = ''
shared_buffers = 1GB
max_wal_size = 8GB
jit = off
default_transaction_isolation = 'repeatable read'
";

const FUNCTIONS: &str = include_str!("functions.sql");

/// Raised by `tpcc_new_order` for an unused item.
const UNUSED_ITEM: &str = "TP001";

/// A population in a server of our own.
pub(super) struct PostgresSystem {
    server: Postgres,
    durability: Durability,
    interface: Interface,
}

/// Makes the tables, fills them, makes their indexes.
pub(super) fn fill(client: &mut Client, scale: &Scale, seed: u64) -> Result<(), Failure> {
    for sql in create_tables(Dialect::Standard) {
        client.batch_execute(&sql).map_err(failure)?;
    }
    for table in Table::ALL {
        let mut rows = Copy::new(client, table);
        populate(table, scale, seed, 1..=scale.warehouses, &mut rows)?;
        rows.finish()?;
    }
    for sql in create_indexes() {
        client.batch_execute(&sql).map_err(failure)?;
    }
    Ok(())
}

impl PostgresSystem {
    /// Starts a server and fills a database.
    pub(super) fn create(
        durability: Durability,
        interface: Interface,
        scale: &Scale,
        seed: u64,
    ) -> Result<Self, Failure> {
        let commit = match durability {
            Durability::Sync => "on",
            Durability::Async => "off",
        };
        let settings = format!("{SETTINGS}synchronous_commit = {commit}\n");
        let server = Postgres::start_with(&settings).map_err(|e| Failure::Fatal(e.message))?;
        let system = Self { server, durability, interface };
        let mut client = system.connect()?;
        fill(&mut client, scale, seed)?;
        client.batch_execute(FUNCTIONS).map_err(failure)?;
        client.batch_execute("VACUUM ANALYZE").map_err(failure)?;
        client.batch_execute("CHECKPOINT").map_err(failure)?;
        Ok(system)
    }

    fn connect(&self) -> Result<Client, Failure> {
        let mut config = Config::new();
        config.host_path(self.server.folder()).user("postgres").dbname("postgres");
        config.connect(NoTls).map_err(failure)
    }
}

impl Measured for PostgresSystem {
    fn description(&self) -> String {
        let version = self.connect().and_then(|mut client| {
            let row = client.query_one("SHOW server_version", &[]).map_err(failure)?;
            Ok(row.get::<_, String>(0))
        });
        format!(
            "postgres {}, Unix socket, synchronous_commit {}, fsync on, shared_buffers 1GB, \
             max_wal_size 8GB, repeatable read, {}",
            version.unwrap_or_else(|failure| failure.to_string()),
            if self.durability == Durability::Sync { "on" } else { "off" },
            match self.interface {
                Interface::Native => "PL/pgSQL functions, one round trip a transaction",
                Interface::Sql => "prepared statements, one round trip each",
            }
        )
    }

    fn integer(&self, sql: &str) -> Result<i64, Failure> {
        Ok(self.connect()?.query_one(sql, &[]).map_err(failure)?.get(0))
    }
}

impl System for PostgresSystem {
    fn with_terminal(&self, _: usize, body: Use<'_>) -> Result<(), Failure> {
        let client = self.connect()?;
        match self.interface {
            Interface::Sql => body(&mut SqlTerminal::new(Connection::new(client))?),
            Interface::Native => body(&mut Functions::new(client)?),
        }
    }
}

/// A terminal that calls functions inside the server.
struct Functions {
    client: Client,
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
}

impl Functions {
    fn new(mut client: Client) -> Result<Self, Failure> {
        let mut prepare = |name: &str, count: usize| {
            let marks: Vec<String> = (1..=count).map(|i| format!("${i}")).collect();
            let sql = format!("SELECT * FROM tpcc_{name}({})", marks.join(", "));
            client.prepare(&sql).map_err(failure)
        };
        Ok(Self {
            new_order: prepare("new_order", 8)?,
            payment: prepare("payment", 8)?,
            order_status: prepare("order_status", 4)?,
            delivery: prepare("delivery", 3)?,
            stock_level: prepare("stock_level", 3)?,
            client,
        })
    }
}

/// The number and the name a customer is known by; one of them is empty.
fn known_by(who: &Who) -> (i32, &str) {
    match who {
        Who::Id(id) => (*id, ""),
        Who::Last(name) => (0, name.as_str()),
    }
}

impl Terminal for Functions {
    fn new_order(&mut self, input: &NewOrder) -> Result<Option<Placed>, Failure> {
        let column = |value: fn(&workloads::tpcc::Line) -> i32| -> Vec<i32> {
            input.lines().iter().map(value).collect()
        };
        let (items, supplies) = (column(|line| line.item), column(|line| line.supply));
        let (quantities, time) = (column(|line| line.quantity), Value(Param::Time(input.time)));
        let all_local = i32::from(input.all_local());
        let found = self.client.query_one(
            &self.new_order,
            &[
                &input.warehouse,
                &input.district,
                &input.customer,
                &time,
                &all_local,
                &items,
                &supplies,
                &quantities,
            ],
        );
        match found {
            Ok(row) => {
                Ok(Some(Placed { order: row.get(0), total: row.get(1), branded: row.get(2) }))
            }
            Err(error) if error.code().is_some_and(|code| code.code() == UNUSED_ITEM) => Ok(None),
            Err(error) => Err(failure(error)),
        }
    }

    fn payment(&mut self, input: &Payment) -> Result<Paid, Failure> {
        let (id, name) = known_by(&input.customer);
        let amount = Value(Param::Decimal(input.amount, 2));
        let time = Value(Param::Time(input.time));
        let params: [&(dyn ToSql + Sync); 8] = [
            &input.warehouse,
            &input.district,
            &input.customer_warehouse,
            &input.customer_district,
            &id,
            &name,
            &amount,
            &time,
        ];
        let row = self.client.query_one(&self.payment, &params).map_err(failure)?;
        Ok(Paid { customer: row.get(0), balance: row.get(1) })
    }

    fn order_status(&mut self, input: &OrderStatus) -> Result<Status, Failure> {
        let (id, name) = known_by(&input.customer);
        let params: [&(dyn ToSql + Sync); 4] = [&input.warehouse, &input.district, &id, &name];
        let row = self.client.query_one(&self.order_status, &params).map_err(failure)?;
        Ok(Status {
            customer: row.get(0),
            balance: row.get(1),
            order: row.get(2),
            carrier: row.get(3),
            lines: row.get(4),
            amount: row.get(5),
        })
    }

    fn delivery(&mut self, input: &Delivery) -> Result<i32, Failure> {
        let time = Value(Param::Time(input.time));
        let params: [&(dyn ToSql + Sync); 3] = [&input.warehouse, &input.carrier, &time];
        Ok(self.client.query_one(&self.delivery, &params).map_err(failure)?.get(0))
    }

    fn stock_level(&mut self, input: &StockLevel) -> Result<i32, Failure> {
        let params: [&(dyn ToSql + Sync); 3] =
            [&input.warehouse, &input.district, &input.threshold];
        Ok(self.client.query_one(&self.stock_level, &params).map_err(failure)?.get(0))
    }
}

#[cfg(test)]
mod tests;
