//! The interactive shell, and scripts that may hold backslash commands.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::{CancelHandle, Session};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Config, Editor};

use crate::arguments::Format;
use crate::complete::ShellHelper;
use crate::display::{Display, Expanded};
use crate::execute::run_text;
use crate::meta::{self, After, Timing};
use crate::scan::{Ending, Scanner, ending, trailing_command};
use crate::variables::{Variables, filled};

/// State of a shell between inputs.
struct Shell<'a> {
    session: &'a mut Session,
    display: Display,
    timing: Timing,
    variables: Variables,
    /// Text that was run last.
    last: String,
    /// Files being included, to stop an endless nesting.
    depth: usize,
}

/// How deep files may include each other.
const DEPTH_MAX: usize = 16;

fn history_path() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    Some(PathBuf::from(home).join(".tessera_history"))
}

/// Reads and runs statements until the end of input or `\q`.
pub(crate) fn run(session: &mut Session, format: Format) {
    println!("Tessera {}. \\? for help, \\q to quit.", env!("CARGO_PKG_VERSION"));
    let config = Config::builder().auto_add_history(false).build();
    let mut editor = match Editor::<ShellHelper, DefaultHistory>::with_config(config) {
        Ok(editor) => editor,
        Err(error) => {
            eprintln!("tessera: the terminal cannot be used: {error}");
            return;
        }
    };
    editor.set_helper(Some(ShellHelper { database: session.database().clone() }));
    let history = history_path();
    if let Some(path) = &history {
        // The first session has no history yet.
        let _ = editor.load_history(path);
    }
    let mut shell = Shell::new(session, format);
    loop {
        match editor.readline("tessera> ") {
            Ok(text) => {
                if ending(&text) == Ending::Blank {
                    continue;
                }
                // History is a convenience: an entry that cannot be kept is no error.
                let _ = editor.add_history_entry(text.trim_end());
                if shell.input(&text) == Next::Quit {
                    break;
                }
            }
            // Ctrl-C at the prompt drops the line.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => {
                eprintln!("tessera: {error}");
                break;
            }
        }
    }
    if let Some(path) = &history {
        let _ = editor.save_history(path);
    }
}

/// Runs a script, from standard input or a file; false when a statement failed. Stops at the first
/// error.
pub(crate) fn run_script(session: &mut Session, text: &str, format: Format) -> bool {
    let mut shell = Shell::new(session, format);
    shell.script(text) != Next::Failed
}

/// Next step after an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Failed,
    Quit,
}

/// How a time ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Whole,
    Cancelled,
}

