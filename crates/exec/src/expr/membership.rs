//! IN over constants.

use hashbrown::HashSet;
use kernels::compare::compare;
use kernels::{Vector, VectorBuilder, VectorData, logic, loops};
use types::{CompareOp, PhysicalType};

type Set<T> = HashSet<T, foldhash::fast::RandomState>;

/// Lists up to this long are compared one by one, which vectorises.
const LINEAR_MAX: usize = 8;

/// The constants of an IN list, of the operand's physical type.
pub(super) struct Members {
    values: Values,
    has_null: bool,
}

enum Values {
    /// Compared one by one.
    Few(Vec<Vector>),
    I32(Set<i32>),
    I64(Set<i64>),
    I128(Set<i128>),
    Str(Set<Box<[u8]>>),
}

impl Members {
    /// The constants, one row each; None when one has another type than `physical`.
    pub(super) fn new<'a>(
        physical: PhysicalType,
        constants: impl Iterator<Item = &'a Vector>,
    ) -> Option<Self> {
        let mut builder = VectorBuilder::new(physical);
        let mut has_null = false;
        for constant in constants {
            if constant.is_null(0) {
                has_null = true;
            } else if constant.physical() == physical {
                builder.append(constant, Some(&[0]));
            } else {
                return None;
            }
        }
        let all = builder.finish();
        if all.len() <= LINEAR_MAX {
            let few = (0..all.len()).map(|i| all.slice(i, 1)).collect();
            return Some(Self { values: Values::Few(few), has_null });
        }
        let values = match &all.data {
            VectorData::I32(v) => Values::I32(v.iter().copied().collect()),
            VectorData::I64(v) => Values::I64(v.iter().copied().collect()),
            VectorData::I128(v) => Values::I128(v.iter().copied().collect()),
            VectorData::Str(v) => Values::Str(v.iter().map(Box::from).collect()),
            _ => Values::Few((0..all.len()).map(|i| all.slice(i, 1)).collect()),
        };
        Some(Self { values, has_null })
    }

    /// `operand IN (constants)`: without a match NULL when a constant or the operand is.
    pub(super) fn test(&self, operand: &Vector) -> Vector {
        fn look<T: Copy>(values: &[T], f: impl Fn(T) -> bool) -> Vec<u8> {
            let mut out = Vec::new();
            loops::map_into(values, &mut out, |v| u8::from(f(v)));
            out
        }
        let found = match (&self.values, &operand.data) {
            (Values::I32(set), VectorData::I32(v)) => look(v, |x| set.contains(&x)),
            (Values::I64(set), VectorData::I64(v)) => look(v, |x| set.contains(&x)),
            (Values::I128(set), VectorData::I128(v)) => look(v, |x| set.contains(&x)),
            (Values::Str(set), VectorData::Str(v)) => {
                v.iter().map(|text| u8::from(set.contains(text))).collect()
            }
            (Values::Few(few), _) => {
                let mut found = Vector::new(VectorData::Bool(vec![0; operand.len()]));
                for constant in few {
                    found = logic::or(&found, &compare(CompareOp::Equal, operand, constant));
                }
                found.as_bool().to_vec()
            }
            _ => panic!("IN over a column of another type"),
        };
        let mut validity = operand.validity.clone();
        if self.has_null {
            let matched = logic::pack_bits(&found);
            validity = Some(match &validity {
                Some(valid) => valid.and(&matched),
                None => matched,
            });
        }
        Vector::with_validity(VectorData::Bool(found), validity)
    }
}
