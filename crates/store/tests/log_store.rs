//! The log store passes the suite, on pages that hold few rows.

use std::sync::Arc;

use store::conformance::Stack;
use store::log_store::LogStore;
use store::{Schema, Table, TableOptions};

struct Logs;

impl Stack for Logs {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        let options = TableOptions { page_bytes: 8 << 10, ..TableOptions::default() };
        Arc::new(LogStore::new(Arc::new(schema), &options).expect("there is room"))
    }
}

store::conformance!(Logs);
