//! pgcrypto: passwords.
//!
//! ```text
//! $2a$10$ salt (22 letters) hash (31)    blowfish: 2^10 rounds
//! $1$salt$ hash (22)                     1000 rounds of MD5
//! ```

use types::{Error, Result, SqlState};

use super::crypto::Hash;
use super::secret;
use crate::rows::{Texts, Values, try_write};
use crate::{Vector, VectorData};

/// The digits of MD5's passwords, base 64.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The digits of blowfish's.
const BLOWFISH_DIGITS: &[u8; 64] =
    b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Bytes of a blowfish salt.
const SALT_BYTES: usize = 16;
/// Digits of them.
const SALT_DIGITS: usize = 22;
/// A longer password counts as its beginning.
const PASSWORD_BYTES_MAX: usize = 72;

fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER, message)
}

fn missing(algorithm: &str) -> Error {
    Error::unsupported(format!("passwords by {algorithm}"))
}

/// gen_salt(TEXT algorithm [, INTEGER rounds]) -> TEXT; volatile: `rows` values.
///
/// # Errors
/// 22023 for an unknown algorithm or number of rounds; 0A000 for des and xdes.
pub fn salt(algorithm: &Vector, rounds: Option<&Vector>, rows: usize) -> Result<Vector> {
    let names = Texts::new(algorithm);
    let counts = rounds.map(Values::<i32>::new);
    let every = Vector::new(VectorData::I32(vec![0; rows]));
    let arguments: Vec<&Vector> = [algorithm, &every].into_iter().chain(rounds).collect();
    try_write(&arguments, |i, out| {
        let rounds = counts.map_or(0, |counts| counts.get(i));
        let wrong = || invalid("gen_salt: Incorrect number of rounds");
        let mut bytes = [0; SALT_BYTES];
        secret::fill(&mut bytes)?;
        match names.str(i)?.to_ascii_lowercase().as_str() {
            "bf" => {
                let rounds = if rounds == 0 { 6 } else { rounds };
                if !(4..=31).contains(&rounds) {
                    return Err(wrong());
                }
                out.extend_from_slice(format!("$2a${rounds:02}$").as_bytes());
                push_blowfish(out, &bytes);
            }
            "md5" => {
                if rounds != 0 && rounds != 1000 {
                    return Err(wrong());
                }
                out.extend_from_slice(b"$1$");
                out.extend(bytes[..8].iter().map(|byte| DIGITS[usize::from(byte & 63)]));
            }
            name @ ("des" | "xdes") => return Err(missing(name)),
            _ => return Err(invalid("gen_salt: Unknown salt algorithm")),
        }
        Ok(())
    })
}

/// crypt(TEXT password, TEXT salt) -> TEXT.
///
/// # Errors
/// 22023 for what is no salt; 0A000 for those of des and xdes.
pub fn crypt(password: &Vector, salt: &Vector) -> Result<Vector> {
    let (passwords, salts) = (Texts::new(password), Texts::new(salt));
    try_write(&[password, salt], |i, out| {
        let salt = salts.bytes(i);
        if salt.starts_with(b"$2a$") {
            blowfish(passwords.bytes(i), salt, out)
        } else if salt.starts_with(b"$1$") {
            out.extend_from_slice(&md5(passwords.bytes(i), &salt[3..]));
            Ok(())
        } else if salt.starts_with(b"$2") {
            Err(missing("other forms of blowfish"))
        } else if salt.starts_with(b"$") || salt.len() < 2 {
            Err(invalid("invalid salt"))
        } else {
            Err(missing(if salt[0] == b'_' { "xdes" } else { "des" }))
        }
    })
}

fn blowfish(password: &[u8], salt: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let wrong = || invalid("invalid salt");
    let (head, rest) = salt.split_at_checked(7).ok_or_else(wrong)?;
    let rounds = match head {
        [_, _, _, _, a @ b'0'..=b'3', b @ b'0'..=b'9', b'$'] => {
            u32::from(a - b'0') * 10 + u32::from(b - b'0')
        }
        _ => return Err(wrong()),
    };
    if !(4..=31).contains(&rounds) {
        return Err(wrong());
    }
    let digits = rest.get(..SALT_DIGITS).ok_or_else(wrong)?;
    let salt = blowfish_salt(digits).ok_or_else(wrong)?;
    let mut counted = password.to_vec();
    counted.push(0);
    counted.truncate(PASSWORD_BYTES_MAX);
    let hash = bcrypt::bcrypt(rounds, salt, &counted);
    out.extend_from_slice(head);
    push_blowfish(out, &salt);
    // The last byte is not shown.
    push_blowfish(out, &hash[..23]);
    Ok(())
}

/// Appends bytes as blowfish's digits, the high bits first.
fn push_blowfish(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let mut bits = 0u32;
        (0..3).for_each(|i| bits = bits << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        let digit = |i: usize| BLOWFISH_DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
        out.extend((0..=group.len()).map(digit));
    }
}

fn blowfish_salt(digits: &[u8]) -> Option<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    let (mut bits, mut count, mut at) = (0u32, 0, 0);
    for digit in digits {
        let value = BLOWFISH_DIGITS.iter().position(|known| known == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            if let Some(slot) = salt.get_mut(at) {
                *slot = (bits >> count & 255) as u8;
            }
            at += 1;
        }
    }
    Some(salt)
}

/// Source: Poul-Henning Kamp, 1995: passwords of FreeBSD.
fn md5(password: &[u8], salt: &[u8]) -> Vec<u8> {
    let end = salt.iter().position(|byte| *byte == b'$').unwrap_or(salt.len()).min(8);
    let salt = &salt[..end];
    let of = |parts: &[&[u8]]| Hash::Md5.of(parts);
    let inner = of(&[password, salt, password]);
    let mut text = [password, b"$1$", salt].concat();
    text.extend(inner.iter().cycle().take(password.len()));
    let mut bits = password.len();
    while bits > 0 {
        text.push(if bits & 1 == 1 { 0 } else { password[0] });
        bits >>= 1;
    }
    let mut hash = of(&[&text]);
    for round in 0..1000 {
        let (odd, even) = (round % 2 == 1, round % 2 == 0);
        let first: &[u8] = if odd { password } else { &hash };
        let salted: &[u8] = if round % 3 == 0 { b"" } else { salt };
        let again: &[u8] = if round % 7 == 0 { b"" } else { password };
        let last: &[u8] = if even { password } else { &hash };
        hash = of(&[first, salted, again, last]);
    }
    let mut out = [b"$1$".as_slice(), salt, b"$"].concat();
    let mut push = |bytes: [usize; 3], digits: usize| {
        let [a, b, c] = bytes.map(|at| hash.get(at).copied().map_or(0, u32::from));
        let bits = a << 16 | b << 8 | c;
        out.extend((0..digits).map(|i| DIGITS[(bits >> (6 * i) & 63) as usize]));
    };
    for at in 0..4 {
        push([at, at + 6, at + 12], 4);
    }
    push([4, 10, 5], 4);
    // Two of the three are none.
    push([16, 16, 11], 2);
    out
}
