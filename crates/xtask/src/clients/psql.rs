//! Scenarios of psql and pgbench, and of a server that is killed.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use super::{Client, Report, Status};
use crate::server::Server;
use crate::{Outcome, text};

const LONG: &str = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3";

/// A client program of PostgreSQL, if it is there.
fn client(name: &'static str) -> Result<Client, String> {
    let output = Command::new(name).arg("--version").output();
    let output = output.map_err(|_| format!("there is no {name} on this machine"))?;
    // "psql (PostgreSQL) 15.18 (Debian ...)"
    let version = String::from_utf8_lossy(&output.stdout);
    let version = version.split_whitespace().nth(2).unwrap_or_default().to_owned();
    Ok(Client { name, version })
}

fn skipped(name: &'static str, why: &str, report: &mut Report) {
    let client = Client { name, version: String::new() };
    report.line(&client, "all", Status::Skipped, why);
}

/// A program of PostgreSQL as a client of `server`.
pub(super) fn command(program: &str, server: &Server) -> Command {
    let mut command = Command::new(program);
    command.args(["-h", "127.0.0.1", "-p", &server.port, "-U", "tessera"]);
    command.env("PGPASSWORD", &server.password).env("PGDATABASE", "tessera");
    // What is told besides results is not looked at here.
    command.env("PGOPTIONS", "-c client_min_messages=warning");
    command
}

/// Runs pgbench's own scripts, and looks whether the books balance.
pub(super) fn pgbench(server: &Server, report: &mut Report) {
    let client = match client("pgbench") {
        Ok(client) => client,
        Err(why) => return skipped("pgbench", &why, report),
    };
    let run = |arguments: &[&str]| {
        let output = command("pgbench", server).args(arguments).output().map_err(text)?;
        let said = said(&output);
        if output.status.success() && !said.contains("aborted") { Ok(()) } else { Err(said) }
    };
    let made = run(&["-i", "-q", "-s", "2", "--foreign-keys"]);
    report.outcome(&client, "initializes, with foreign keys", &made);
    let busy = ["-n", "-c", "8", "-j", "2", "-T", "3"];
    for (name, script, mode) in [
        ("select only, prepared", "select-only", "prepared"),
        ("TPC-B, simple", "tpcb-like", "simple"),
        ("TPC-B, extended", "tpcb-like", "extended"),
        ("TPC-B, prepared", "tpcb-like", "prepared"),
    ] {
        let outcome = run(&[&busy[..], &["-b", script, "-M", mode]].concat());
        report.outcome(&client, name, &outcome);
    }
    let sql = "select sum(abalance) = (select sum(delta) from pgbench_history) \
               and sum(abalance) = (select sum(tbalance) from pgbench_tellers) \
               and sum(abalance) = (select sum(bbalance) from pgbench_branches) \
               from pgbench_accounts";
    let psql = Psql { server };
    report.outcome(&client, "the books balance", &psql.says(sql, "t"));
}

/// Runs the scenarios of psql; the last kills the server.
pub(super) fn run(server: &mut Server, full: bool, report: &mut Report) {
    let client = match client("psql") {
        Ok(client) => client,
        Err(why) => return skipped("psql", &why, report),
    };
    let psql = Psql { server };
    let rows = if full { 10_000_000 } else { 1_000_000 };
    report.outcome(&client, "connects", &psql.says("select 1", "1"));
    report.outcome(&client, "wrong password", &psql.wrong_password());
    report.outcome(&client, "failed transaction", &psql.failed_transaction());
    report.outcome(&client, "variables, \\gset, \\if", &psql.variables());
    report.outcome(&client, "\\d of a table", &psql.describes());
    report.outcome(&client, "Ctrl-C cancels", &psql.interrupted());
    report.outcome(&client, "statement timeout", &psql.timeout());
    report.outcome(&client, &format!("\\copy of {rows} rows"), &psql.copies(rows));
    report.outcome(&client, "killed in a transaction: its locks go", &psql.killed());
    report.outcome(&client, "rows by FETCH_COUNT", &psql.fetch_count());
    report.outcome(&client, "notices", &psql.notices());
    report.outcome(&client, "what pg_dump and pg_dumpall wrote", &super::dump::restores(server));
    report.outcome(&client, "pg_dump of this server", &super::dumped::restores(server));
    let outcome = survives(server);
    report.outcome(&client, "server killed: data intact", &outcome);
}

