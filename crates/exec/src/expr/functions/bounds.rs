//! Functions that make bounds of indexes and scans: of constants, or of keys of outer rows.

use kernels::like::{self, Case};
use kernels::{Vector, VectorBuilder};
use sql::algebra::Function;
use types::{DataType, PhysicalType, Result, Value};

use super::{Kernel, Signature, TOTAL, Traits};

/// The kernel of a function that makes bounds; None when `function` is another.
pub(super) fn kernel(
    function: Function,
    signature: &Signature,
) -> Result<Option<(Kernel, Traits)>> {
    let kernel: Kernel = match function {
        Function::Nearest(op) => {
            let (from, to) = (signature.of(0)?, signature.ty);
            let physical = signature.physical;
            Box::new(move |a: &[&Vector], _| {
                if matches!(from, DataType::WideNumeric(_)) {
                    let texts = a[0].as_str();
                    let near = |row| types::nearest_to_wide(op, texts.get(row), to);
                    return Ok(each(a[0], physical, near));
                }
                let value = |row| types::nearest(op, &a[0].value(row), from, to);
                Ok(each(a[0], physical, value))
            })
        }
        Function::LikePrefix => Box::new(|a: &[&Vector], _| {
            let escape = a[1].as_str().get(0);
            let escape = std::str::from_utf8(escape).ok().and_then(|text| text.chars().next());
            let prefix = |text: &[u8]| like::prefix_of(text, escape, Case::Sensitive);
            Ok(of_texts(a[0], prefix))
        }),
        Function::AfterPrefix => {
            Box::new(|a: &[&Vector], _| Ok(of_texts(a[0], like::after_prefix)))
        }
        _ => return Ok(None),
    };
    Ok(Some((kernel, TOTAL)))
}

/// `f` of each row; NULL where the value is NULL.
fn each(values: &Vector, physical: PhysicalType, f: impl Fn(usize) -> Value) -> Vector {
    let mut out = VectorBuilder::with_capacity(physical, values.len());
    for row in 0..values.len() {
        if values.is_null(row) {
            out.push_null();
        } else {
            out.push_value(&f(row));
        }
    }
    out.finish()
}

fn of_texts(values: &Vector, f: impl Fn(&[u8]) -> Vec<u8>) -> Vector {
    let texts = values.as_str();
    each(values, PhysicalType::Str, |row| Value::Str(f(texts.get(row)).into()))
}
