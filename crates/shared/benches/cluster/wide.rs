//! Sum of wide rows: one double and three texts of 330 bytes, of which the double is summed
//! (Pilman 2017, table 4.1).

use std::sync::Arc;
use std::time::Instant;

use store::server::Layout;
use store::{
    Aggregate, Field, FieldId, FieldType, Query, ScanRequest, Schema, Table as _, TableKind, Tuple,
};
use transport::Cluster;
use types::Value;

use crate::stand::{NewTable, filled};
use crate::wide_row::Nothing;

/// Bytes of a text.
const TEXT_BYTES: usize = 330;

/// Milliseconds of the fastest of so many sums, which are checked.
pub(crate) fn sum(cluster: &Cluster, layout: Layout, rows: u64, scans: u32) -> f64 {
    let mut fields = vec![Field::new("number", FieldType::F64)];
    fields.extend(["a", "b", "c"].map(|name| Field::new(name, FieldType::Bytes)));
    let schema = Schema::new(TableKind::Transactional, fields).expect("fits");
    let text: Arc<[u8]> = vec![b'x'; TEXT_BYTES].into();
    let new = NewTable { name: "wide", schema, layout };
    let (table, manager) = filled(cluster, &new, rows, |key| {
        let mut row = vec![Value::F64((key % 100) as f64)];
        row.extend((0..3).map(|_| Value::Str(Arc::clone(&text))));
        Tuple::encode(&new.schema, &row).expect("fits")
    });
    table.collect(manager.lowest_active()).expect("there is room");
    let query = Query::aggregates(vec![Aggregate::Sum(FieldId(0))]);
    let expected: u64 = (0..rows).map(|key| key % 100).sum();
    let times = (0..scans).map(|_| {
        manager.run(|snapshot| {
            let begin = Instant::now();
            let request = ScanRequest { query: &query, snapshot, sink: &Nothing };
            let ends = table.scan(&[request], 1).expect("scans");
            let time = begin.elapsed().as_secs_f64() * 1e3;
            assert_eq!(ends[0].values, [Value::F64(expected as f64)]);
            time
        })
    });
    times.fold(f64::INFINITY, f64::min)
}
