//! `tessera serve --config FILE`: options from a file.
//!
//! ```text
//! # a comment
//! data = "/var/lib/tessera"        the database directory
//! listen = "0.0.0.0:5432"          any option of the command line, without its dashes
//! listen = "[::]:5432"             may be repeated where the option may
//! ```
//! Lines become arguments in front of those of the command line, which win: an option given there
//! is not taken from the file.

use std::ffi::OsString;

use clap::CommandFactory as _;

use crate::arguments::Arguments;

/// The arguments with those of the file that `--config` names.
///
/// # Errors
/// Description of an error in the file, with its line.
pub(crate) fn expanded(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or("")).collect();
    let Some(serve) = words.iter().position(|word| *word == "serve") else { return Ok(arguments) };
    let Some(file) = config_of(&words[serve..]) else { return Ok(arguments) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let lines = read(&text).map_err(|(line, what)| format!("{file}:{line}: {what}"))?;
    let has_path = has_path(&words[serve + 1..]);
    let mut added = Vec::new();
    for (key, value) in lines {
        let option = format!("--{key}");
        let given = |word: &&str| **word == option || word.starts_with(&format!("{option}="));
        match key.as_str() {
            "data" if !has_path => added.push(OsString::from(value)),
            "data" => {}
            _ if words.iter().any(&given) => {}
            _ => added.push(OsString::from(format!("{option}={value}"))),
        }
    }
    let mut all = arguments;
    all.splice(serve + 1..serve + 1, added);
    Ok(all)
}

fn config_of<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--config") {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    })
}

/// True when a word behind `serve` is the directory: neither an option nor the value of one.
fn has_path(words: &[&str]) -> bool {
    let mut after_option = false;
    for word in words {
        match word.strip_prefix("--") {
            Some(option) => after_option = !option.contains('='),
            None if after_option => after_option = false,
            None => return true,
        }
    }
    false
}

/// Options that a file may have.
fn known() -> Vec<String> {
    let command = Arguments::command();
    let long = |command: &clap::Command| -> Vec<String> {
        command.get_arguments().filter_map(|a| a.get_long().map(str::to_owned)).collect()
    };
    let mut all = command.find_subcommand("serve").map(long).unwrap_or_default();
    all.extend(["threads", "memory", "data"].map(str::to_owned));
    all.retain(|name| name != "config" && name != "help" && name != "format");
    all
}

/// Keys and values; an error is a line and what is wrong with it.
fn read(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    let known = known();
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) =
            line.split_once('=').ok_or_else(|| (number, "expected \"key = value\"".to_owned()))?;
        let key = key.trim().replace('_', "-");
        if !known.contains(&key) {
            return Err((number, format!("unknown key \"{key}\"")));
        }
        all.push((key, value_of(value.trim()).map_err(|what| (number, what))?));
    }
    Ok(all)
}

/// A value between quotes, or up to a comment.
fn value_of(text: &str) -> Result<String, String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let value = text.split('#').next().unwrap_or_default().trim();
        return if value.is_empty() {
            Err("a value is missing".to_owned())
        } else {
            Ok(value.to_owned())
        };
    };
    let (value, rest) =
        quoted.split_once('"').ok_or_else(|| "the closing quote is missing".to_owned())?;
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(value.to_owned())
    } else {
        Err(format!("unexpected \"{rest}\" behind the value"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::Command;

    fn words(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn lines_are_options_and_the_command_line_wins() {
        let path = std::env::temp_dir().join(format!("tessera-config-{}", std::process::id()));
        let text = "# where\ndata = \"/var/lib/t\" # here\n\nlisten = 0.0.0.0:1\n\
                    listen = 0.0.0.0:2\n\
                    max_connections = 7\nlog-format = json\nthreads = 3\n";
        std::fs::write(&path, text).expect("a file");
        let file = path.to_str().expect("a name");
        let all = expanded(words(&["tessera", "serve", "--config", file, "--max-connections=9"]));
        let parsed = Arguments::try_parse_from(all.expect("a good file")).expect("options");
        let Some(Command::Serve(serve)) = parsed.command else { panic!("it serves") };
        assert_eq!(serve.path.as_deref(), Some(std::path::Path::new("/var/lib/t")));
        assert_eq!((serve.listen.len(), serve.max_connections), (2, 9));
        assert_eq!(parsed.limits.threads, Some(3));
        let own = ["tessera", "serve", "here", "--config", file, "--listen", "127.0.0.1:5"];
        let parsed = Arguments::try_parse_from(expanded(words(&own)).expect("a good file"));
        let Some(Command::Serve(serve)) = parsed.expect("options").command else { panic!() };
        assert_eq!(serve.path.as_deref(), Some(std::path::Path::new("here")));
        assert_eq!(serve.listen.len(), 1);
        std::fs::remove_file(&path).expect("it is there");
    }

    #[test]
    fn mistakes_have_their_line() {
        let wrong = |text: &str| read(text).expect_err("wrong");
        assert_eq!(wrong("\nlisten = a\nlissten = b"), (3, "unknown key \"lissten\"".to_owned()));
        assert_eq!(wrong("listen").0, 1);
        assert_eq!(wrong("user = \"a").1, "the closing quote is missing");
        assert_eq!(wrong("user = # no").1, "a value is missing");
        assert_eq!(wrong("config = x").1, "unknown key \"config\"");
    }
}
