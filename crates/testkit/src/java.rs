//! Programs of others in Java, from Maven's packages.
//!
//! ```text
//! names of packages -> mvn -> peers/NAME/jars -> java -cp
//! ```
//! Invariant: packages are fetched once for each list of names; who comes later finds them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where peers and their data are kept between runs.
pub fn peers_home() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target.unwrap_or_else(usual).join("peers")
}

/// The folder with the jars of `packages` (`group:artifact:version`, or with a classifier behind)
/// and of what they need; kept as `name`.
///
/// # Errors
/// When there is no Java or no Maven, or the packages are not to be had.
pub fn jars(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    for tool in ["java", "mvn"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return Err(format!("{name} needs {tool}, which is not here"));
        }
    }
    let home = peers_home().join(name);
    let (jars, project) = (home.join("jars"), project(packages));
    if jars.is_dir() && fs::read_to_string(home.join("pom.xml")).is_ok_and(|old| old == project) {
        return Ok(jars);
    }
    // Made aside, so that nobody finds a part of it.
    let aside = peers_home().join(format!("{name}-{}", std::process::id()));
    let made = fetch(&aside, &project).and_then(|()| {
        let _ = fs::remove_dir_all(&home);
        fs::rename(&aside, &home).map_err(|error| error.to_string())
    });
    let _ = fs::remove_dir_all(&aside);
    // Another process may have been first.
    if made.is_ok() || jars.is_dir() { Ok(jars) } else { made.map(|()| jars) }
}

fn fetch(folder: &Path, project: &str) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    fs::write(folder.join("pom.xml"), project).map_err(|error| error.to_string())?;
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]);
    let output = maven.current_dir(folder).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Err(said.lines().find(|line| line.contains("ERROR")).unwrap_or("mvn failed").to_owned())
}

/// A project that is nothing but its dependencies.
fn project(packages: &[&str]) -> String {
    let dependency = |package: &&str| {
        let parts: Vec<&str> = package.split(':').collect();
        let tag = |name: &str, at: usize| {
            format!("<{name}>{}</{name}>", parts.get(at).copied().unwrap_or_default())
        };
        let mut tags = [tag("groupId", 0), tag("artifactId", 1), tag("version", 2)].concat();
        if parts.len() > 3 {
            tags.push_str(&tag("classifier", 3));
        }
        format!("<dependency>{tags}</dependency>\n")
    };
    let dependencies: String = packages.iter().map(dependency).collect();
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
         <modelVersion>4.0.0</modelVersion>\n\
         <groupId>peer</groupId><artifactId>peer</artifactId><version>1</version>\n\
         <dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )
}

/// A program of `jars`, to be given arguments.
pub fn java(jars: &Path, options: &[&str], main: &str) -> Command {
    let mut command = Command::new("java");
    command.args(options).arg("-cp").arg(jars.join("*")).arg(main);
    command
}

/// A port of this machine that nobody listens on.
///
/// # Errors
/// When the system gives none.
pub fn free_port() -> Result<u16, String> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| error.to_string())
}
