//! Backslash commands.

use std::borrow::Cow;

use comfy_table::{Table, presets};
use engine::{Database, TableInfo};
use sql::algebra::{Direction, NullsOrder};
use sql::catalog::{
    ForeignKeyDef, IdentityKind, IndexColumn, IndexMeta, ReferentialAction, SequenceDef, Uniqueness,
};

use crate::display::{Display, Expanded};

/// Next step of the shell after a backslash command.
#[derive(Debug, PartialEq)]
pub(crate) enum After {
    /// Read on.
    Continue,
    /// End.
    Quit,
    /// Run the statements of this file.
    Include(String),
    /// Show times, or do not; None for the other way round.
    Timing(Option<Timing>),
    /// Run this text.
    Statements(String),
    /// Run the last statement again: with this file for its rows, if there is one, and expanded or
    /// not.
    Again(Option<String>, Expanded),
    /// Run the last statement every so many seconds.
    Watch(f64),
    /// Edit the last statement, or this file, then run it.
    Edit(Option<String>),
    /// Set a variable; without a value take it away, without a name list them.
    Variable(Option<String>, Option<String>),
    /// Show the last statement.
    Last,
}

/// Display of times after each statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    On,
    Off,
}

const HELP: &str = "\
\\d, \\d NAME             tables, views and sequences; columns, indexes and constraints of one
\\dt \\di \\ds \\dv \\dm     tables with rows and bytes, indexes, sequences, views (materialized)
\\dn \\du \\df \\dT \\dp \\l  schemas, roles, functions, types, privileges, databases
\\x [on|off|auto]        rows as blocks of lines
\\t [on|off]             rows alone, without names and counts
.mode NAME              table, line, csv, json, markdown, arrow
\\pset OPTION VALUE      format, null, expanded, tuples_only
\\timing [on|off]        times after statements
\\g [FILE], \\gx          run the statement, rows into a file; with rows as blocks
\\watch [SECONDS]        run the last statement again and again until Ctrl-C
\\p, \\e [FILE]           show the last statement; edit it, then run it
\\o [FILE]               rows go into a file, or come here again
\\copy ...               COPY with the files of this machine
\\i FILE                 run the statements of a file
\\set [NAME VALUE]       variables, :name in statements; \\unset NAME
\\cd DIR, \\! COMMAND     change the directory, run a command of the system
\\conninfo               database and user
\\echo TEXT              print the text
\\q                      quit; so do quit and exit
Statements end with a semicolon. Ctrl-C cancels what runs, Ctrl-D quits.";

/// The query of `\conninfo`.
const CONNECTION: &str = "SELECT current_database() AS \"Database\", \
                          current_user AS \"User\", version() AS \"Server\"";

/// Commands of other shells, and the command here.
const TWINS: [(&str, &str); 19] = [
    (".tables", "\\dt"),
    (".schema", "\\d"),
    (".indexes", "\\di"),
    (".indices", "\\di"),
    (".databases", "\\l"),
    (".timer", "\\timing"),
    (".read", "\\i"),
    (".help", "\\?"),
    (".quit", "\\q"),
    (".exit", "\\q"),
    (".mode", "\\pset format"),
    (".nullvalue", "\\pset null"),
    (".output", "\\o"),
    (".print", "\\echo"),
    (".shell", "\\!"),
    (".system", "\\!"),
    (".cd", "\\cd"),
    (".edit", "\\e"),
    (".open", "\\open"),
];

/// The backslash command that `line` is or stands for, where a statement could begin; None for
/// SQL, which never begins with a point and a letter.
pub(crate) fn command(line: &str) -> Option<Cow<'_, str>> {
    let line = line.trim();
    if line.starts_with('\\') {
        return Some(line.into());
    }
    let words = [("quit", "\\q"), ("exit", "\\q"), ("help", "\\?")];
    let typed = line.trim_end_matches(';');
    if let Some((_, twin)) = words.iter().find(|(word, _)| typed.eq_ignore_ascii_case(word)) {
        return Some((*twin).into());
    }
    let named = line.strip_prefix('.')?.starts_with(|c: char| c.is_ascii_alphabetic());
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let twin = TWINS.iter().find(|(name, _)| *name == word);
    named.then(|| twin.map_or(line.into(), |(_, twin)| format!("{twin} {rest}").into()))
}

