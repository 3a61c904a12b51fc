//! Tables whose scans run as code pass the suite of all tables, on pages that hold few rows.

use std::sync::{Arc, LazyLock};

use codegen::{Compiler, When};
use store::conformance::Stack;
use store::delta_main::{ColumnStore, RowStore};
use store::{Schema, Table, TableOptions};

static COMPILER: LazyLock<Arc<Compiler>> =
    LazyLock::new(|| Compiler::new(When::Always).expect("there is code for this processor"));

fn options() -> TableOptions {
    let compiler = Some(COMPILER.clone() as Arc<_>);
    TableOptions { page_bytes: 8 << 10, compiler, ..TableOptions::default() }
}

mod columns {
    use super::*;

    struct Columns;

    impl Stack for Columns {
        fn table(&self, schema: Schema) -> Arc<dyn Table> {
            Arc::new(ColumnStore::new(Arc::new(schema), &options()).expect("there is room"))
        }
    }

    store::conformance!(Columns);
}

mod rows {
    use super::*;

    struct Rows;

    impl Stack for Rows {
        fn table(&self, schema: Schema) -> Arc<dyn Table> {
            Arc::new(RowStore::new(Arc::new(schema), &options()).expect("there is room"))
        }
    }

    store::conformance!(Rows);
}
