//! The loops that most kernels are: apply a function to every row, vectorised for each instruction
//! set.
//!
//! Each takes the function as a type parameter, so that it is compiled with the function in it.
//! Functions given here must be small and free of branches.

use crate::level::flavours;

/// Room for `count` more values at the end of `out`; the caller writes all of them, then calls
/// [`commit`].
#[inline(always)]
fn spare<R>(out: &mut Vec<R>, count: usize) -> &mut [std::mem::MaybeUninit<R>] {
    out.reserve(count);
    &mut out.spare_capacity_mut()[..count]
}

flavours! {
    /// Appends `f(a[i])` for all rows.
    pub fn map_into[A: Copy, R: Copy, F: Fn(A) -> R](a: &[A], out: &mut Vec<R>, f: F) {
        let count = a.len();
        let target = spare(out, count);
        for i in 0..count {
            target[i].write(f(a[i]));
        }
        let len = out.len() + count;
        // SAFETY: the loop wrote `count` values behind the old length, within capacity.
        unsafe { out.set_len(len) };
    }

    /// Appends `f(a[i], b[i])` for all rows; panics when lengths differ.
    pub fn zip_into[A: Copy, B: Copy, R: Copy, F: Fn(A, B) -> R](
        a: &[A], b: &[B], out: &mut Vec<R>, f: F
    ) {
        assert_eq!(a.len(), b.len(), "operands have equally many rows");
        let count = a.len();
        let b = &b[..count];
        let target = spare(out, count);
        for i in 0..count {
            target[i].write(f(a[i], b[i]));
        }
        let len = out.len() + count;
        // SAFETY: the loop wrote `count` values behind the old length, within capacity.
        unsafe { out.set_len(len) };
    }

    /// Appends `f(a[i], b[i], c[i])` for all rows; panics when lengths differ.
    pub fn zip3_into[A: Copy, B: Copy, C: Copy, R: Copy, F: Fn(A, B, C) -> R](
        a: &[A], b: &[B], c: &[C], out: &mut Vec<R>, f: F
    ) {
        let count = a.len();
        assert!(b.len() == count && c.len() == count, "operands have equally many rows");
        let (b, c) = (&b[..count], &c[..count]);
        let target = spare(out, count);
        for i in 0..count {
            target[i].write(f(a[i], b[i], c[i]));
        }
        let len = out.len() + count;
        // SAFETY: the loop wrote `count` values behind the old length, within capacity.
        unsafe { out.set_len(len) };
    }

    /// As [`map_into`] for a function that can fail: returns true when it failed for some row.
    pub fn map_checked[A: Copy, R: Copy, F: Fn(A) -> (R, bool)](
        a: &[A], out: &mut Vec<R>, f: F
    ) -> bool {
        let count = a.len();
        let target = spare(out, count);
        let mut failed = false;
        for i in 0..count {
            let (value, bad) = f(a[i]);
            target[i].write(value);
            failed |= bad;
        }
        let len = out.len() + count;
        // SAFETY: the loop wrote `count` values behind the old length, within capacity.
        unsafe { out.set_len(len) };
        failed
    }

    /// As [`zip_into`] for a function that can fail: returns true when it failed for some row.
    pub fn zip_checked[A: Copy, B: Copy, R: Copy, F: Fn(A, B) -> (R, bool)](
        a: &[A], b: &[B], out: &mut Vec<R>, f: F
    ) -> bool {
        assert_eq!(a.len(), b.len(), "operands have equally many rows");
        let count = a.len();
        let b = &b[..count];
        let target = spare(out, count);
        let mut failed = false;
        for i in 0..count {
            let (value, bad) = f(a[i], b[i]);
            target[i].write(value);
            failed |= bad;
        }
        let len = out.len() + count;
        // SAFETY: the loop wrote `count` values behind the old length, within capacity.
        unsafe { out.set_len(len) };
        failed
    }

    /// The largest position, 0 when there is none.
    pub fn max_u32[](positions: &[u32]) -> u32 {
        let mut max = 0;
        for &p in positions {
            max = if p > max { p } else { max };
        }
        max
    }

    /// Appends `f(a[p])` for each of `positions`; panics when one is past the end.
    pub fn gather_into[A: Copy, R: Copy, F: Fn(A) -> R](
        a: &[A], positions: &[u32], out: &mut Vec<R>, f: F
    ) {
        let count = positions.len();
        assert!(count == 0 || (max_u32(positions) as usize) < a.len(), "position past the end");
        let target = spare(out, count);
        for i in 0..count {
            // SAFETY: the largest position was checked above.
            let value = unsafe { *a.get_unchecked(positions[i] as usize) };
            target[i].write(f(value));
        }
        let len = out.len() + count;
        // SAFETY: the loop wrote `count` values behind the old length, within capacity.
        unsafe { out.set_len(len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::at_every_level;

    #[test]
    fn loops_equal_iterators_at_every_level() {
        at_every_level(|level| {
            for count in [0usize, 1, 7, 64, 1000] {
                let a: Vec<i32> = (0..count as i32).map(|i| i * 7 - 50).collect();
                let mut out = vec![5i64];
                map_into(&a, &mut out, |x| i64::from(x) * 2);
                zip_into(&a, &a, &mut out, |x, y| i64::from(x) - i64::from(y));
                let positions: Vec<u32> = (0..count as u32).rev().collect();
                gather_into(&a, &positions, &mut out, |x| i64::from(x) + 1);
                let expected: Vec<i64> = std::iter::once(5)
                    .chain(a.iter().map(|&x| i64::from(x) * 2))
                    .chain(a.iter().map(|_| 0))
                    .chain(a.iter().rev().map(|&x| i64::from(x) + 1))
                    .collect();
                assert_eq!(out, expected, "{level:?} {count}");
                let mut sums = Vec::new();
                let failed = zip_checked(&a, &a, &mut sums, i32::overflowing_mul);
                assert!(!failed && sums.len() == count);
                assert_eq!(map_checked(&a, &mut sums, |x| (x, x == 20)), count > 10);
            }
        });
    }

    #[test]
    #[should_panic(expected = "position past the end")]
    fn gather_refuses_positions_past_the_end() {
        gather_into(&[1, 2], &[0, 2], &mut Vec::new(), |x: i32| x);
    }
}
