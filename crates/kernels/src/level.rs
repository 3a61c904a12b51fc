//! Which instructions the machine has, found out once, and functions compiled once for each set.

use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that kernels are compiled for; later ones include earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Instructions of every machine.
    Scalar = 1,
    /// AVX2, BMI, POPCNT: Haswell and later, every Zen.
    Avx2 = 2,
    /// AVX-512 with VBMI: Ice Lake and later, Zen 4 and later.
    Avx512 = 3,
}

static LEVEL: AtomicU8 = AtomicU8::new(0);

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<Level>> = const { std::cell::Cell::new(None) };
}

/// The best instruction set of this machine. Costs one load.
#[inline]
pub fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = FORCED.get() {
        return level;
    }
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Scalar,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => detect(),
    }
}

#[cold]
fn detect() -> Level {
    let found = detect_features();
    LEVEL.store(found as u8, Ordering::Relaxed);
    found
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn detect_features() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Scalar,
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn detect_features() -> Level {
    Level::Scalar
}

/// Runs `test` once for each instruction set of this machine, forced on this thread.
#[cfg(test)]
pub(crate) fn at_every_level(mut test: impl FnMut(Level)) {
    let best = detect_features();
    for level in [Level::Scalar, Level::Avx2, Level::Avx512] {
        if level <= best {
            FORCED.set(Some(level));
            test(level);
            FORCED.set(None);
        }
    }
}

/// Defines functions whose body is compiled for each [`Level`] and chosen at each call.
///
/// Type parameters are in square brackets, must be inferable from the arguments, and closures among
/// them are inlined into each copy.
macro_rules! flavours {
    ($(
        $(#[$meta:meta])*
        $vis:vis fn $name:ident [$($generic:tt)*] ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)?
        $body:block
    )*) => {$(
        $(#[$meta])*
        $vis fn $name<$($generic)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<$($generic)*>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2<$($generic)*>($($arg: $ty),*) $(-> $ret)? {
                body($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
            #[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
            fn avx512<$($generic)*>($($arg: $ty),*) $(-> $ret)? {
                body($($arg),*)
            }

            match $crate::level::level() {
                // SAFETY: `level` found the features of its variant on this machine.
                #[cfg(target_arch = "x86_64")]
                $crate::level::Level::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::level::Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => body($($arg),*),
            }
        }
    )*};
}
pub(crate) use flavours;
