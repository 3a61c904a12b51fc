//! Aggregation against a brute-force twin.
