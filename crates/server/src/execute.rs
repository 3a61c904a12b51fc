//! Runs the statements of a text and prints what they give.
//!
//! Called by the shell and by scripts.

use engine::Session;

use crate::display::Display;
use crate::{progress, render, report};

/// Runs all statements of `text` and prints their results; false after an error, which is reported.
pub(crate) fn run_text(session: &mut Session, text: &str, display: &Display) -> bool {
    let bar = progress::Watch::start(session);
    let outcome = session.execute_each(text, |result| {
        bar.pause();
        render::print(&result, display)
    });
    bar.stop();
    if let Err(error) = outcome {
        report::print(text, &error);
        return false;
    }
    true
}
