//! Apache Kudu on the same machine, where its packages can be had: a cluster of one tablet server
//! for tests, and a client in Java, which prints its own lines.

use std::fs;
use std::process::Command;

use testkit::Scratch;
use testkit::java::jars;

const PACKAGES: [&str; 4] = [
    "org.apache.kudu:kudu-client:1.18.1",
    "org.apache.kudu:kudu-test-utils:1.18.1",
    "org.apache.kudu:kudu-binary:1.18.1:linux-x86_64",
    "org.slf4j:slf4j-nop:1.7.36",
];

fn run(rows: u64, calls: u64, scans: u32) -> Result<(), String> {
    let jars = jars("kudu", &PACKAGES)?;
    let scratch = Scratch::new("bench-kudu");
    let source = scratch.join("Kudu.java");
    fs::write(&source, include_str!("Kudu.java")).map_err(|error| error.to_string())?;
    let mut java = Command::new("java");
    java.args(["-Xmx2g", "-cp"]).arg(jars.join("*")).arg(source).arg(scratch.join("cluster"));
    java.args([rows.to_string(), calls.to_string(), scans.to_string()]);
    let status = java.status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("its client ended with {status}")) }
}

/// Prints its rates, or why it is not there.
pub(crate) fn compare(rows: u64, calls: u64, scans: u32) {
    // It is slower by more than ten.
    if let Err(reason) = run(rows, calls / 10, scans) {
        println!("kudu: left out: {reason}");
    }
}