/// Runs the command in `line`, which [`command`] gave.
pub(crate) fn run(database: &Database, display: &mut Display, line: &str) -> After {
    let line = line.trim();
    let typed = line.trim_end_matches(';');
    let mut words = typed.split_whitespace();
    let (command, argument) = (words.next().unwrap_or(""), words.next());
    let rest = || typed.strip_prefix(command).unwrap_or("").trim();
    match (command, argument) {
        ("\\q" | "\\quit" | "\\exit", _) => return After::Quit,
        ("\\?" | "\\h" | "\\help", _) => println!("{HELP}"),
        ("\\timing", None) => return After::Timing(None),
        ("\\timing", Some("on")) => return After::Timing(Some(Timing::On)),
        ("\\timing", Some("off")) => return After::Timing(Some(Timing::Off)),
        ("\\timing", Some(other)) => eprintln!("\\timing takes on or off, not {other}"),
        ("\\echo", _) => println!("{}", line.strip_prefix(command).unwrap_or("").trim()),
        ("\\i" | "\\include", Some(path)) => return After::Include(path.to_owned()),
        ("\\i" | "\\include", None) => eprintln!("\\i needs a file name"),
        ("\\d", Some(name)) => describe(database, name),
        ("\\d", None) => list(&database.relations()),
        ("\\dt" | "\\dt+", _) => {
            let all = database.relations();
            let tables: Vec<TableInfo> = all.into_iter().filter(|i| i.kind == "table").collect();
            list(&tables);
        }
        ("\\di", _) => list_indexes(&database.relations()),
        ("\\ds", _) => list_sequences(&database.relations()),
        ("\\copy", Some(_)) => return After::Statements(format!("COPY {}", rest())),
        ("\\g", path) => return After::Again(path.map(str::to_owned), Expanded::Off),
        ("\\gx", path) => return After::Again(path.map(str::to_owned), Expanded::On),
        ("\\watch", seconds) => match seconds.unwrap_or("2").parse::<f64>() {
            Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => return After::Watch(seconds),
            _ => eprintln!("\\watch takes a number of seconds"),
        },
        ("\\e" | "\\edit", path) => return After::Edit(path.map(str::to_owned)),
        ("\\p" | "\\print", _) => return After::Last,
        ("\\set", None) => return After::Variable(None, None),
        ("\\set", Some(name)) => {
            let value = rest().strip_prefix(name).unwrap_or("").trim().trim_matches('\'');
            return After::Variable(Some(name.to_owned()), Some(value.to_owned()));
        }
        ("\\unset", Some(name)) => return After::Variable(Some(name.to_owned()), None),
        ("\\open", _) => eprintln!("a shell has one database; start another: tessera PATH"),
        ("\\conninfo", _) => return After::Statements(CONNECTION.to_owned()),
        _ => match crate::lists::query(command, argument) {
            Some(query) => return After::Statements(query),
            None => other(display, command, rest()),
        },
    }
    After::Continue
}

