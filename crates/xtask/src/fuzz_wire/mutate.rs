//! Changes that no client makes.

use testkit::Random;

/// Numbers at the ends of their types.
const EXTREMES: [i32; 8] = [0, 1, 3, 4, -1, i32::MAX, i32::MIN, 0x0100_0000];

/// Pieces of statements that are seldom where they are put.
const PIECES: [&str; 28] = [
    "NULL",
    "'x'",
    "1.5",
    "-9223372036854775808",
    "1e308",
    "'infinity'",
    "''",
    "(SELECT 1)",
    "sum(1)",
    "*",
    "$1",
    "$65535",
    "ARRAY[1, NULL]",
    "'{}'",
    "::int",
    "::text",
    "::date[]",
    "OVER ()",
    "(",
    ")",
    "WITH t AS (SELECT 1) ",
    "UNION ALL SELECT 1",
    "LIMIT 0",
    "GROUP BY 1",
    "\u{fffd}\u{1f600}",
    "/*",
    "$$",
    "DISTINCT",
];

/// A place below `length`; 0 when there is none.
fn at(random: &mut Random, length: usize) -> usize {
    random.below(length.max(1) as u64) as usize
}

/// One of `all`, which are not empty.
pub(super) fn one_of<'a, T>(random: &mut Random, all: &'a [T]) -> &'a T {
    &all[at(random, all.len())]
}

/// Up to `most` bytes of any kind.
pub(super) fn noise(random: &mut Random, most: u64) -> Vec<u8> {
    (0..random.below(most + 1)).map(|_| random.bits() as u8).collect()
}

/// Changes bytes.
pub(super) fn bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        *bytes = noise(random, 16);
        return;
    }
    let place = at(random, bytes.len());
    match random.below(6) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.bits() as u8,
        2 => bytes.truncate(place),
        3 => {
            let more = noise(random, 12);
            bytes.splice(place..place, more);
        }
        4 => {
            let end = (place + 1 + at(random, 16)).min(bytes.len());
            bytes.drain(place..end);
        }
        _ => {
            let extreme = one_of(random, &EXTREMES).to_be_bytes();
            let end = (place + 4).min(bytes.len());
            bytes[place..end].copy_from_slice(&extreme[..end - place]);
        }
    }
}

/// Changes the messages of a session; `others` are those of another.
pub(super) fn messages(random: &mut Random, all: &mut Vec<Vec<u8>>, others: &[Vec<u8>]) {
    if all.is_empty() || others.is_empty() {
        all.extend_from_slice(others);
        return;
    }
    let (place, other) = (at(random, all.len()), one_of(random, others).clone());
    match random.below(7) {
        0 => drop(all.remove(place)),
        1 => all.insert(place, other),
        2 => {
            let twice = all[place].clone();
            all.insert(place, twice);
        }
        3 => {
            let with = at(random, all.len());
            all.swap(place, with);
        }
        4 => bytes(random, &mut all[place]),
        5 => {
            // A body of another length whose message says so.
            let message = &mut all[place];
            if message.len() > 5 {
                let mut body = message.split_off(5);
                bytes(random, &mut body);
                *message = super::link::message(message[0], &body);
            }
        }
        _ => all.truncate(place + 1),
    }
    // Sessions that grow without end would be all that is left.
    all.truncate(40);
}

/// Words, numbers and single characters.
fn pieces(statement: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut in_word) = (0, false);
    for (i, c) in statement.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_' || c == '.';
        if i > from && !(is_word && in_word) {
            pieces.push(&statement[from..i]);
            from = i;
        }
        in_word = is_word;
    }
    pieces.push(&statement[from..]);
    pieces
}

/// Changes a statement; `other` is another one.
pub(super) fn statement(random: &mut Random, statement: &mut String, other: &str) {
    let old = statement.clone();
    let (mut all, other) = (pieces(&old), pieces(other));
    let place = at(random, all.len());
    let piece = if random.chance(60) { one_of(random, &PIECES) } else { one_of(random, &other) };
    match random.below(7) {
        0 => drop(all.remove(place)),
        1 => all.insert(place, all[place]),
        2 | 3 => all[place] = piece,
        4 => all.insert(place, piece),
        5 => {
            let end = (place + 1 + at(random, 12)).min(other.len());
            let from = place.min(end);
            all.splice(place..place, other[from..end].iter().copied());
        }
        _ => {
            let depth = 1 << random.below(10);
            let (open, close) = ("(".repeat(depth), ")".repeat(depth));
            *statement =
                [&all[..place].concat(), &open, all[place], &close, &all[place + 1..].concat()]
                    .concat();
            return;
        }
    }
    *statement = all.concat();
    // Statements of megabytes only test the patience of the parser.
    if statement.len() > 20_000 {
        *statement = old;
    }
}
