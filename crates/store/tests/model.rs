//! The model passes the suite itself.

use std::sync::Arc;

use store::conformance::Stack;
use store::model::Model;
use store::{Schema, Table};

struct Models;

impl Stack for Models {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        Arc::new(Model::new(Arc::new(schema)))
    }
}

store::conformance!(Models);