/// Text of a program on standard output and error.
pub(super) fn said(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr];
    both.map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn expect(found: &str, wanted: &str) -> Outcome {
    if found.trim() == wanted {
        Ok(())
    } else {
        Err(format!("\"{}\" instead of \"{wanted}\"", found.trim()))
    }
}

fn contains(found: &str, wanted: &str) -> Outcome {
    if found.contains(wanted) {
        Ok(())
    } else {
        Err(format!("\"{}\" has no \"{wanted}\"", found.trim()))
    }
}

struct Psql<'a> {
    server: &'a Server,
}

impl Psql<'_> {
    fn command(&self) -> Command {
        let mut command = command("psql", self.server);
        command.args(["-X", "-A", "-t", "-q"]);
        command
    }

    /// Runs a script.
    fn script(&self, script: &str) -> Result<Output, String> {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(text)?;
        let mut input = child.stdin.take().ok_or("psql has no input")?;
        input.write_all(script.as_bytes()).map_err(text)?;
        drop(input);
        child.wait_with_output().map_err(text)
    }

    /// Runs `sql`, which must say `wanted`.
    fn says(&self, sql: &str, wanted: &str) -> Outcome {
        let output = self.command().args(["-c", sql]).output().map_err(text)?;
        expect(&said(&output), wanted)
    }

    fn wrong_password(&self) -> Outcome {
        let mut command = self.command();
        let output = command.env("PGPASSWORD", "wrong").args(["-c", "select 1"]).output();
        let output = output.map_err(text)?;
        contains(&said(&output), "password authentication failed for user \"tessera\"")?;
        expect(&output.status.code().unwrap_or(0).to_string(), "2")
    }

    fn failed_transaction(&self) -> Outcome {
        let output = self.script("begin; select 1/0; select 1; rollback; select 2;")?;
        contains(&said(&output), "current transaction is aborted")?;
        expect(&String::from_utf8_lossy(&output.stdout), "2")
    }

    fn variables(&self) -> Outcome {
        let script = "select 5 as x, 'it''s' as y \\gset\n\
                      select :x > 4 as large \\gset\n\
                      \\if :large\nselect :x + 1, :'y';\n\\else\nselect 0;\n\\endif\n";
        expect(&said(&self.script(script)?), "6|it's")
    }

    fn describes(&self) -> Outcome {
        let script = "drop table if exists psql_d; \
                      create table psql_d (a int primary key, b text not null default 'x');\n\
                      \\pset tuples_only off\n\\d psql_d\n\\dt psql_d\n";
        let said = said(&self.script(script)?);
        for part in ["a|integer||not null|", "psql_d_pkey", "PRIMARY KEY, btree (a)"] {
            contains(&said, part)?;
        }
        contains(&said, "public|psql_d|table|tessera")
    }

    fn interrupted(&self) -> Outcome {
        let mut command = self.command();
        command.args(["-c", LONG]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(text)?;
        std::thread::sleep(Duration::from_millis(700));
        signal(&child, "INT")?;
        let output = child.wait_with_output().map_err(text)?;
        contains(&said(&output), "canceling statement due to user request")
    }

    fn timeout(&self) -> Outcome {
        let output = self.script(&format!("set statement_timeout = '200ms'; {LONG}; select 3;"))?;
        contains(&said(&output), "canceling statement due to statement timeout")?;
        expect(&String::from_utf8_lossy(&output.stdout), "3")
    }

    fn copies(&self, rows: usize) -> Outcome {
        let (input, output) = (self.server.scratch("in"), self.server.scratch("out"));
        let outcome = self.copies_files(rows, &input, &output);
        let _ = (std::fs::remove_file(&input), std::fs::remove_file(&output));
        outcome
    }

    fn copies_files(
        &self,
        rows: usize,
        input: &std::path::Path,
        output: &std::path::Path,
    ) -> Outcome {
        let mut lines = BufWriter::new(File::create(input).map_err(text)?);
        for i in 0..rows {
            match i % 10 {
                0 => writeln!(lines, "{i}\t\\N\t{i}.50"),
                _ => writeln!(lines, "{i}\trow\\t{i}\t{i}.50"),
            }
            .map_err(text)?;
        }
        lines.into_inner().map_err(text)?.sync_data().map_err(text)?;
        let script = format!(
            "drop table if exists psql_copy; \
             create table psql_copy (a int, b text, c numeric(12, 2));\n\
             \\copy psql_copy from '{}'\n\
             select count(*), count(b), sum(a::bigint), sum(c) from psql_copy;\n\
             \\copy psql_copy to '{}'\ndrop table psql_copy;\n",
            input.display(),
            output.display()
        );
        let sum = rows * (rows - 1) / 2;
        let wanted = format!("{rows}|{}|{sum}|{}.00", rows - rows / 10, sum + rows / 2);
        expect(&said(&self.script(&script)?), &wanted)?;
        // Rows come in no order: lines of the same lengths are the same lines here.
        let bytes = |path| std::fs::metadata(path).map(|file| file.len()).map_err(text);
        expect(&bytes(output)?.to_string(), &bytes(input)?.to_string())
    }

    fn killed(&self) -> Outcome {
        self.script(
            "drop table if exists psql_lock; create table psql_lock (a int); \
             insert into psql_lock values (1);",
        )?;
        let mut command = self.command();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
        let begin = "begin; update psql_lock set a = 2; select 'locked';\n";
        let mut input = child.stdin.take().ok_or("psql has no input")?;
        input.write_all(begin.as_bytes()).map_err(text)?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("psql has no output")?;
        BufReader::new(output).read_line(&mut line).map_err(text)?;
        let outcome = expect(&line, "locked");
        child.kill().map_err(text)?;
        child.wait().map_err(text)?;
        outcome?;
        let script = "set statement_timeout = '15s'; update psql_lock set a = a + 10 returning a;";
        expect(&said(&self.script(script)?), "11")
    }

    fn fetch_count(&self) -> Outcome {
        let script = "\\set FETCH_COUNT 100\nselect i from generate_series(1, 1000) as g(i);\n";
        let said = said(&self.script(script)?);
        let wanted: Vec<String> = (1..=1000).map(|i| i.to_string()).collect();
        if said.trim() == wanted.join("\n") {
            Ok(())
        } else {
            Err(said.lines().next().unwrap_or_default().to_owned())
        }
    }

    fn notices(&self) -> Outcome {
        let said = said(
            &self.script("set client_min_messages = notice; drop table if exists psql_nothing;")?,
        );
        contains(&said, "NOTICE:  table \"psql_nothing\" does not exist, skipping")
    }
}

