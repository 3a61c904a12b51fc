//! Tests of the shell with scripts and its command line.

use std::path::Path;
use std::process::{Command, Output};

use testkit::Scratch;

/// Runs the program with `script` in a file, which it finds alone in `directory`.
fn run(directory: &Path, script: &str) -> Output {
    std::fs::write(directory.join("a.sql"), script).expect("writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tessera"));
    command.current_dir(directory).args(["--threads", "1", "--format", "csv"]);
    command.args([":memory:", "-f", "a.sql"]).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_file_has_statements_and_backslash_commands() {
    let directory = Scratch::new("shell-script");
    let script = "CREATE TABLE t (a text); INSERT INTO t VALUES ('x\n\\echo no\n');\n\
                  \\echo yes\n\
                  \\timing off\n\
                  SELECT length(a) AS n\nFROM t; -- the end\n\
                  \\q\n\
                  SELECT 'not run';\n";
    let output = run(directory.path(), script);
    assert_eq!(text(&output.stdout), "yes\nTiming is off.\nn\n11\n", "{output:?}");
    assert!(output.status.success());
    let left = std::fs::read_dir(directory.path()).expect("readable").count();
    assert_eq!(left, 1, "a database in memory leaves nothing");
}

#[test]
fn a_script_ends_at_its_first_error() {
    let directory = Scratch::new("shell-error");
    let script = "SELECT 1 AS a;\nSELECT b;\n\\echo not here\n";
    let output = run(directory.path(), script);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "a\n1\n");
    let message = text(&output.stderr);
    assert!(message.contains("42703") && message.contains("LINE 2"), "{message}");
}

#[test]
fn commands_of_other_shells_work() {
    let directory = Scratch::new("shell-others");
    let script = ".timer on\n.timer off\n.nothing\nSELECT 1 +\n.5 AS a;\nquit\nSELECT 2;\n";
    let output = run(directory.path(), script);
    assert_eq!(text(&output.stdout), "Timing is on.\nTiming is off.\na\n1.5\n", "{output:?}");
    assert!(text(&output.stderr).contains("unknown command .nothing"));
    assert!(output.status.success());
}

#[test]
fn the_last_statement_is_run_again_in_other_forms() {
    let directory = Scratch::new("shell-again");
    let script = ".mode table\n\
                  SELECT 1 AS a, NULL AS long \\gx\n\
                  \\pset null -\n\\x\nSELECT NULL AS n;\n\\x\n\
                  \\set limit 2\nSELECT ':limit' AS text, :limit AS value \\g out.txt\n\
                  .mode csv\n\\p\n\\g\n";
    let output = run(directory.path(), script);
    let shown = text(&output.stdout);
    let expected = "Output format is table.\n\
                    -[ RECORD 1 ]-----------\na    | 1\nlong | NULL\n(1 row)\n\
                    Null display is \"-\".\nExpanded display is on.\n\
                    -[ RECORD 1 ]--------\nn | -\n(1 row)\nExpanded display is off.\n\
                    Output format is csv.\n\
                    SELECT ':limit' AS text, :limit AS value\ntext,value\n:limit,2\n";
    assert_eq!(shown, expected, "{output:?}");
    let file = std::fs::read_to_string(directory.path().join("out.txt")).expect("it was written");
    assert!(file.contains(":limit") && file.contains("(1 row)"), "{file}");
    assert!(output.status.success());
}
