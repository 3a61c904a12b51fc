//! go-tpc: TPC-C and CH-benCHmark as their clients run them over the wire, with the conditions
//! of consistency that TPC-C names.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::psql::said;
use super::{Client, Report, Status};
use crate::server::Server;
use crate::venv::must;
use crate::{Outcome, peers_home, text};

/// Its package; the module's version is that of `go.mod`.
const PACKAGE: &str = "github.com/pingcap/go-tpc/cmd/go-tpc";

const MODULE: &str = include_str!("gotpc/go.mod");

/// The queries of CH-benCHmark.
const QUERIES: usize = 22;

/// Runs the scenarios.
pub(super) fn run(server: &Server, report: &mut Report) {
    let client = Client { name: "go-tpc", version: "1.0.12".into() };
    if Command::new("go").arg("version").output().is_err() {
        return report.line(&client, "all", Status::Skipped, "there is no go on this machine");
    }
    let program = match ready() {
        Ok(program) => program,
        Err(why) => return report.line(&client, "all", Status::Failed, &why),
    };
    let go_tpc = GoTpc { program: &program, server };
    let made = go_tpc.says(&["tpcc", "prepare", "-T", "2"], &["Finished"]);
    report.outcome(&client, "TPC-C: loads a warehouse", &made);
    // The eleventh condition holds of a new warehouse only.
    let holds = go_tpc.says(&["tpcc", "check", "--check-all"], &["Finished"]);
    report.outcome(&client, "TPC-C: all conditions hold", &holds);
    // It does not repeat what lost against another transaction: READ COMMITTED waits.
    let load = ["tpcc", "run", "-T", "2", "--count", "400", "--isolation", "2"];
    report.outcome(&client, "TPC-C: runs", &go_tpc.says(&load, &["NEW_ORDER -", "tpmC: "]));
    let holds = go_tpc.says(&["tpcc", "check"], &["Finished"]);
    report.outcome(&client, "TPC-C: conditions hold afterwards", &holds);
    let made = go_tpc.says(&["ch", "prepare"], &["creating view"]);
    report.outcome(&client, "CH-benCHmark: loads the rest", &made);
    report.outcome(&client, "CH-benCHmark: each query, beside TPC-C", &go_tpc.queries());
}

/// The program, built of its package.
fn ready() -> Result<PathBuf, String> {
    let folder = peers_home().with_file_name("clients").join("gotpc");
    std::fs::create_dir_all(&folder).map_err(text)?;
    std::fs::write(folder.join("go.mod"), MODULE).map_err(text)?;
    let mut go = Command::new("go");
    // Another toolchain than the machine's is not fetched; sums are those of the public database.
    go.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod");
    must(go.args(["build", "-o", "go-tpc", PACKAGE]).current_dir(&folder))?;
    Ok(folder.join("go-tpc"))
}

struct GoTpc<'a> {
    program: &'a Path,
    server: &'a Server,
}

impl GoTpc<'_> {
    /// Runs it; what it says. It ends well also when it says that something failed.
    fn output(&self, arguments: &[&str]) -> Result<String, String> {
        let Server { port, password, .. } = self.server;
        let mut command = Command::new(self.program);
        command.args(arguments).args(["-d", "postgres", "-H", "127.0.0.1", "-P", port]);
        command.args(["-U", "tessera", "-p", password, "-D", "tessera"]);
        command.args(["--conn-params", "sslmode=disable", "--warehouses", "1"]);
        let output = command.output().map_err(text)?;
        let said = said(&output);
        let is_bad = |line: &&str| line.contains("failed") || line.contains("_ERR ");
        match said.lines().find(is_bad) {
            Some(line) => Err(line.to_owned()),
            None if !output.status.success() => Err(said),
            None => Ok(said),
        }
    }

    /// Runs it; it must say all of `wanted`.
    fn says(&self, arguments: &[&str], wanted: &[&str]) -> Outcome {
        let said = self.output(arguments)?;
        match wanted.iter().find(|wanted| !said.contains(**wanted)) {
            Some(missing) => Err(format!("it says nothing of \"{missing}\": {said}")),
            None => Ok(()),
        }
    }

    /// A round of the queries, while as many transactions run.
    fn queries(&self) -> Outcome {
        let count = QUERIES.to_string();
        let said = self.output(&["ch", "run", "-T", "1", "-t", "1", "--count", &count])?;
        let ran = |number: usize| {
            let is_of = |line: &str| {
                let rest = line.strip_prefix(&format!("[Summary] Q{number} "));
                rest.is_some_and(|rest| rest.contains("Count: 1,"))
            };
            said.lines().any(is_of)
        };
        match (1..=QUERIES).find(|number| !ran(*number)) {
            Some(number) => Err(format!("Q{number} did not run once: {said}")),
            None => Ok(()),
        }
    }
}
