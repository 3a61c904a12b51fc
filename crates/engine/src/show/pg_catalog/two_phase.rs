//! pg_prepared_xacts: transactions that no session has, of all databases of the server.

use std::sync::Arc;

use types::Value;

use super::{Row, Subject};
use crate::Database;
use crate::instance::prepared::PreparedFacts;

/// The rows of pg_prepared_xacts.
pub(super) fn prepared(subject: &Subject<'_>) -> Vec<Row> {
    let inner = subject.database.inner();
    let Some(cluster) = inner.cluster() else {
        return of(subject.database, &subject.state.database.0);
    };
    cluster.all().iter().flat_map(|(def, database)| of(database, &def.name)).collect()
}

fn of(database: &Database, name: &str) -> Vec<Row> {
    let inner = database.inner();
    let prepared = inner.prepared.of(inner).into_iter();
    let row = |(gid, facts): (Arc<str>, PreparedFacts)| {
        Row::default()
            // Numbers of 32 bits, as types of users see them.
            .number("transaction", i64::from(facts.number as u32))
            .text("gid", &gid)
            .set("prepared", Value::I64(facts.micros))
            .text("owner", &facts.owner)
            .text("database", name)
    };
    prepared.map(row).collect()
}
