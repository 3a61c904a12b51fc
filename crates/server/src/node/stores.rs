//! `tessera_stores()`: the stores of shared data, their shares, and the keys that move.

use std::sync::Arc;

use engine::registry::TableFunction;
use engine::{no_arguments, rows_function};
use shared::manager::Moving;
use sql::catalog::{Arguments, TableFunctionRef};
use transport::{Ring, RingStore, Stay};
use types::{DataType, Result, Value};

use super::SharedData;

/// Its name.
pub(crate) const NAME: &str = "tessera_stores";

/// The function, for the nodes of one database.
pub(crate) struct StoresFunction(pub(crate) Arc<SharedData>);

impl TableFunction for StoresFunction {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        no_arguments(NAME, arguments)?;
        let joined = self.0.joined()?;
        let (ring, moving) = joined.run(joined.stores())?;
        let shown = |store| row(&ring, store, moving.as_ref());
        let rows: Vec<Vec<Value>> = ring.stores().iter().map(shown).collect();
        let columns = [
            ("store_id", DataType::BigInt),
            ("address", DataType::Text),
            ("state", DataType::Text),
            ("share", DataType::Double),
            ("moves", DataType::Text),
        ];
        Ok(rows_function(NAME, &columns, &rows))
    }
}

fn row(ring: &Ring, store: &RingStore, moving: Option<&Moving>) -> Vec<Value> {
    let state = match store.stay {
        Stay::Stays => "stays",
        Stay::Leaves => "leaves",
    };
    let moves = match moving.map(|moving| moving.what) {
        Some(what) if what.source == store.id => Value::text("gives"),
        Some(what) if what.target == store.id => Value::text("takes"),
        _ => Value::Null,
    };
    vec![
        Value::I64(store.id.0 as i64),
        Value::text(&store.address),
        Value::text(state),
        Value::F64(ring.share(store.id)),
        moves,
    ]
}
