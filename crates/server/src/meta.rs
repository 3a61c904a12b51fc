//! Backslash commands.

use comfy_table::{Table, presets};
use engine::{Database, TableInfo};

/// What the shell does after a backslash command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Read on.
    Continue,
    /// End.
    Quit,
    /// Run the statements of this file.
    Include(String),
    /// Switch the display of times.
    Timing,
}

const HELP: &str = "\
\\d          tables and views
\\d NAME     columns of a table or view
\\dt         tables, with rows and bytes
\\timing     switch the display of times on or off
\\i FILE     run the statements of a file
\\?          this list
\\q          quit
Statements end with a semicolon. Ctrl-C cancels what runs, Ctrl-D quits.";

/// Runs the command in `line`, which begins with a backslash.
pub(crate) fn run(database: &Database, line: &str) -> After {
    let mut words = line.trim().trim_end_matches(';').split_whitespace();
    let (command, argument) = (words.next().unwrap_or(""), words.next());
    match (command, argument) {
        ("\\q" | "\\quit" | "\\exit", _) => return After::Quit,
        ("\\?" | "\\h" | "\\help", _) => println!("{HELP}"),
        ("\\timing", _) => return After::Timing,
        ("\\i" | "\\include", Some(path)) => return After::Include(path.to_owned()),
        ("\\i" | "\\include", None) => eprintln!("\\i needs a file name"),
        ("\\d", Some(name)) => describe(database, name),
        ("\\d", None) => list(&database.relations()),
        ("\\dt", _) => {
            let all = database.relations();
            let tables: Vec<TableInfo> = all.into_iter().filter(|i| i.kind == "table").collect();
            list(&tables);
        }
        _ => eprintln!("unknown command {command}; \\? lists them"),
    }
    After::Continue
}

fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(header);
    table
}

fn list(relations: &[TableInfo]) {
    if relations.is_empty() {
        println!("There are no tables. Try: CALL tpch(sf => 0.1);");
        return;
    }
    let mut table = new_table(&["name", "kind", "rows", "bytes"]);
    for info in relations {
        let number = |n: u64| {
            if info.kind == "table" { n.to_string() } else { String::new() }
        };
        table.add_row([
            info.name.clone(),
            info.kind.to_owned(),
            number(info.rows),
            number(info.bytes),
        ]);
    }
    println!("{table}");
}

fn describe(database: &Database, name: &str) {
    let wanted = match name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => name.to_ascii_lowercase(),
    };
    let relations = database.relations();
    let Some(info) = relations.iter().find(|i| i.name == wanted) else {
        eprintln!("there is no table or view \"{wanted}\"");
        return;
    };
    let mut table = new_table(&["column", "type", "nullable", "default"]);
    for column in &info.columns {
        table.add_row([
            column.name.clone(),
            column.ty.to_string(),
            (if column.not_null { "not null" } else { "" }).to_owned(),
            column.default.clone().unwrap_or_default(),
        ]);
    }
    println!("{} {}\n{table}", info.kind, info.name);
    for key in &info.keys {
        let names: Vec<&str> = key.columns.iter().map(|&c| info.columns[c].name.as_str()).collect();
        let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        println!("{kind} ({})", names.join(", "));
    }
}
