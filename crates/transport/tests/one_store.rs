//! The suite of tables, through the network, on one store.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::conformance::Stack;
use store::server::Layout;
use store::{Schema, Table};
use support::Stores;
use transport::block_on;

/// Makes each table in stores of its own, which live as long as the test.
struct One;

impl Stack for One {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let layouts = [Layout::Columns, Layout::Rows, Layout::Log];
        let layout = layouts[TABLES.fetch_add(1, Ordering::Relaxed) as usize % 3];
        let stores = Stores::start(1);
        let made = stores.cluster.create("t", &schema, layout);
        let made = block_on(made, || stores.cluster.flush()).expect("is new");
        let found = stores.cluster.find("t");
        let found = block_on(found, || stores.cluster.flush()).expect("is there");
        assert_eq!(found.schema(), made.schema());
        std::mem::forget(stores);
        Arc::new(found)
    }
}

store::conformance!(One);
