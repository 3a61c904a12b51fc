//! SCRAM-SHA-256: a client proves that it knows a password, which it does not send; what the
//! server keeps of it lets nobody in.
//!
//! ```text
//! client: n,,n=,r=NONCE             server: r=NONCE+,s=SALT,i=ROUNDS
//! client: c=biws,r=NONCE+,p=PROOF   server: v=SIGNATURE
//! verifier: SCRAM-SHA-256$ROUNDS:SALT$STORED KEY:SERVER KEY        all but ROUNDS in base64
//! ```
//! Source: RFC 5802, RFC 7677; the form of the verifier is PostgreSQL's. Departure: no channel
//! binding.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};
use types::{Error, Result, SqlState};

use crate::message::violation;
use crate::random;

/// Rounds of a new verifier, as in PostgreSQL.
const ROUNDS: NonZeroU32 = NonZeroU32::new(4096).expect("not zero");

const PREFIX: &str = "SCRAM-SHA-256";

const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;

/// Stored form of a password.
#[derive(Clone)]
pub(crate) struct Verifier {
    rounds: u32,
    salt: Vec<u8>,
    stored_key: [u8; KEY_BYTES],
    server_key: [u8; KEY_BYTES],
}

fn sign(key: &[u8], message: &[u8]) -> [u8; KEY_BYTES] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    let mut bytes = [0; KEY_BYTES];
    bytes.copy_from_slice(tag.as_ref());
    bytes
}

fn hash(bytes: &[u8]) -> [u8; KEY_BYTES] {
    let mut hashed = [0; KEY_BYTES];
    hashed.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hashed
}

impl Verifier {
    fn derive(password: &str, salt: Vec<u8>, rounds: NonZeroU32) -> Self {
        // Text that SASLprep refuses is taken as it is, as PostgreSQL does.
        let prepared = stringprep::saslprep(password).unwrap_or(password.into());
        let mut salted = [0; KEY_BYTES];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, rounds, &salt, prepared.as_bytes(), &mut salted);
        Self {
            rounds: rounds.get(),
            salt,
            stored_key: hash(&sign(&salted, b"Client Key")),
            server_key: sign(&salted, b"Server Key"),
        }
    }

    /// A verifier that no password fits, always the same for a user: who does not exist looks like
    /// who does.
    pub(crate) fn of_nobody(user: &str, secret: &[u8; 32]) -> Self {
        let salt = sign(secret, user.as_bytes())[..16].to_vec();
        let keys = (sign(secret, b"stored"), sign(secret, b"server"));
        Self { rounds: ROUNDS.get(), salt, stored_key: keys.0, server_key: keys.1 }
    }

    /// Whether it was made of `password`.
    pub(crate) fn is_of(&self, password: &str) -> bool {
        let Some(rounds) = NonZeroU32::new(self.rounds) else { return false };
        let other = Self::derive(password, self.salt.clone(), rounds);
        // Without an early end: how long it takes tells nothing.
        let both = other.stored_key.into_iter().zip(self.stored_key);
        both.fold(0, |any, (a, b)| any | (a ^ b)) == 0
    }

    /// Reads what [`make_verifier`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?.strip_prefix('$')?;
        let (head, keys) = rest.split_once('$')?;
        let (rounds, salt) = head.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text: &str| STANDARD.decode(text).ok()?.try_into().ok();
        Some(Self {
            rounds: rounds.parse().ok().filter(|rounds| (1..=10_000_000).contains(rounds))?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }
}

