//! Apache Kudu on the same machine, where its packages can be had: a cluster of one tablet server
//! for tests, and a client in Java, which prints its own lines.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Scratch;
use testkit::java::jars;

const PACKAGES: [&str; 3] = [
    "org.apache.kudu:kudu-client:1.18.1",
    "org.apache.kudu:kudu-test-utils:1.18.1",
    "org.apache.kudu:kudu-binary:1.18.1:linux-x86_64",
];

/// Name of the package of programs, and of the folder in it.
const BINARY: &str = "kudu-binary-1.18.1-linux-x86_64";

/// The folder of the programs, which are unpacked beside `jars`.
fn programs(jars: &Path) -> Result<PathBuf, String> {
    let home = jars.with_file_name("programs");
    fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let mut jar = Command::new("jar");
    jar.arg("xf").arg(jars.join(format!("{BINARY}.jar"))).current_dir(&home);
    let status = jar.status().map_err(|error| format!("jar: {error}"))?;
    if !status.success() {
        return Err(format!("jar ended with {status}"));
    }
    let place = home.join(BINARY);
    for program in ["kudu", "kudu-master", "kudu-tserver"] {
        let executable = fs::Permissions::from_mode(0o755);
        let program = place.join("bin").join(program);
        fs::set_permissions(program, executable).map_err(|error| error.to_string())?;
    }
    Ok(place)
}

fn run(rows: u64, calls: u64, scans: u32) -> Result<(), String> {
    let jars = jars("kudu", &PACKAGES)?;
    let programs = programs(&jars)?;
    let scratch = Scratch::new("bench-kudu");
    let source = scratch.join("Kudu.java");
    fs::write(&source, include_str!("Kudu.java")).map_err(|error| error.to_string())?;
    let mut java = Command::new("java");
    java.env("LD_LIBRARY_PATH", programs.join("lib"));
    java.env("SASL_PATH", programs.join("lib/sasl2"));
    java.arg(format!("-DkuduBinDir={}", programs.join("bin").display()));
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
