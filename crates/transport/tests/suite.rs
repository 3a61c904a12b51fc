//! The suite of tables, through the network, on one store and on three.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::conformance::Stack;
use store::server::Layout;
use store::{Schema, Table};
use support::Stores;
use transport::block_on;

/// Makes each table in so many stores of its own, which live as long as the test.
struct OnStores(usize);

impl Stack for OnStores {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let layouts = [Layout::Columns, Layout::Rows, Layout::Log];
        let layout = layouts[TABLES.fetch_add(1, Ordering::Relaxed) as usize % 3];
        let stores = Stores::start(self.0);
        let made = stores.cluster.create("t", &schema, layout);
        let made = block_on(made, || stores.cluster.flush()).expect("is new");
        let found = stores.cluster.find("t");
        let found = block_on(found, || stores.cluster.flush()).expect("is there");
        assert_eq!(found.schema(), made.schema());
        std::mem::forget(stores);
        Arc::new(found)
    }
}

mod on_one {
    store::conformance!(super::OnStores(1));
}

mod on_three {
    store::conformance!(super::OnStores(3));
}