/// Commands about the display and the system.
fn other(display: &mut Display, command: &str, rest: &str) {
    let mut words = rest.split_whitespace();
    let (first, second) = (words.next(), words.next());
    let outcome = match command {
        "\\x" => display.expand(first),
        "\\t" => display.tuples_only(first),
        "\\o" | "\\out" => display.send_to(first),
        "\\pset" => match first {
            Some(option) => display.set(option, second.map(|value| value.trim_matches('\''))),
            None => Err("\\pset needs an option and a value".to_owned()),
        },
        "\\cd" => {
            let to = first.map(std::path::PathBuf::from);
            match to.or_else(|| std::env::var_os("HOME").map(Into::into)) {
                Some(to) => std::env::set_current_dir(&to)
                    .map(|()| String::new())
                    .map_err(|error| format!("{}: {error}", to.display())),
                None => Err("\\cd needs a directory".to_owned()),
            }
        }
        "\\!" => {
            let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            let mut process = std::process::Command::new(&shell);
            if !rest.is_empty() {
                process.arg("-c").arg(rest);
            }
            process.status().map(|_| String::new()).map_err(|error| format!("{shell}: {error}"))
        }
        _ => Err(format!("unknown command {command}; \\? lists them")),
    };
    match outcome {
        Ok(text) if text.is_empty() => {}
        Ok(text) => println!("{text}"),
        Err(text) => eprintln!("{text}"),
    }
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
            let has_rows = matches!(info.kind, "table" | "materialized view");
            if has_rows { n.to_string() } else { String::new() }
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
    for (ordinal, column) in info.columns.iter().enumerate() {
        let identity = info.identities.iter().find(|(of, _)| *of == ordinal);
        table.add_row([
            column.name.clone(),
            column.ty.to_string(),
            (if column.not_null { "not null" } else { "" }).to_owned(),
            match identity {
                Some((_, identity)) => identity_text(identity.kind).to_owned(),
                None => match &column.generated {
                    Some(expr) => format!("generated always as ({expr}) stored"),
                    None => column.default.clone().unwrap_or_default(),
                },
            },
        ]);
    }
    match &info.sequence {
        Some(sequence) => println!("{} {}\n{}", info.kind, info.name, sequence_text(sequence)),
        None => println!("{} {}\n{table}", info.kind, info.name),
    }
    let lines = [constraint_lines(info, &relations), trigger_lines(database, &info.name)];
    lines.iter().flatten().for_each(|line| println!("{line}"));
}

/// Triggers of a table, as `pg_get_triggerdef` tells them.
fn trigger_lines(database: &Database, name: &str) -> Vec<String> {
    let query = format!(
        "SELECT pg_catalog.pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t \
         JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid \
         WHERE c.relname = '{}' AND NOT t.tgisinternal ORDER BY t.tgname",
        name.replace('\'', "''")
    );
    let found = database.session().execute(&query).map(|result| result.text_rows());
    let texts: Vec<String> = found.unwrap_or_default().into_iter().flatten().flatten().collect();
    let line = |text: &String| format!("    {}", text.trim_start_matches("CREATE TRIGGER "));
    let head = (!texts.is_empty()).then(|| "Triggers:".to_owned());
    head.into_iter().chain(texts.iter().map(line)).collect()
}

fn identity_text(kind: IdentityKind) -> &'static str {
    match kind {
        IdentityKind::Always => "generated always as identity",
        IdentityKind::ByDefault => "generated by default as identity",
    }
}

fn sequence_text((def, owner): &(SequenceDef, Option<(String, String)>)) -> String {
    let owner = owner.as_ref().map_or(String::new(), |(t, c)| format!(", owned by {t}.{c}"));
    format!("{} from {} by {}, {} to {}{owner}", def.ty, def.start, def.increment, def.min, def.max)
}

/// Names of columns, in parentheses.
fn column_names(info: &TableInfo, ordinals: &[usize]) -> String {
    let name = |&ordinal: &usize| info.columns[ordinal].name.as_str();
    format!("({})", ordinals.iter().map(name).collect::<Vec<_>>().join(", "))
}

