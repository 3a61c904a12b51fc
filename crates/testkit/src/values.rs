//! Strategies for property tests that find boundaries: narrow values tie with each other,
//! wide ones fill the type, and its extremes come up often.

use std::fmt::Debug;

use proptest::prelude::*;

/// A number type with its boundary values.
pub trait Extremes: Arbitrary + Copy + Debug + 'static {
    /// Values at and next to the ends of the type, and around 0.
    fn extremes() -> Vec<Self>;
    /// Few neighbouring values, so that two draws are often equal.
    fn narrow() -> BoxedStrategy<Self>;
}

macro_rules! signed_extremes {
    ($($number:ty),*) => {$(
        impl Extremes for $number {
            fn extremes() -> Vec<Self> {
                vec![Self::MIN, Self::MIN + 1, -1, 0, 1, Self::MAX - 1, Self::MAX]
            }
            fn narrow() -> BoxedStrategy<Self> {
                (-4..=4 as $number).boxed()
            }
        }
    )*};
}

macro_rules! unsigned_extremes {
    ($($number:ty),*) => {$(
        impl Extremes for $number {
            fn extremes() -> Vec<Self> {
                vec![0, 1, Self::MAX / 2, Self::MAX / 2 + 1, Self::MAX - 1, Self::MAX]
            }
            fn narrow() -> BoxedStrategy<Self> {
                (0..=8 as $number).boxed()
            }
        }
    )*};
}

macro_rules! float_extremes {
    ($($number:ty),*) => {$(
        impl Extremes for $number {
            fn extremes() -> Vec<Self> {
                vec![
                    Self::NEG_INFINITY, Self::MIN, -Self::MIN_POSITIVE, -0.0, 0.0,
                    Self::MIN_POSITIVE, Self::EPSILON, Self::MAX, Self::INFINITY, Self::NAN,
                ]
            }
            fn narrow() -> BoxedStrategy<Self> {
                (-4i8..=4).prop_map(Self::from).boxed()
            }
        }
    )*};
}

signed_extremes!(i8, i16, i32, i64, i128);
unsigned_extremes!(u8, u16, u32, u64);
float_extremes!(f32, f64);

/// Values of one number type: half narrow, so that ties occur; the rest extremes and any.
pub fn values<T: Extremes>() -> BoxedStrategy<T> {
    prop_oneof![
        2 => T::narrow(),
        1 => proptest::sample::select(T::extremes()),
        1 => any::<T>(),
    ]
    .boxed()
}

/// `inner`, or NULL in one of four cases.
pub fn with_gaps<T: Debug + Clone + 'static>(
    inner: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    prop_oneof![1 => Just(None), 3 => inner.prop_map(Some)].boxed()
}