/// Makes the stored form of `password`: a new verifier, or itself when it is one.
///
/// # Errors
/// 0A000 for a verifier of MD5; XX000 when the system has no random numbers.
pub(crate) fn make_verifier(password: &str) -> Result<String> {
    let is_md5 = password.strip_prefix("md5").is_some_and(|digits| {
        digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    if is_md5 {
        let error = Error::unsupported("a password that is kept as MD5");
        return Err(error.with_hint("Give the password itself; it is kept as SCRAM-SHA-256."));
    }
    if Verifier::parse(password).is_some() {
        return Ok(password.to_owned());
    }
    let verifier = Verifier::derive(password, random::bytes::<16>()?.to_vec(), ROUNDS);
    let [salt, stored, server] = [&verifier.salt[..], &verifier.stored_key, &verifier.server_key]
        .map(|b| STANDARD.encode(b));
    Ok(format!("{PREFIX}${ROUNDS}:{salt}${stored}:{server}"))
}

fn malformed() -> Error {
    violation("malformed SCRAM message")
}

/// The value of the attribute that `part` must be.
fn attribute(part: Option<&str>, name: char) -> Result<&str> {
    let rest = part.and_then(|part| part.strip_prefix(name));
    rest.and_then(|rest| rest.strip_prefix('=')).ok_or_else(malformed)
}

/// An exchange after the server's first message.
pub(crate) struct Exchange {
    verifier: Verifier,
    /// Both first messages, a comma between them.
    messages: String,
    nonce: String,
    /// Channel binding that the client names, in base64.
    binding: String,
}

impl Exchange {
    /// Answers the client's first message: the exchange, and what to send.
    ///
    /// # Errors
    /// 08P01 for what is no such message, 0A000 for channel binding.
    pub(crate) fn begin(verifier: Verifier, first: &[u8]) -> Result<(Self, String)> {
        let nonce = STANDARD.encode(random::bytes::<18>()?);
        Self::begin_with(verifier, first, &nonce)
    }

    fn begin_with(verifier: Verifier, first: &[u8], nonce: &str) -> Result<(Self, String)> {
        let first = std::str::from_utf8(first).map_err(|_| malformed())?;
        let mut parts = first.splitn(3, ',');
        let (flag, identity) = (parts.next(), parts.next());
        let bare = parts.next().ok_or_else(malformed)?;
        match flag {
            Some("n" | "y") => {}
            Some(flag) if flag.starts_with("p=") => {
                return Err(Error::unsupported("SCRAM with channel binding"));
            }
            _ => return Err(malformed()),
        }
        if identity != Some("") {
            return Err(Error::unsupported("SCRAM with an authorization identity"));
        }
        let mut parts = bare.split(',');
        // The name is that of the startup message.
        attribute(parts.next(), 'n')?;
        let client_nonce = attribute(parts.next(), 'r')?;
        if client_nonce.is_empty() || !client_nonce.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(malformed());
        }
        let nonce = format!("{client_nonce}{nonce}");
        let salt = STANDARD.encode(&verifier.salt);
        let answer = format!("r={nonce},s={salt},i={}", verifier.rounds);
        let messages = format!("{bare},{answer}");
        let binding = STANDARD.encode(format!("{},,", flag.unwrap_or_default()));
        Ok((Self { verifier, messages, nonce, binding }, answer))
    }

    /// Answers the client's last message: what to send; None for a wrong password.
    ///
    /// # Errors
    /// 08P01 for what is no such message.
    pub(crate) fn finish(&self, last: &[u8]) -> Result<Option<String>> {
        let last = std::str::from_utf8(last).map_err(|_| malformed())?;
        let (without_proof, proof) = last.rsplit_once(',').ok_or_else(malformed)?;
        let mut parts = without_proof.split(',');
        let binding = attribute(parts.next(), 'c')?;
        let nonce = attribute(parts.next(), 'r')?;
        let proof = STANDARD.decode(attribute(Some(proof), 'p')?).map_err(|_| malformed())?;
        let proof: [u8; KEY_BYTES] = proof.try_into().map_err(|_| malformed())?;
        if binding != self.binding || nonce != self.nonce {
            return Err(malformed());
        }
        let messages = format!("{},{without_proof}", self.messages);
        let signature = sign(&self.verifier.stored_key, messages.as_bytes());
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(byte, other)| *byte ^= other);
        let both = hash(&client_key).into_iter().zip(self.verifier.stored_key);
        // Without an early end: how long it takes tells nothing.
        if both.fold(0, |any, (a, b)| any | (a ^ b)) != 0 {
            return Ok(None);
        }
        let signature = sign(&self.verifier.server_key, messages.as_bytes());
        Ok(Some(format!("v={}", STANDARD.encode(signature))))
    }
}

/// 28P01.
pub(crate) fn wrong_password(user: &str) -> Error {
    let message = format!("password authentication failed for user \"{user}\"");
    Error::new(SqlState::INVALID_PASSWORD, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_example_of_the_standard() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let verifier = Verifier::derive("pencil", salt, ROUNDS);
        let first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
        let nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let (exchange, answer) = Exchange::begin_with(verifier, first, nonce).expect("well formed");
        assert_eq!(
            answer,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let answer = exchange.finish(last.as_bytes()).expect("well formed");
        assert_eq!(answer.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        let wrong = last.replace("p=dH", "p=dI");
        assert_eq!(exchange.finish(wrong.as_bytes()).expect("well formed"), None);
    }

    #[test]
    fn verifiers_are_read_back() {
        let text = make_verifier("se\u{301}same").expect("random numbers");
        let verifier = Verifier::parse(&text).expect("own text");
        let again = Verifier::derive("s\u{e9}same", verifier.salt.clone(), ROUNDS);
        assert_eq!(again.stored_key, verifier.stored_key);
        assert_eq!(make_verifier(&text).expect("kept"), text);
        assert!(Verifier::parse("SCRAM-SHA-256$0:AA==$AA==:AA==").is_none());
    }

    proptest! {
        #[test]
        fn no_message_panics(
            first in "[ny]?,?,?n?=?,?r?=?.{0,20}",
            last in "(c=biws,r=)?.{0,30}(,p=.{0,10})?",
        ) {
            let verifier = Verifier::of_nobody("user", &[7; 32]);
            let begun = Exchange::begin(verifier.clone(), first.as_bytes());
            if let Ok((exchange, _)) = begun {
                let _ = exchange.finish(last.as_bytes());
            }
            let begun = Exchange::begin_with(verifier, b"n,,n=,r=a", "b");
            let (exchange, _) = begun.expect("well formed");
            let _ = exchange.finish(last.as_bytes());
        }
    }
}
