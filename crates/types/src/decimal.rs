//! Exact arithmetic on scaled integers.
