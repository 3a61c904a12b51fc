//! Rows of YCSB#: fixed fields of each width twice, and two texts (Pilman 2017, section 5.3).

use std::hint::black_box;

use store::{Field, FieldType, Flow, Rows, Schema, Sink, Tuple};
use testkit::Random;
use types::Value;

/// Takes rows and keeps none.
pub(crate) struct Nothing;

impl Sink for Nothing {
    fn rows(&self, rows: &Rows) -> Flow {
        black_box(rows.len());
        Flow::Continue
    }
}

pub(crate) fn fields() -> Vec<Field> {
    let fixed = [FieldType::F64, FieldType::I64, FieldType::I32, FieldType::I16];
    let twice = fixed.iter().chain(&fixed).enumerate();
    let mut fields: Vec<Field> =
        twice.map(|(i, field_type)| Field::new(&format!("f{i}"), *field_type)).collect();
    fields.extend(["i", "j"].map(|name| Field::new(name, FieldType::Bytes)));
    fields
}

pub(crate) fn row(schema: &Schema, random: &mut Random) -> Tuple {
    let mut row = Vec::new();
    for _ in 0..2 {
        row.push(Value::F64(random.unit()));
        row.push(Value::I64(random.within(-1000..1000)));
        row.push(Value::I32(random.within(0..10_000) as i32));
        row.push(Value::I32(random.within(0..256) as i32));
    }
    row.extend(["OUGHTABLEPRI", "PRESESEANTICALLY"].map(Value::text));
    Tuple::encode(schema, &row).expect("fits")
}
