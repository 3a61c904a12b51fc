//! Which crate may know which: the order of DESIGN section 2.
//!
//! ```text
//! types < kernels < storage < txn      types < host < wal < txn
//! types < host < wal < bus < sched     types < sql < plan     types < rpc
//! types < kernels < store < transport  types < host < wal < store < transport < shared
//! types < kernels < store < codegen
//! all of these < exec < catalog < durable < engine < formats, workloads, wire, procs,
//!     bus_server, bus_embedded
//! these < flight < server, python
//! ```

/// Chains of crates, lower ones first: each may depend on what stands before it.
const CHAINS: &[&[&str]] = &[
    &["types", "kernels", "storage", "txn"],
    &["types", "host", "wal", "txn"],
    &["types", "host", "wal", "bus", "sched"],
    &["types", "sql", "plan"],
    &["types", "rpc"],
    &["types", "kernels", "store", "transport", "shared"],
    &["types", "kernels", "store", "codegen"],
    &["types", "host", "wal", "store", "transport", "shared"],
];

/// Crates above all chains, in layers; crates of one layer do not know each other.
const LAYERS: &[&[&str]] = &[
    &["exec"],
    &["catalog"],
    &["durable"],
    &["engine"],
    &["formats", "workloads", "wire", "procs", "bus_server", "bus_embedded"],
    &["flight"],
    &["server", "python"],
];

/// Crates that only tests and developers use.
const DEVELOPMENT: &[&str] = &["testkit", "xtask"];

/// External crates that stay at the leaves: a name or `prefix*`, and who may use it.
const HEAVY: &[(&str, &[&str])] = &[
    ("sqlparser", &["sql"]),
    ("cranelift*", &["codegen"]),
    ("arrow-flight", &["flight"]),
    (
        "arrow*",
        &[
            "formats",
            "wire",
            "procs",
            "server",
            "workloads",
            "python",
            "flight",
            "testkit",
            "xtask",
        ],
    ),
    ("parquet", &["formats", "wire", "procs", "server", "workloads", "testkit", "xtask"]),
    ("tokio*", &["wire", "rpc", "bus_server", "flight"]),
    ("tonic*", &["rpc", "bus_server", "flight"]),
    ("prost*", &["bus_server", "flight"]),
    ("protox", &["bus_server"]),
    ("axum", &["bus_server"]),
    ("pgwire", &["wire"]),
    ("rustls", &["wire"]),
    ("sqllogictest", &["testkit"]),
    ("rusqlite", &["workloads", "bus"]),
    ("redb", &["bus"]),
    ("postgres", &["xtask", "wire", "bus", "workloads", "server"]),
    ("zookeeper-client", &["bus"]),
    ("pyo3", &["python"]),
];

/// Why `user` may not depend on the workspace crate `used`, if it may not.
pub(super) fn objection(user: &str, used: &str) -> Option<String> {
    if DEVELOPMENT.contains(&used) && user != "xtask" {
        return Some(format!("{used} is for development: [dev-dependencies] only"));
    }
    if user == "testkit" && !DEVELOPMENT.contains(&used) {
        return Some("testkit knows nothing of the product".into());
    }
    if user == "xtask" || below(used, user) {
        return None;
    }
    Some(if layer(user).is_some() || in_chain(user) {
        format!("{used} is not below {user}")
    } else {
        format!("{user} has no place in the order of the crates yet")
    })
}

/// Why `user` may not use the external crate `used`, if it may not.
pub(super) fn heavy(user: &str, used: &str) -> Option<String> {
    let (_, users) = HEAVY.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
        Some(prefix) => used.starts_with(prefix),
        None => used == *pattern,
    })?;
    (!users.contains(&user)).then(|| format!("{used} stays in {}", users.join(", ")))
}

fn below(lower: &str, upper: &str) -> bool {
    match (layer(lower), layer(upper)) {
        (Some(a), Some(b)) => a < b,
        (None, Some(_)) => in_chain(lower),
        (Some(_), None) => false,
        (None, None) => CHAINS.iter().any(|chain| {
            let place = |name| chain.iter().position(|member| *member == name);
            matches!((place(lower), place(upper)), (Some(a), Some(b)) if a < b)
        }),
    }
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn in_chain(name: &str) -> bool {
    CHAINS.iter().any(|chain| chain.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_design_holds() {
        for (user, used) in [("kernels", "types"), ("txn", "wal"), ("plan", "sql")] {
            assert_eq!(objection(user, used), None);
        }
        for (user, used) in [("exec", "plan"), ("engine", "sched"), ("server", "formats")] {
            assert_eq!(objection(user, used), None);
        }
    }

    #[test]
    fn what_points_upwards_or_sideways_is_refused() {
        for (user, used) in [
            ("types", "kernels"),
            ("storage", "sql"),
            ("wal", "storage"),
            ("sched", "exec"),
            ("formats", "workloads"),
            ("engine", "formats"),
            ("engine", "testkit"),
            ("unknown", "types"),
        ] {
            assert!(objection(user, used).is_some(), "{user} -> {used}");
        }
    }

    #[test]
    fn heavy_crates_stay_at_the_leaves() {
        assert!(heavy("engine", "sqlparser").is_some());
        assert!(heavy("exec", "arrow-array").is_some());
        assert_eq!(heavy("formats", "arrow-array"), None);
        assert_eq!(heavy("engine", "hashbrown"), None);
    }
}