/// "btree (a, b DESC)".
fn index_text(info: &TableInfo, index: &IndexMeta) -> String {
    let column = |column: &IndexColumn| {
        let name = match column.expression() {
            Some(number) => index.terms.expressions[number].definition(),
            None => info.columns[column.ordinal].name.clone(),
        };
        match (column.direction, column.nulls) {
            (Direction::Ascending, NullsOrder::Last) => name,
            (Direction::Ascending, NullsOrder::First) => format!("{name} NULLS FIRST"),
            (Direction::Descending, NullsOrder::First) => format!("{name} DESC"),
            (Direction::Descending, NullsOrder::Last) => format!("{name} DESC NULLS LAST"),
        }
    };
    let columns: Vec<String> = index.columns.iter().map(column).collect();
    let options = index.options().map(|(name, value)| format!("{name}='{value}'"));
    let options: Vec<String> = options.collect();
    let option = match options.as_slice() {
        [] => String::new(),
        options => format!(" WITH ({})", options.join(", ")),
    };
    let predicate = index.terms.predicate.as_ref().map(|sql| format!(" WHERE {sql}"));
    let predicate = predicate.unwrap_or_default();
    format!("{} ({}){option}{predicate}", index.method(), columns.join(", "))
}

fn is_unique(index: &IndexMeta) -> &'static str {
    if index.unique == Uniqueness::No { "" } else { "UNIQUE, " }
}

/// Lines below the columns of a table: its indexes, constraints, and tables that refer to it.
fn constraint_lines(info: &TableInfo, relations: &[TableInfo]) -> Vec<String> {
    let mut lines = Vec::new();
    if !info.indexes.is_empty() {
        lines.push("Indexes:".to_owned());
    }
    for index in &info.indexes {
        let kind = match info.keys.iter().find(|key| key.name == index.name) {
            Some(key) if key.primary => "PRIMARY KEY, ",
            Some(_) => "UNIQUE CONSTRAINT, ",
            None => is_unique(index),
        };
        lines.push(format!("    \"{}\" {kind}{}", index.name, index_text(info, index)));
    }
    if !info.checks.is_empty() {
        lines.push("Check constraints:".to_owned());
    }
    for check in &info.checks {
        let end = check.validity.sql();
        lines.push(format!("    \"{}\" CHECK ({}){end}", check.name, check.sql));
    }
    if !info.foreign_keys.is_empty() {
        lines.push("Foreign-key constraints:".to_owned());
    }
    for key in &info.foreign_keys {
        lines.push(format!("    \"{}\" {}", key.name, foreign_text(info, key, relations)));
    }
    let mut referrers = Vec::new();
    for other in relations {
        for key in other.foreign_keys.iter().filter(|key| key.table.name == info.name) {
            let text = foreign_text(other, key, relations);
            referrers
                .push(format!("    TABLE \"{}\" CONSTRAINT \"{}\" {text}", other.name, key.name));
        }
    }
    if !referrers.is_empty() {
        lines.push("Referenced by:".to_owned());
        lines.append(&mut referrers);
    }
    lines
}

/// "FOREIGN KEY (a) REFERENCES p(x) ON DELETE CASCADE".
fn foreign_text(info: &TableInfo, key: &ForeignKeyDef, relations: &[TableInfo]) -> String {
    let parent = relations.iter().find(|other| other.name == key.table.name);
    let references = parent.map_or(String::new(), |p| column_names(p, &key.references));
    let action = |event: &str, action: ReferentialAction| match action {
        ReferentialAction::NoAction => String::new(),
        ReferentialAction::Restrict => format!(" ON {event} RESTRICT"),
        ReferentialAction::Cascade => format!(" ON {event} CASCADE"),
        ReferentialAction::SetNull => format!(" ON {event} SET NULL"),
        ReferentialAction::SetDefault => format!(" ON {event} SET DEFAULT"),
    };
    format!(
        "FOREIGN KEY {} REFERENCES {}{references}{}{}{}{}",
        column_names(info, &key.columns),
        key.table.name,
        action("UPDATE", key.on_update),
        action("DELETE", key.on_delete),
        key.deferral.sql(),
        key.validity.sql(),
    )
}

fn list_indexes(relations: &[TableInfo]) {
    let mut table = new_table(&["name", "table", "index"]);
    for info in relations {
        for index in &info.indexes {
            let text = format!("{}{}", is_unique(index), index_text(info, index));
            table.add_row([index.name.clone(), info.name.clone(), text]);
        }
    }
    println!("{table}");
}

