//! The row store passes the suite, on pages that hold few rows.

use std::sync::Arc;

use store::conformance::Stack;
use store::delta_main::RowStore;
use store::{Schema, Table, TableOptions};

struct Rows;

impl Stack for Rows {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        let options = TableOptions { page_bytes: 8 << 10, ..TableOptions::default() };
        Arc::new(RowStore::new(Arc::new(schema), &options).expect("there is room"))
    }
}

store::conformance!(Rows);
