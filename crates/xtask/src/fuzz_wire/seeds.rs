//! Seeds of inputs: statements of the SQL tests, first messages, inputs that were kept.

use std::fs;
use std::path::Path;

use testkit::Random;

use super::link::{message, startup};
use super::mutate;
use crate::text;

/// Most inputs of a run that become seeds.
const ADDED_MAX: usize = 4_000;

/// Bytes that one connection sends.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// True when it follows the start of a session; otherwise it is all there is.
    pub(super) is_seated: bool,
    /// Messages, or what stands in their places.
    pub(super) messages: Vec<Vec<u8>>,
}

impl Input {
    /// All that is sent.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.messages.concat()
    }

    /// As a file: a letter, then the bytes.
    pub(super) fn to_file(&self) -> Vec<u8> {
        [if self.is_seated { b"s" } else { b"u" }, &self.bytes()[..]].concat()
    }

    /// The input of a file.
    pub(super) fn from_file(file: &[u8]) -> Self {
        let is_seated = file.first() == Some(&b's');
        let bytes = file.get(1..).unwrap_or_default();
        let messages = if is_seated { split(bytes) } else { vec![bytes.to_vec()] };
        Self { is_seated, messages }
    }

    /// Text for a reader.
    pub(super) fn shown(&self) -> String {
        let bytes = self.bytes();
        let shown = &bytes[..bytes.len().min(2_000)];
        shown.escape_ascii().to_string()
    }
}

/// `bytes` as messages; what is none is the last.
fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some(length) = bytes.get(1..5).and_then(|length| length.try_into().ok()) {
        let end = (u32::from_be_bytes(length) as usize).saturating_add(1);
        if end < 5 || end > bytes.len() {
            break;
        }
        let (one, rest) = bytes.split_at(end);
        messages.push(one.to_vec());
        bytes = rest;
    }
    if !bytes.is_empty() {
        messages.push(bytes.to_vec());
    }
    messages
}

/// The inputs of a folder, by name.
pub(super) fn kept(folder: &Path) -> Result<Vec<Input>, String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| Ok(Input::from_file(&fs::read(path).map_err(text)?))).collect()
}

/// Seeds that inputs are made from.
pub(super) struct Seeds {
    /// Statements, by the script they are from.
    scripts: Vec<Vec<String>>,
    /// Inputs of this run that brought new kinds of answers.
    added: Vec<Input>,
}

impl Seeds {
    /// The statements of the SQL tests below `root`.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let mut scripts = Vec::new();
        let mut folders = vec![root.join("tests/slt")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(text)? {
                let path = entry.map_err(text)?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "slt") {
                    scripts.push(statements(&fs::read_to_string(&path).map_err(text)?));
                }
            }
        }
        scripts.retain(|script| !script.is_empty());
        scripts.sort();
        if scripts.is_empty() {
            Err("no SQL tests".into())
        } else {
            Ok(Self { scripts, added: Vec::new() })
        }
    }

    /// The inputs of this run that brought something new.
    pub(super) fn added(&self) -> impl Iterator<Item = &Input> {
        self.added.iter()
    }

    /// A new seed.
    pub(super) fn add(&mut self, input: Input) {
        if self.added.len() < ADDED_MAX {
            self.added.push(input);
        }
    }

    /// The next input.
    pub(super) fn draw(&self, random: &mut Random) -> Input {
        if random.chance(12) {
            let mut input = Input { is_seated: false, messages: vec![first(random)] };
            for _ in 0..random.below(4) {
                mutate::bytes(random, &mut input.messages[0]);
            }
            return input;
        }
        let is_old = !self.added.is_empty() && random.chance(35);
        let mut input =
            if is_old { mutate::one_of(random, &self.added).clone() } else { self.session(random) };
        if is_old || random.chance(25) {
            for _ in 0..=random.below(3) {
                let other = self.session(random);
                mutate::messages(random, &mut input.messages, &other.messages);
            }
        }
        input
    }

    /// Statements of one script, some of them damaged, as messages.
    fn session(&self, random: &mut Random) -> Input {
        let script = mutate::one_of(random, &self.scripts);
        let mut messages = Vec::new();
        if random.chance(50) {
            messages.push(query("BEGIN"));
        }
        let first = random.below(script.len() as u64) as usize;
        // What makes the tables comes first in a script.
        let setup = script.iter().take(random.below(6) as usize);
        setup.for_each(|statement| messages.push(query(statement)));
        for statement in script.iter().skip(first).take(1 + random.below(3) as usize) {
            let mut statement = statement.clone();
            for _ in 0..random.below(4) {
                let other = mutate::one_of(random, &self.scripts);
                let other = mutate::one_of(random, other);
                mutate::statement(random, &mut statement, other);
            }
            if random.chance(50) {
                messages.push(query(&statement))
            } else {
                extended(random, &statement, &mut messages)
            }
            if statement.to_ascii_uppercase().contains("STDIN") {
                messages.push(message(b'd', &mutate::noise(random, 40)));
                messages.push(message(if random.chance(80) { b'c' } else { b'f' }, b""));
            }
        }
        Input { is_seated: true, messages }
    }
}

