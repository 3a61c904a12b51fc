//! Sorting and limits against a brute-force twin.
