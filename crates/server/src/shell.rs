//! The interactive shell, and scripts that may hold backslash commands.

use std::path::PathBuf;
use std::time::Instant;

use engine::Session;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Config, Editor};

use crate::arguments::Format;
use crate::complete::ShellHelper;
use crate::execute::run_text;
use crate::meta::{self, After, Timing};
use crate::scan::{Ending, Scanner, ending};

/// State of a shell between inputs.
struct Shell<'a> {
    session: &'a mut Session,
    format: Format,
    timing: Timing,
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
    let mut shell = Shell { session, format, timing: Timing::Off, depth: 0 };
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
    let mut shell = Shell { session, format, timing: Timing::Off, depth: 0 };
    shell.script(text) != Next::Failed
}

/// Next step after an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Failed,
    Quit,
}

impl Shell<'_> {
    /// One input of the user: a backslash command or statements.
    fn input(&mut self, text: &str) -> Next {
        let Some(command) = meta::command(text) else {
            return self.statements(text);
        };
        match meta::run(self.session.database(), &command) {
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
        let start = Instant::now();
        let fine = run_text(self.session, text, self.format);
        if self.timing == Timing::On {
            println!("Time: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
        }
        if fine { Next::More } else { Next::Failed }
    }
}
