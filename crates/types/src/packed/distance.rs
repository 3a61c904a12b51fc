//! Distances of vectors of floats.
//!
//! ```text
//! a, b -> groups of LANES floats -> a sum in each lane -> one sum -> the rest, float by float
//! ```
//! The order of additions is always the same, so that whoever compiles the loops for wider
//! registers (`kernels::distance`) has the same sums.
//! Source: pgvector 0.8, manual: "Vector Operators".

/// Floats that are added side by side.
pub const LANES: usize = 16;

/// Floats in groups.
pub trait Floats: Copy {
    /// The whole groups, in order.
    fn groups(self) -> impl Iterator<Item = [f32; LANES]>;

    /// The floats behind them, fewer than [`LANES`].
    fn rest(self) -> impl Iterator<Item = f32>;
}

impl Floats for &[f32] {
    #[inline(always)]
    fn groups(self) -> impl Iterator<Item = [f32; LANES]> {
        self.as_chunks::<LANES>().0.iter().copied()
    }

    #[inline(always)]
    fn rest(self) -> impl Iterator<Item = f32> {
        self.as_chunks::<LANES>().1.iter().copied()
    }
}

/// The sum of what `step` makes of each two floats.
#[inline(always)]
fn folded(a: impl Floats, b: impl Floats, step: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (x, y) in a.groups().zip(b.groups()) {
        for lane in 0..LANES {
            sums[lane] += step(x[lane], y[lane]);
        }
    }
    let whole: f32 = sums.iter().sum();
    a.rest().zip(b.rest()).fold(whole, |sum, (x, y)| sum + step(x, y))
}

/// The square of the distance as the crow flies, of vectors of equal dimensions, as of all below.
#[inline(always)]
pub fn squared_l2(a: impl Floats, b: impl Floats) -> f32 {
    folded(a, b, |x, y| (x - y) * (x - y))
}

/// The inner product.
#[inline(always)]
pub fn inner_product(a: impl Floats, b: impl Floats) -> f32 {
    folded(a, b, |x, y| x * y)
}

/// The sum of the differences.
#[inline(always)]
pub fn l1(a: impl Floats, b: impl Floats) -> f32 {
    folded(a, b, |x, y| (x - y).abs())
}

/// 1 less the cosine of the angle; NaN where a vector has no direction.
#[inline(always)]
pub fn cosine(a: impl Floats, b: impl Floats) -> f64 {
    let product = f64::from(inner_product(a, b));
    let squares = f64::from(inner_product(a, a)) * f64::from(inner_product(b, b));
    let similarity = product / squares.sqrt();
    // NaN stays.
    1.0 - similarity.clamp(-1.0, 1.0)
}

/// How far two vectors are apart, as one of four operators says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// `<->`: as the crow flies.
    L2,
    /// `<#>`: the negative inner product.
    InnerProduct,
    /// `<=>`: by the angle.
    Cosine,
    /// `<+>`: along the axes.
    L1,
}

impl Metric {
    /// All of them, in an order that never changes.
    pub const ALL: [Self; 4] = [Self::L2, Self::InnerProduct, Self::Cosine, Self::L1];

    /// The operator class of indexes.
    pub const fn class(self) -> &'static str {
        match self {
            Self::L2 => "vector_l2_ops",
            Self::InnerProduct => "vector_ip_ops",
            Self::Cosine => "vector_cosine_ops",
            Self::L1 => "vector_l1_ops",
        }
    }

    /// The operator.
    pub const fn operator(self) -> &'static str {
        match self {
            Self::L2 => "<->",
            Self::InnerProduct => "<#>",
            Self::Cosine => "<=>",
            Self::L1 => "<+>",
        }
    }

    /// The metric of the operator class `name`.
    pub fn of_class(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.class() == name)
    }

    /// The metric that the function `name` computes.
    pub fn of_function(name: &str) -> Option<Self> {
        Some(match name {
            "l2_distance" => Self::L2,
            "vector_negative_inner_product" => Self::InnerProduct,
            "cosine_distance" => Self::Cosine,
            "l1_distance" => Self::L1,
            _ => return None,
        })
    }

    /// The distance as SQL has it, of vectors of equal dimensions.
    #[inline(always)]
    pub fn between(self, a: impl Floats, b: impl Floats) -> f64 {
        match self {
            Self::L2 => f64::from(squared_l2(a, b)).sqrt(),
            Self::InnerProduct => -f64::from(inner_product(a, b)),
            Self::Cosine => cosine(a, b),
            Self::L1 => f64::from(l1(a, b)),
        }
    }
}

/// Parameters that an index of nearest vectors is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NearForm {
    /// How distances are measured.
    pub metric: Metric,
    /// Links of a node, twice as many on the lowest level: 2 to 100.
    pub links: u16,
    /// Nodes among which those are chosen that a new one is linked to: 4 to 1,000.
    pub breadth: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// The distance by doubles, float by float.
    fn plainly(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
        let sum = |step: &dyn Fn(f64, f64) -> f64| -> f64 {
            a.iter().zip(b).map(|(x, y)| step(f64::from(*x), f64::from(*y))).sum()
        };
        match metric {
            Metric::L2 => sum(&|x, y| (x - y).powi(2)).sqrt(),
            Metric::InnerProduct => -sum(&|x, y| x * y),
            Metric::L1 => sum(&|x, y| (x - y).abs()),
            Metric::Cosine => {
                let square = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
                1.0 - sum(&|x, y| x * y) / (square(a) * square(b)).sqrt()
            }
        }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_doubles(
            pairs in proptest::collection::vec((-8_i8..8, -8_i8..8), 1..70)
        ) {
            let a: Vec<f32> = pairs.iter().map(|(x, _)| f32::from(*x)).collect();
            let b: Vec<f32> = pairs.iter().map(|(_, y)| f32::from(*y)).collect();
            for metric in Metric::ALL {
                let (found, wanted) = (metric.between(&a[..], &b[..]), plainly(metric, &a, &b));
                let is_same = (found - wanted).abs() < 1e-6 || found.is_nan() && wanted.is_nan();
                prop_assert!(is_same, "{metric:?}: {found} for {wanted}");
                prop_assert_eq!(Metric::of_class(metric.class()), Some(metric));
            }
        }
    }
}