/// Waits for some seconds, or for Ctrl-C.
fn passes(seconds: f64, cancel: &CancelHandle) -> Passed {
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        if cancel.is_cancelled() {
            return Passed::Cancelled;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Passed::Whole
}

impl<'a> Shell<'a> {
    fn new(session: &'a mut Session, format: Format) -> Self {
        let (display, variables) = (Display::new(format), Variables::new());
        Self { session, display, timing: Timing::Off, variables, last: String::new(), depth: 0 }
    }

    /// One input of the user: a backslash command, or statements and perhaps one behind them.
    fn input(&mut self, text: &str) -> Next {
        let Some(command) = meta::command(text) else {
            let Some(at) = trailing_command(text) else { return self.statements(text) };
            text[..at].trim().clone_into(&mut self.last);
            return self.command(text[at..].trim());
        };
        self.command(&command)
    }

    fn command(&mut self, command: &str) -> Next {
        let database = self.session.database().clone();
        match meta::run(&database, &mut self.display, command) {
            After::Continue => Next::More,
            After::Quit => Next::Quit,
            After::Timing(wanted) => {
                self.timing = wanted.unwrap_or(match self.timing {
                    Timing::On => Timing::Off,
                    Timing::Off => Timing::On,
                });
                println!("Timing is {}.", if self.timing == Timing::On { "on" } else { "off" });
                Next::More
            }
            After::Include(path) => self.include(&path),
            After::Statements(text) => self.statements(&text),
            After::Again(path, expanded) => self.again(path.as_deref(), expanded),
            After::Watch(seconds) => self.watch(seconds),
            After::Edit(path) => self.edit(path.as_deref()),
            After::Last => {
                println!("{}", self.last);
                Next::More
            }
            After::Variable(name, value) => {
                match (name, value) {
                    (None, _) => self
                        .variables
                        .iter()
                        .for_each(|(name, value)| println!("{name} = '{value}'")),
                    (Some(name), Some(value)) => _ = self.variables.insert(name, value),
                    (Some(name), None) => _ = self.variables.remove(&name),
                }
                Next::More
            }
        }
    }

    /// Runs the last statement, with other places or forms for its rows.
    fn again(&mut self, path: Option<&str>, expanded: Expanded) -> Next {
        let text = self.last.clone();
        if text.is_empty() {
            eprintln!("there is no statement to run");
            return Next::More;
        }
        let file = self.display.file.take();
        let before = self.display.expanded;
        if expanded == Expanded::On {
            self.display.expanded = Expanded::On;
        }
        let next = match self.display.send_to(path) {
            Ok(_) => {
                if path.is_none() {
                    self.display.file = file;
                    let next = self.statements(&text);
                    self.display.expanded = before;
                    return next;
                }
                self.statements(&text)
            }
            Err(error) => {
                eprintln!("{error}");
                Next::Failed
            }
        };
        (self.display.file, self.display.expanded) = (file, before);
        next
    }

    /// Runs the last statement again and again until it fails or Ctrl-C.
    fn watch(&mut self, seconds: f64) -> Next {
        let text = self.last.clone();
        if text.is_empty() {
            eprintln!("there is no statement to run");
            return Next::More;
        }
        let cancel = self.session.cancel_handle();
        loop {
            let next = self.statements(&text);
            if next != Next::More || passes(seconds, &cancel) == Passed::Cancelled {
                return Next::More;
            }
        }
    }

    /// Lets the user's editor change the last statement, or the file `path`, and runs the outcome.
    fn edit(&mut self, path: Option<&str>) -> Next {
        let own = std::env::temp_dir().join(format!("tessera-edit-{}.sql", std::process::id()));
        let file = path.map_or_else(|| own.clone(), PathBuf::from);
        let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
        let editor = editor.unwrap_or_else(|| "vi".to_owned());
        let edited = || {
            if path.is_none() {
                std::fs::write(&file, &self.last)?;
            }
            let command = format!("{editor} \"$1\"");
            let arguments = ["-c".as_ref(), command.as_ref(), "sh".as_ref(), file.as_os_str()];
            std::process::Command::new("/bin/sh").args(arguments).status()?;
            std::fs::read_to_string(&file)
        };
        let text = edited();
        if path.is_none() {
            // Nothing is lost with it.
            let _ = std::fs::remove_file(&own);
        }
        match text {
            Ok(text) => {
                println!("{}", text.trim_end());
                self.statements(&text)
            }
            Err(error) => {
                eprintln!("{editor}: {error}");
                Next::Failed
            }
        }
    }

    fn include(&mut self, path: &str) -> Next {
        if self.depth == DEPTH_MAX {
            eprintln!("{path}: files include each other {DEPTH_MAX} deep");
            return Next::Failed;
        }
        match std::fs::read_to_string(path) {
            Ok(text) => {
                self.depth += 1;
                let next = self.script(&text);
                self.depth -= 1;
                next
            }
            Err(error) => {
                eprintln!("{path}: {error}");
                Next::Failed
            }
        }
    }

    /// Statements and backslash commands, each on lines of its own.
    fn script(&mut self, text: &str) -> Next {
        let (mut pending, mut scanner) = (String::new(), Scanner::default());
        for line in text.split_inclusive('\n') {
            if scanner.ending() == Ending::Open || meta::command(line).is_none() {
                scanner.read(line);
                pending.push_str(line);
                // `SELECT 1 \gx` ends with its line.
                if line.contains('\\') && trailing_command(&pending).is_some() {
                    scanner = Scanner::default();
                    let text = std::mem::take(&mut pending);
                    match self.input(&text) {
                        Next::More => continue,
                        next => return next,
                    }
                }
                continue;
            }
            let next = self.flush(&mut pending, &mut scanner);
            let next = if next == Next::More { self.input(line) } else { next };
            if next != Next::More {
                return next;
            }
        }
        self.flush(&mut pending, &mut scanner)
    }

    /// Runs what was read.
    fn flush(&mut self, pending: &mut String, scanner: &mut Scanner) -> Next {
        let text = std::mem::take(pending);
        let ending = std::mem::take(scanner).ending();
        if ending == Ending::Blank { Next::More } else { self.statements(&text) }
    }

    fn statements(&mut self, text: &str) -> Next {
        text.trim().clone_into(&mut self.last);
        let text = &filled(text, &self.variables);
        let start = Instant::now();
        let fine = run_text(self.session, text, &self.display);
        if self.timing == Timing::On {
            println!("Time: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
        }
        if fine { Next::More } else { Next::Failed }
    }
}
