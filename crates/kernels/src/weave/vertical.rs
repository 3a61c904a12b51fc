//! BitWeaving/V: one plane of words for each bit of the codes.

use super::{CODE_BITS_MAX, CodeCompare, Loop, last_code};
use crate::level::flavours;

/// Codes whose planes lie side by side; a plane of them is one cache line.
pub const SEGMENT_ROWS: usize = 512;

/// One bit of each code of a segment.
type Plane = [u64; 8];

/// Planes between looks whether all codes of the segment are decided.
const CHECK_PLANES: usize = 4;

/// Words that hold `rows` codes of `bits` bits.
pub fn words(rows: usize, bits: u32) -> usize {
    rows.div_ceil(SEGMENT_ROWS) * bits as usize * size_of::<Plane>() / 8
}

/// Puts `codes` of `bits` bits into `out`, which is zeroed and has the size that [`words`] says.
///
/// # Panics
/// If the sizes do not fit, or `bits` is not 1 to 32.
pub fn pack(codes: &[u32], bits: u32, out: &mut [u64]) {
    assert_eq!(out.len(), words(codes.len(), bits), "the words that the codes need");
    debug_assert!(codes.iter().all(|&code| code <= last_code(bits)), "codes have so many bits");
    let segments = out.chunks_exact_mut(bits as usize * 8);
    for (codes, planes) in codes.chunks(SEGMENT_ROWS).zip(segments) {
        for (word, codes) in codes.chunks(64).enumerate() {
            for plane in 0..bits as usize {
                let shift = bits - 1 - plane as u32;
                let bit = |(row, &code): (usize, &u32)| u64::from(code >> shift & 1) << row;
                planes[plane * 8 + word] = codes.iter().enumerate().map(bit).sum();
            }
        }
    }
}

/// Clears the bits of `keep` whose code does not satisfy `compare`; returns how many planes were
/// read. `packed` is what [`pack`] made of codes of `bits` bits, `keep` has a bit for each row of
/// its segments (those past the last row 0).
///
/// # Panics
/// If the sizes do not fit.
pub fn find(packed: &[u64], bits: u32, compare: CodeCompare, keep: &mut [u64]) -> usize {
    let (planes, odd) = packed.as_chunks::<8>();
    let (keep, rest) = keep.as_chunks_mut::<8>();
    assert!(odd.is_empty() && rest.is_empty(), "whole segments");
    assert_eq!(planes.len(), keep.len() * bits as usize, "one bit for each code");
    match compare.loop_for(last_code(bits)) {
        Loop::All => 0,
        Loop::None => {
            keep.fill([0; 8]);
            0
        }
        Loop::Eq(c) => equal(planes, &masks(c, bits), bits as usize, 0, keep),
        Loop::Ne(c) => equal(planes, &masks(c, bits), bits as usize, u64::MAX, keep),
        Loop::Le(hi) => {
            bounded(planes, &masks(0, bits), &masks(hi, bits), bits as usize, keep, UpTo)
        }
        Loop::Ge(lo) => {
            bounded(planes, &masks(lo, bits), &masks(0, bits), bits as usize, keep, From)
        }
        Loop::Between(lo, hi) => {
            bounded(planes, &masks(lo, bits), &masks(hi, bits), bits as usize, keep, Both)
        }
    }
}

/// Bit `i` of a constant from the highest on, as a whole word.
type Masks = [u64; CODE_BITS_MAX as usize];

fn masks(constant: u32, bits: u32) -> Masks {
    let bit = |i: usize| constant >> (bits as usize - 1).saturating_sub(i) & 1;
    std::array::from_fn(|i| 0u64.wrapping_sub(u64::from(bit(i))))
}

/// Which bounds there are.
trait Bounds: Copy {
    const LOW: bool;
    const HIGH: bool;
}

macro_rules! bounds {
    ($($bounds:ident $low:literal $high:literal),*) => {$(
        #[derive(Clone, Copy)]
        struct $bounds;
        impl Bounds for $bounds {
            const LOW: bool = $low;
            const HIGH: bool = $high;
        }
    )*};
}

bounds!(UpTo false true, From true false, Both true true);

/// Replaces each word of `target` by `f` of it and its partner.
#[inline(always)]
fn each(target: &mut Plane, partner: &Plane, f: impl Fn(u64, u64) -> u64) {
    for (target, partner) in target.iter_mut().zip(partner) {
        *target = f(*target, *partner);
    }
}

#[inline(always)]
fn is_zero(plane: &Plane) -> bool {
    plane.iter().fold(0, |all, word| all | word) == 0
}

flavours! {
    /// Codes equal to the constant, or all others when `invert` is all ones.
    fn equal [](
        planes: &[Plane],
        constant: &Masks,
        bits: usize,
        invert: u64,
        keep: &mut [Plane],
    ) -> usize {
        let mut read = 0;
        for (planes, keep) in planes.chunks_exact(bits).zip(keep) {
            if is_zero(keep) {
                continue;
            }
            let mut ties = *keep;
            for (some, masks) in planes.chunks(CHECK_PLANES).zip(constant.chunks(CHECK_PLANES)) {
                for (plane, &mask) in some.iter().zip(masks) {
                    each(&mut ties, plane, |tie, bits| tie & !(bits ^ mask));
                }
                read += some.len();
                if is_zero(&ties) {
                    break;
                }
            }
            each(keep, &ties, |keep, tie| keep & (tie ^ invert));
        }
        read
    }

    /// Codes inside of the bounds that `which` names.
    fn bounded [B: Bounds](
        planes: &[Plane],
        low: &Masks,
        high: &Masks,
        bits: usize,
        keep: &mut [Plane],
        _which: B,
    ) -> usize {
        let mut read = 0;
        for (planes, keep) in planes.chunks_exact(bits).zip(keep) {
            if is_zero(keep) {
                continue;
            }
            // Codes whose high bits are those of a bound, and codes known to be outside.
            let (mut on_low, mut on_high, mut outside) = (*keep, *keep, [0; 8]);
            let bounds = low.chunks(CHECK_PLANES).zip(high.chunks(CHECK_PLANES));
            for (some, (low, high)) in planes.chunks(CHECK_PLANES).zip(bounds) {
                for (plane, (&low, &high)) in some.iter().zip(low.iter().zip(high)) {
                    if B::LOW {
                        let mut less = on_low;
                        each(&mut less, plane, |tie, bits| tie & !bits & low);
                        each(&mut outside, &less, |outside, less| outside | less);
                        each(&mut on_low, plane, |tie, bits| tie & !(bits ^ low));
                    }
                    if B::HIGH {
                        let mut more = on_high;
                        each(&mut more, plane, |tie, bits| tie & bits & !high);
                        each(&mut outside, &more, |outside, more| outside | more);
                        each(&mut on_high, plane, |tie, bits| tie & !(bits ^ high));
                    }
                }
                read += some.len();
                let is_decided = (!B::LOW || is_zero(&on_low)) && (!B::HIGH || is_zero(&on_high));
                if is_decided {
                    break;
                }
            }
            each(keep, &outside, |keep, outside| keep & !outside);
        }
        read
    }
}
