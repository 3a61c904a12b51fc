//! Ctrl-C cancels the running statement, never the program while one runs.

use engine::CancelHandle;

/// Lets Ctrl-C cancel what the session of `cancel` runs. A second Ctrl-C before the cancel took
/// effect ends the program.
pub(crate) fn watch(cancel: &CancelHandle) {
    let cancel = cancel.clone();
    let handler = move || {
        if cancel.is_cancelled() {
            std::process::exit(130);
        }
        cancel.cancel();
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        eprintln!("tessera: Ctrl-C will end the program: {error}");
    }
}
