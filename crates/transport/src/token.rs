//! The secret that processes of a database share, and how both ends of a connection show that they
//! have it without sending it.
//!
//! ```text
//! client: hello                        server: challenge, a number drawn now
//! client: proof, a number drawn now    server: welcome, or a refusal
//! proof    HMAC-SHA-256(secret, "client", both numbers, session)
//! welcome  HMAC-SHA-256(secret, "server", both numbers, session)
//! ```
//! A proof is of no use in another connection, and a server without the secret is found out. What
//! follows is neither hidden nor sealed: who can change packets between the two can take a
//! connection over.
//! Elsewhere: when it is asked for (`tcp`).

use std::fmt;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use types::{Error, Result, SqlState};

/// Letters, digits and signs that a secret has at least.
const TOKEN_BYTES_MIN: usize = 16;

/// Bytes of a number drawn for one connection.
pub(crate) const NONCE_BYTES: usize = 32;

/// Bytes of a proof's code.
const CODE_BYTES: usize = 32;

/// A shared secret.
#[derive(Clone)]
pub struct Token(hmac::Key);

/// Without the secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

/// Numbers of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) server: [u8; NONCE_BYTES],
    pub(crate) client: [u8; NONCE_BYTES],
    pub(crate) session: u64,
}

impl Token {
    /// The secret that a text is: one line, whose end does not count.
    ///
    /// # Errors
    /// F0000 for less than 16 letters, digits and signs, or anything else.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim_end_matches(['\r', '\n']);
        if text.len() < TOKEN_BYTES_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = "a token is one line of 16 letters, digits and signs or more";
            return Err(Error::new(SqlState::CONFIG_FILE_ERROR, message));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())))
    }

    /// The code that `end` shows.
    pub(crate) fn code(&self, end: End, draw: &Draw) -> [u8; CODE_BYTES] {
        let mut code = [0; CODE_BYTES];
        code.copy_from_slice(hmac::sign(&self.0, &message(end, draw)).as_ref());
        code
    }

    /// True when `code` is what `end` shows; takes as long for any other.
    pub(crate) fn accepts(&self, end: End, draw: &Draw, code: &[u8]) -> bool {
        hmac::verify(&self.0, &message(end, draw), code).is_ok()
    }
}

fn message(end: End, draw: &Draw) -> Vec<u8> {
    let mut message = match end {
        End::Client => b"client".to_vec(),
        End::Server => b"server".to_vec(),
    };
    message.extend(draw.server);
    message.extend(draw.client);
    message.extend(draw.session.to_le_bytes());
    message
}

/// A number that nobody guesses.
///
/// # Errors
/// When the system has none.
pub(crate) fn nonce() -> std::io::Result<[u8; NONCE_BYTES]> {
    let mut bytes = [0; NONCE_BYTES];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.map_err(|_| std::io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_belong_to_a_secret_an_end_and_a_connection() {
        let token = Token::new("0123456789abcdef\n").expect("long enough");
        let other = Token::new("0123456789abcdeF").expect("long enough");
        let draw = Draw { server: nonce().expect("drawn"), client: [1; 32], session: 5 };
        let code = token.code(End::Client, &draw);
        assert!(token.accepts(End::Client, &draw, &code));
        assert!(!token.accepts(End::Server, &draw, &code));
        assert!(!token.accepts(End::Client, &Draw { session: 6, ..draw }, &code));
        assert!(!token.accepts(End::Client, &Draw { server: [0; 32], ..draw }, &code));
        assert!(!token.accepts(End::Client, &draw, &code[..31]));
        assert!(!other.accepts(End::Client, &draw, &code));
        assert_eq!(format!("{token:?}"), "Token");
    }

    #[test]
    fn short_and_strange_secrets_are_refused() {
        for text in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdef\n1"] {
            assert!(Token::new(text).is_err(), "{text:?}");
        }
    }
}