/// The statements of an SQL test.
fn statements(script: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("statement ") || line.starts_with("query ") {
            let statement = lines.by_ref().take_while(|line| !line.is_empty() && *line != "----");
            statements.push(statement.collect::<Vec<_>>().join("\n"));
        }
    }
    statements
}

fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &[sql.as_bytes(), b"\0"].concat())
}

/// A statement by Parse, Bind, Describe, Execute, with values of its parameters that may not fit.
fn extended(random: &mut Random, sql: &str, messages: &mut Vec<Vec<u8>>) {
    let name: &[u8] = if random.chance(30) { b"s\0" } else { b"\0" };
    let portal: &[u8] = if random.chance(20) { b"p\0" } else { b"\0" };
    let mut parse = [name, sql.as_bytes(), b"\0"].concat();
    let types = random.below(3) as u16;
    parse.extend(types.to_be_bytes());
    for _ in 0..types {
        let oids = [0_u32, 16, 17, 20, 21, 23, 25, 701, 1007, 1082, 1114, 1184, 1700, 9_999_999];
        parse.extend(mutate::one_of(random, &oids).to_be_bytes());
    }
    messages.push(message(b'P', &parse));
    let mut bind = [portal, name].concat();
    bind.extend([1_u16.to_be_bytes(), (random.below(2) as u16).to_be_bytes()].concat());
    let values = random.below(4) as u16;
    bind.extend(values.to_be_bytes());
    for _ in 0..values {
        if random.chance(15) {
            bind.extend((-1_i32).to_be_bytes());
            continue;
        }
        let value = match random.below(3) {
            0 => random.below(1000).to_string().into_bytes(),
            1 => random.bits().to_be_bytes()[..*mutate::one_of(random, &[2, 4, 8])].to_vec(),
            _ => mutate::noise(random, 24),
        };
        bind.extend((value.len() as i32).to_be_bytes());
        bind.extend(value);
    }
    bind.extend([1_u16.to_be_bytes(), (random.below(2) as u16).to_be_bytes()].concat());
    messages.push(message(b'B', &bind));
    if random.chance(60) {
        let what: &[u8] = if random.chance(50) { b"P" } else { b"S" };
        let named = if what == b"P" { portal } else { name };
        messages.push(message(b'D', &[what, named].concat()));
    }
    let rows = mutate::one_of(random, &[0_u32, 0, 1, 7, u32::MAX]);
    messages.push(message(b'E', &[portal, &rows.to_be_bytes()].concat()));
    if random.chance(80) {
        messages.push(message(b'S', b""));
    }
}

/// Draws the first message on a connection, in all its forms.
fn first(random: &mut Random) -> Vec<u8> {
    let request = |code: u32, more: &[u8]| {
        [&(8 + more.len() as u32).to_be_bytes()[..], &code.to_be_bytes(), more].concat()
    };
    let hello = b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=abcdefghijklmnopqrstuvwx";
    match random.below(8) {
        0 => request(80_877_103, b""),
        1 => request(80_877_104, b""),
        2 => request(80_877_102, &mutate::noise(random, 12)),
        3 => [request(80_877_103, b""), startup("tessera")].concat(),
        4 => [startup("tessera"), message(b'p', hello)].concat(),
        5 => {
            let proof = b"c=biws,r=abcdefghijklmnopqrstuvwx,p=AAAA";
            [startup("fuzz"), message(b'p', hello), message(b'p', proof)].concat()
        }
        6 => {
            let options =
                b"user\0tessera\0database\0tessera\0options\0-c a=b\0replication\x001\0\0";
            request(196_608, options)
        }
        _ => [startup("tessera"), query("SELECT 1")].concat(),
    }
}
