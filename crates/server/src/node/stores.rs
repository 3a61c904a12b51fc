//! `tessera_stores()`: the stores of shared data, their shares, and the keys that move.

use std::sync::Arc;

use engine::registry::{OpenedFile, SourceFunction, TableFunction};
use exec::BatchSource;
use kernels::{Batch, Column, VectorBuilder};
use shared::manager::Moving;
use sql::catalog::{Arguments, TableFunctionRef};
use transport::{Ring, RingStore, Stay};
use types::{DataType, Error, Result, SqlState, Value};

use super::SharedData;

/// Its name.
pub(crate) const NAME: &str = "tessera_stores";

/// The function, for the nodes of one database.
pub(crate) struct StoresFunction(pub(crate) Arc<SharedData>);

/// Rows that are there when the function is bound.
struct Rows(Batch);

impl BatchSource for Rows {
    fn orders(&self) -> usize {
        1
    }

    fn run(
        &self,
        _order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let picked = columns.iter().map(|column| self.0.columns[*column].clone()).collect();
        push(Batch::new(picked, self.0.rows)).map(drop)
    }
}

impl TableFunction for StoresFunction {
    fn bind(&self, arguments: &Arguments) -> Result<TableFunctionRef> {
        if !(arguments.positional.is_empty() && arguments.named.is_empty()) {
            let message = format!("function {NAME} takes no arguments");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let joined = self.0.joined()?;
        let (ring, moving) = joined.run(joined.stores())?;
        let rows: Vec<[Value; 5]> =
            ring.stores().iter().map(|store| row(&ring, store, moving.as_ref())).collect();
        let columns = [
            ("store_id", DataType::BigInt),
            ("address", DataType::Text),
            ("state", DataType::Text),
            ("share", DataType::Double),
            ("moves", DataType::Text),
        ];
        let column = |(number, (_, kind)): (usize, &(&str, DataType))| {
            let mut builder = VectorBuilder::new(kind.physical());
            rows.iter().for_each(|row| builder.push_value(&row[number]));
            Column::plain(builder.finish())
        };
        let vectors = columns.iter().enumerate().map(column).collect();
        let source = Arc::new(Rows(Batch::new(vectors, rows.len())));
        let columns = columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        let file = OpenedFile { columns, rows: Some(rows.len() as u64), source };
        Ok(SourceFunction::bound(format!("{NAME}()"), file))
    }
}

fn row(ring: &Ring, store: &RingStore, moving: Option<&Moving>) -> [Value; 5] {
    let state = match store.stay {
        Stay::Stays => "stays",
        Stay::Leaves => "leaves",
    };
    let moves = match moving.map(|moving| moving.what) {
        Some(what) if what.source == store.id => Value::text("gives"),
        Some(what) if what.target == store.id => Value::text("takes"),
        _ => Value::Null,
    };
    [
        Value::I64(store.id.0 as i64),
        Value::text(&store.address),
        Value::text(state),
        Value::F64(ring.share(store.id)),
        moves,
    ]
}