fn signal(child: &Child, name: &str) -> Outcome {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    if status.map_err(text)?.success() { Ok(()) } else { Err(format!("could not send SIG{name}")) }
}

/// Tests that committed rows are there after a SIGKILL, and nothing else.
fn survives(server: &mut Server) -> Outcome {
    let psql = Psql { server };
    let made = psql.script(
        "drop table if exists psql_kept; create table psql_kept (a int primary key, t text);\n\
         insert into psql_kept select i, 'row ' || i from generate_series(1, 1000) as g(i);\n\
         update psql_kept set t = 'changed' where a <= 10; delete from psql_kept where a > 900;\n",
    )?;
    expect(&said(&made), "")?;
    let mut open = psql.command();
    let mut open = open.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
    let mut input = open.stdin.take().ok_or("psql has no input")?;
    let begin = "begin; insert into psql_kept values (5000, 'x'); select 'open';\n";
    input.write_all(begin.as_bytes()).map_err(text)?;
    let mut line = String::new();
    let output = open.stdout.take().ok_or("psql has no output")?;
    BufReader::new(output).read_line(&mut line).map_err(text)?;
    expect(&line, "open")?;
    server.kill_and_start()?;
    let psql = Psql { server };
    let sql = "select count(*), sum(a), count(*) filter (where t = 'changed') from psql_kept";
    let outcome = psql.says(sql, "900|405450|10");
    let _ = open.kill();
    let _ = open.wait();
    outcome
}
