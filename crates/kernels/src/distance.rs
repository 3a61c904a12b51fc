//! Distances of vectors of floats, in the widest registers.
//!
//! Elsewhere: the loops, which these equal to the last bit (`types::packed::distance`).

use types::Result;
use types::packed::distance::{self, Metric};
use types::packed::{Call, Given, PackedFloats, vector_distance};

use crate::level::flavours;

flavours! {
    /// The square of the distance as the crow flies, of vectors of equal dimensions, as of all
    /// below.
    pub fn squared_l2[](a: &[f32], b: &[f32]) -> f32 {
        distance::squared_l2(a, b)
    }

    /// The inner product.
    pub fn inner_product[](a: &[f32], b: &[f32]) -> f32 {
        distance::inner_product(a, b)
    }

    /// The sum of the differences.
    pub fn l1[](a: &[f32], b: &[f32]) -> f32 {
        distance::l1(a, b)
    }

    /// The distance as SQL has it, of vectors as rows have them.
    fn between[](metric: Metric, a: PackedFloats<'_>, b: PackedFloats<'_>) -> f64 {
        metric.between(a, b)
    }
}

/// Computes one row of a function of [`crate::packed_fn`].
pub(crate) type Compute = fn(&Call<'_>, &mut Vec<u8>) -> Result<Given>;

/// The function that computes the distance `metric` of two arguments.
pub(crate) fn compute(metric: Metric) -> Compute {
    match metric {
        Metric::L2 => |call, _| vector_distance(call, |a, b| between(Metric::L2, a, b)),
        Metric::InnerProduct => {
            |call, _| vector_distance(call, |a, b| between(Metric::InnerProduct, a, b))
        }
        Metric::Cosine => |call, _| vector_distance(call, |a, b| between(Metric::Cosine, a, b)),
        Metric::L1 => |call, _| vector_distance(call, |a, b| between(Metric::L1, a, b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;
    use types::packed::vector_value;

    use crate::level::at_every_level;

    fn bits(floats: [f32; 3]) -> [u32; 3] {
        floats.map(f32::to_bits)
    }

    proptest! {
        #[test]
        fn distances_equal_their_twins(
            pairs in proptest::collection::vec((-1e3_f32..1e3, -1e3_f32..1e3), 1..200)
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let (x, y) = (&a[..], &b[..]);
            let plain =
                [distance::squared_l2(x, y), distance::inner_product(x, y), distance::l1(x, y)];
            let values = [vector_value(a.iter().copied()), vector_value(b.iter().copied())];
            let [p, q] = [0, 1].map(|at: usize| PackedFloats::of(&values[at]));
            at_every_level(|level| {
                let wide = [squared_l2(x, y), inner_product(x, y), l1(x, y)];
                assert_eq!(bits(wide), bits(plain), "{level:?}");
                for metric in Metric::ALL {
                    let (wide, plain) = (between(metric, p, q), metric.between(x, y));
                    assert_eq!(wide.to_bits(), plain.to_bits(), "{level:?} {metric:?}");
                }
            });
        }
    }
}
