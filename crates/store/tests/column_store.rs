//! The column store passes the suite, on pages that hold few rows.

use std::sync::Arc;

use store::conformance::Stack;
use store::delta_main::ColumnStore;
use store::{Schema, Table, TableOptions};

struct Columns;

impl Stack for Columns {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        let options = TableOptions { page_bytes: 8 << 10, ..TableOptions::default() };
        Arc::new(ColumnStore::new(Arc::new(schema), &options).expect("there is room"))
    }
}

store::conformance!(Columns);
