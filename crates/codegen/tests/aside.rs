//! Passes that get their code while they run, or do without.

use std::sync::Arc;

use codegen::{Compiler, When};
use store::code::{Code, Compile, Pass, Start};
use store::conformance::{Manager, Stack, collected, row, schema};
use store::delta_main::{ColumnStore, RowStore};
use store::{
    Aggregate, FieldId, Query, Schema, Selection, Table, TableKind, TableOptions, Test, Tuple,
};
use types::{CompareOp, Value};

/// A maker of code for passes of any size, by another thread.
#[derive(Debug)]
struct Aside(Arc<Compiler>);

impl Compile for Aside {
    fn start(&self, _: &Pass) -> Start {
        Start::Aside
    }

    fn compile(&self, pass: &Pass) -> Option<Arc<dyn Code>> {
        self.0.compile(pass)
    }
}

fn aside(when: When) -> Arc<Aside> {
    Arc::new(Aside(Compiler::new(when).expect("there is code for this processor")))
}

/// Tables that forget all code from one to the next, so that passes begin without.
struct Rows;

impl Stack for Rows {
    fn table(&self, schema: Schema) -> Arc<dyn Table> {
        let compiler = Some(aside(When::Always) as Arc<_>);
        let options = TableOptions { page_bytes: 8 << 10, compiler, ..TableOptions::default() };
        Arc::new(RowStore::new(Arc::new(schema), &options).expect("there is room"))
    }
}

store::conformance!(Rows, row_029_selection row_031_aggregates row_034_equal_selections);

/// Runs passes on one table until another thread has made their code, and once more: loops, code
/// that came meanwhile, and code from the beginning give the same; of the queries some are left to
/// loops.
#[test]
fn answers_stay_when_code_comes() {
    let compiler = aside(When::Paying);
    let options = TableOptions {
        page_bytes: 4 << 10,
        compiler: Some(compiler.clone()),
        ..TableOptions::default()
    };
    let schema = Arc::new(schema(TableKind::Transactional));
    let table = ColumnStore::new(schema.clone(), &options).expect("there is room");
    let manager = Manager::default();
    manager.run(|snapshot| {
        for key in 0..2000 {
            let tuple = Tuple::encode(&schema, &row(key)).expect("fits");
            table.insert(snapshot, key as u64, &tuple).expect("inserts");
        }
    });
    table.collect(manager.lowest_active()).expect("collects");
    let below = |field, literal| (FieldId(field), Test::Compare(CompareOp::Less, literal));
    let (a, b) = (below(0, Value::I64(1500)), below(1, Value::I32(1000)));
    let one = Selection::all().and(a.0, a.1.clone());
    let two = one.clone().and(b.0, b.1);
    let rows = || Query::aggregates(vec![Aggregate::Rows, Aggregate::Sum(FieldId(0))]);
    let snapshot = manager.begin();
    let expected = |keys: Vec<i64>| {
        vec![Value::I64(keys.len() as i64), Value::I128(keys.iter().map(|k| i128::from(*k)).sum())]
    };
    let check_one = || {
        let (_, end) = collected(&table, &rows().of(one.clone()), &snapshot);
        assert_eq!(end.values, expected((0..1500).collect()));
    };
    let check_two = || {
        let (_, end) = collected(&table, &rows().of(two.clone()), &snapshot);
        assert_eq!(end.values, expected((0..1000).filter(|n| n % 3 != 0).collect()));
    };
    check_one();
    while compiler.0.units() == 0 {
        check_two();
    }
    check_two();
    check_one();
}
