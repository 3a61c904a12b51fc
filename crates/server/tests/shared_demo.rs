//! `tessera shared-demo`: processes are killed while clients work, nothing is lost, and nothing of
//! the demo stays when it ends.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// A hundredth of TPC-C's rows.
const SMALL: [&str; 3] = ["shared-demo", "--scale", "0.01"];

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tessera"));
    command.args(SMALL);
    command
}

/// Directory that the demo says it works in.
fn directory(said: &str) -> PathBuf {
    let line = said.lines().find_map(|line| line.split_once("nodes, in ")).expect("the first line");
    line.1.trim_end_matches(':').into()
}

/// Asserts that no process that the demo started runs.
fn assert_ended(said: &str) {
    let number = |line: &str| {
        let (_, number) = line.split_once("process ")?;
        number.trim_end_matches(')').parse::<i32>().ok()
    };
    let numbers: Vec<i32> = said.lines().filter_map(number).collect();
    assert!(numbers.len() >= 5, "a manager, two stores, two nodes at least: {said}");
    for number in numbers {
        let process = Pid::from_raw(number).expect("not 0");
        assert!(test_kill_process(process).is_err(), "{number} runs: {said}");
    }
}

#[test]
fn killed_nodes_and_stores_lose_nothing() {
    let output = demo().args(["--seconds", "4", "--warehouses", "2", "--keep"]).output();
    let output = output.expect("the program was built");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    let story = [
        "node-2 is killed (kill -9 ",
        "node-3 is started (process ",
        "store-3 is started (process ",
        "keys move: ",
        "store 3 on ",
        "store-2 is killed (kill -9 ",
        "store-2 is started again, and serves after ",
        "tessera stores --remove",
        "store-3 is killed (kill -9 ",
        " snapshots of order_line were read through Arrow Flight: ",
        "The 12 consistency conditions of TPC-C hold.",
        " New-Orders were acknowledged: each is there, once, with its lines.",
    ];
    let mut rest = &*said;
    for part in story {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("no \"{part}\": {said}{errors}")).1;
    }
    let counted = said.lines().find_map(|line| line.split_once(" New-Orders were acknowledged"));
    let acknowledged: u32 = counted.and_then(|parts| parts.0.parse().ok()).expect("a number");
    assert!(acknowledged > 0, "{said}");
    let read = said.lines().find_map(|line| line.split_once(" snapshots of order_line were read"));
    let snapshots: u32 = read.and_then(|parts| parts.0.parse().ok()).expect("a number");
    assert!(snapshots > 0, "{said}");
    assert_ended(&said);
    // What is kept is there, and commands that start it again are said.
    let kept = directory(&said);
    for name in ["manager", "store-1", "store-2"] {
        assert!(kept.join(name).exists(), "{name}: {said}");
    }
    assert!(said.contains(&format!("tessera commit-manager {}/manager --listen ", kept.display())));
    std::fs::remove_dir_all(kept).expect("it is ours");
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let child =
        demo().args(["--seconds", "3600", "--warehouses", "1"]).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("the program was built");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut said = String::new();
    let mut listen = |until: &str| {
        for line in lines.by_ref().map_while(Result::ok) {
            said += &format!("{line}\n");
            if line.contains(until) {
                return;
            }
        }
    };
    // The first row of rates comes behind this line.
    listen("second ");
    listen(" 1 ");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    listen("no line has this");
    let status = child.wait().expect("it is ours");
    assert_eq!(status.code(), Some(1), "{said}");
    let end = "Interrupted: all processes have ended, and nothing was checked.\n";
    assert!(said.ends_with(end), "{said}");
    assert_ended(&said);
    assert!(!directory(&said).exists(), "{said}");
}