fn list_sequences(relations: &[TableInfo]) {
    let mut table = new_table(&["name", "sequence"]);
    for info in relations {
        if let Some(sequence) = &info.sequence {
            table.add_row([info.name.clone(), sequence_text(sequence)]);
        }
    }
    println!("{table}");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that finds nothing is to fail.
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_its_indexes_and_constraints() {
        let database = Database::open_in_memory(engine::Config::default()).unwrap();
        let mut session = database.session();
        session
            .execute(
                "CREATE TABLE p (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b int UNIQUE, \
                 CONSTRAINT positive CHECK (b > 0));
                 CREATE INDEX p_ba ON p (b DESC, a);
                 CREATE INDEX p_tree ON p USING csb (b);
                 CREATE INDEX p_woven ON p USING bitweaving (b) WITH (type = h);
                 CREATE TABLE c (x int REFERENCES p ON DELETE CASCADE);",
            )
            .unwrap();
        let relations = database.relations();
        let info = |name: &str| relations.iter().find(|i| i.name == name).unwrap();
        assert_eq!(
            constraint_lines(info("p"), &relations),
            [
                "Indexes:",
                "    \"p_pkey\" PRIMARY KEY, btree (a)",
                "    \"p_b_key\" UNIQUE CONSTRAINT, btree (b)",
                "    \"p_ba\" btree (b DESC, a)",
                "    \"p_tree\" csb (b)",
                "    \"p_woven\" bitweaving (b) WITH (type='h')",
                "Check constraints:",
                "    \"positive\" CHECK (b > 0)",
                "Referenced by:",
                "    TABLE \"c\" CONSTRAINT \"c_x_fkey\" FOREIGN KEY (x) REFERENCES p(a) \
                 ON DELETE CASCADE",
            ]
        );
        assert_eq!(
            constraint_lines(info("c"), &relations),
            [
                "Foreign-key constraints:",
                "    \"c_x_fkey\" FOREIGN KEY (x) REFERENCES p(a) ON DELETE CASCADE",
            ]
        );
        let sequence = info("p_a_seq").sequence.clone().unwrap();
        assert_eq!(sequence_text(&sequence), "integer from 1 by 1, 1 to 2147483647, owned by p.a");
    }

    #[test]
    fn a_table_shows_its_triggers() {
        let database = Database::open_in_memory(engine::Config::default()).unwrap();
        let mut session = database.session();
        session
            .execute(
                "CREATE TABLE t (a int); CREATE TABLE u (a int);
                 CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
                 CREATE TRIGGER z BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
                 CREATE TRIGGER a AFTER DELETE ON t EXECUTE FUNCTION f();",
            )
            .unwrap();
        assert_eq!(
            trigger_lines(&database, "t"),
            [
                "Triggers:",
                "    a AFTER DELETE ON public.t FOR EACH STATEMENT EXECUTE FUNCTION f()",
                "    z BEFORE INSERT ON public.t FOR EACH ROW EXECUTE FUNCTION f()",
            ]
        );
        assert!(trigger_lines(&database, "u").is_empty());
    }

    #[test]
    fn commands_of_other_shells_are_known() {
        let found = |line| command(line).map(Cow::into_owned);
        assert_eq!(found(" \\dt ").as_deref(), Some("\\dt"));
        assert_eq!(found("exit;").as_deref(), Some("\\q"));
        assert_eq!(found("Help").as_deref(), Some("\\?"));
        assert_eq!(found(".schema t").as_deref(), Some("\\d t"));
        assert_eq!(found(".timer on").as_deref(), Some("\\timing on"));
        assert_eq!(found(".unknown x").as_deref(), Some(".unknown x"));
        assert_eq!(found("select 1"), None);
        assert_eq!(found(".5 + 1"), None);
        assert_eq!(found("help me"), None);
    }
}
