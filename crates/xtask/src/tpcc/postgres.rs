//! PostgreSQL as a system: a server of our own, a connection over its socket for each worker.
//!
//! Through SQL a transaction takes a round trip for each statement, BEGIN and COMMIT; natively it
//! is one call of a PL/pgSQL function (`functions.sql`), one round trip in all. Isolation is
//! REPEATABLE READ, PostgreSQL's snapshots, under which TPC-C is serializable.

use std::error::Error;
use std::io::Write;

use bytes::{BufMut, BytesMut};
use postgres::error::SqlState;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, CopyInWriter, NoTls, Statement};
use testkit::postgres::Postgres;
use workloads::tpcc::driver::{System, Use};
use workloads::tpcc::{
    Access, Decimal, Delivery, Dialect, Failure, NewOrder, OrderStatus, Paid, Param, Payment,
    Placed, RowSink, Rows, Scale, SqlConnection, SqlTerminal, StatementId, Status, StockLevel,
    Table, Terminal, Time, Who, create_indexes, create_tables, populate,
};

use super::{Durability, Interface, Measured, numeric};

/// Everything in memory, no checkpoint for want of log space, the rest as installed.
const SETTINGS: &str = "
listen_addresses = ''
shared_buffers = 1GB
max_wal_size = 8GB
jit = off
default_transaction_isolation = 'repeatable read'
";

const FUNCTIONS: &str = include_str!("functions.sql");

/// Bytes of COPY sent at a time.
const COPY_BYTES: usize = 1 << 16;

/// Microseconds from 1970 to 2000, where PostgreSQL's times begin.
const EPOCH: i64 = 946_684_800_000_000;

/// Raised by `tpcc_new_order` for an unused item.
const UNUSED_ITEM: &str = "TP001";

/// A population in a server of our own.
pub(super) struct PostgresSystem {
    server: Postgres,
    durability: Durability,
    interface: Interface,
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
        for sql in create_tables(Dialect::Standard) {
            client.batch_execute(&sql).map_err(failure)?;
        }
        for table in Table::ALL {
            let copy = format!("COPY {} FROM STDIN", table.name());
            let writer = client.copy_in(&copy).map_err(failure)?;
            let mut sink = Copy { writer, line: String::new() };
            populate(table, scale, seed, 1..=scale.warehouses, &mut sink)?;
            sink.finish()?;
        }
        for sql in create_indexes() {
            client.batch_execute(&sql).map_err(failure)?;
        }
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
            Interface::Sql => {
                let connection = Connection { client, statements: Vec::new() };
                body(&mut SqlTerminal::new(connection)?)
            }
            Interface::Native => body(&mut Functions::new(client)?),
        }
    }
}

fn failure(error: postgres::Error) -> Failure {
    let lost = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    let message = match error.as_db_error() {
        Some(server) => format!("{}: {}", server.code().code(), server.message()),
        None => error.to_string(),
    };
    match error.code() {
        Some(code) if lost.contains(code) => Failure::Retry(message),
        _ => Failure::Fatal(message),
    }
}

/// A connection with its prepared statements.
struct Connection {
    client: Client,
    statements: Vec<Statement>,
}

impl SqlConnection for Connection {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, Failure> {
        self.statements.push(self.client.prepare(sql).map_err(failure)?);
        Ok(StatementId(self.statements.len() - 1))
    }

    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        let begin = match access {
            Access::ReadOnly => "BEGIN READ ONLY",
            Access::ReadWrite => "BEGIN",
        };
        self.client.batch_execute(begin).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.client.batch_execute("COMMIT").map_err(failure)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.client.batch_execute("ROLLBACK").map_err(failure)
    }

    fn execute(&mut self, id: StatementId, params: &[Param<'_>]) -> Result<(), Failure> {
        with_params(params, |params| {
            self.client.execute(&self.statements[id.0], params).map(|_| ()).map_err(failure)
        })
    }

    fn query(
        &mut self,
        id: StatementId,
        params: &[Param<'_>],
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        let statement = &self.statements[id.0];
        let found =
            with_params(params, |params| self.client.query(statement, params).map_err(failure))?;
        let columns = statement.columns().len();
        rows.reset(columns);
        for row in &found {
            for column in 0..columns {
                match row.try_get(column).map_err(failure)? {
                    Cell::Null => rows.push_null(),
                    Cell::Number(value) => rows.push_integer(value),
                    Cell::Text(text) => rows.push_text(text),
                }
            }
        }
        Ok(())
    }
}

/// Calls `run` with the parameters as the driver wants them.
fn with_params<T>(params: &[Param<'_>], run: impl FnOnce(&[&(dyn ToSql + Sync)]) -> T) -> T {
    let values: Vec<Value<'_>> = params.iter().map(|param| Value(*param)).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    run(&values)
}

/// A parameter in the binary form of its statement's type.
#[derive(Debug)]
struct Value<'a>(Param<'a>);

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + std::marker::Sync + Send>> {
        match (self.0, ty) {
            (Param::Null, _) => return Ok(IsNull::Yes),
            (Param::Integer(value), &Type::INT4) => out.put_i32(i32::try_from(value)?),
            (Param::Integer(value), &Type::INT8) => out.put_i64(value),
            (Param::Integer(value), &Type::NUMERIC) => numeric::encode(value, 0, out),
            (Param::Decimal(scaled, scale), &Type::NUMERIC) => numeric::encode(scaled, scale, out),
            (Param::Time(micros), &Type::TIMESTAMP) => out.put_i64(micros - EPOCH),
            (Param::Text(text), &Type::TEXT | &Type::VARCHAR | &Type::BPCHAR) => {
                out.put_slice(text.as_bytes());
            }
            (param, ty) => return Err(format!("{param:?} is given for a {ty}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of a row.
enum Cell<'a> {
    Null,
    Number(i64),
    Text(&'a str),
}

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(
        ty: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn Error + std::marker::Sync + Send>> {
        Ok(match *ty {
            Type::INT4 => Self::Number(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Number(i64::from_sql(ty, raw)?),
            Type::TIMESTAMP => Self::Number(i64::from_sql(&Type::INT8, raw)? + EPOCH),
            Type::NUMERIC => Self::Number(numeric::decode(raw).ok_or("a number out of range")?),
            _ => Self::Text(std::str::from_utf8(raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + std::marker::Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
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

/// Rows on their way in, as lines of COPY's text format.
struct Copy<'a> {
    writer: CopyInWriter<'a>,
    line: String,
}

impl Copy<'_> {
    fn put(&mut self, value: std::fmt::Arguments<'_>) {
        use std::fmt::Write as _;
        if !self.line.is_empty() && !self.line.ends_with('\n') {
            self.line.push('\t');
        }
        // Writing to a String cannot fail.
        let _ = self.line.write_fmt(value);
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.writer.write_all(self.line.as_bytes()).map_err(Failure::fatal)?;
        self.line.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.writer.finish().map(|_| ()).map_err(failure)
    }
}

impl RowSink for Copy<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) {
        self.put(format_args!("{value}"));
    }

    fn decimal(&mut self, scaled: i64, scale: u8) {
        self.put(format_args!("{}", Decimal(scaled, scale)));
    }

    fn text(&mut self, value: &str) {
        // No generated text needs an escape.
        self.put(format_args!("{value}"));
    }

    fn time(&mut self, micros: i64) {
        self.put(format_args!("{}", Time(micros)));
    }

    fn null(&mut self) {
        self.put(format_args!("\\N"));
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.line.push('\n');
        if self.line.len() < COPY_BYTES { Ok(()) } else { self.flush() }
    }
}

#[cfg(test)]
mod tests;
