//! Files with the secret of a bus or of shared data.

use std::path::Path;

use types::{Error, Result, SqlState};

/// The secret in a file: one line, whose end does not count, of 16 letters, digits and signs or
/// more.
///
/// # Errors
/// F0000 with the file's name.
pub(crate) fn read(path: &Path) -> Result<String> {
    let wrong = |message: String| Error::new(SqlState::CONFIG_FILE_ERROR, message);
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("{place}: {error}")))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message =
            format!("{place}: a token is one line of 16 letters, digits and signs or more");
        return Err(wrong(message));
    }
    Ok(token.to_owned())
}
