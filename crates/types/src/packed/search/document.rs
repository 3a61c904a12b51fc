//! Documents and queries of texts: `to_tsvector`, `to_tsquery` and their kin.

use std::borrow::Cow;

use super::config::Configuration;
use super::query::{
    Assembly, Joint, Operand, Part, QueryReader, Waiting, push_query, without_stops,
};
use super::scan::Scanner;
use super::vector::{Lexeme, POSITION_MAX, Place, WORD_BYTES_MAX, push_arranged};
use super::words::{Syntax, WordReader, is_operator, is_space};
use crate::json::{Event, Events, unescaped};
use crate::packed::{Call, Given};
use crate::{Error, Result, SqlState};

type Computed = Result<Given>;

/// Places that a lexeme of a document has at most.
const PLACES_MAX: usize = 255;

/// The words of a document with their positions, which go on from text to text.
pub(super) struct Document {
    configuration: Configuration,
    words: Vec<(String, u16)>,
    position: u32,
}

impl Document {
    pub(super) fn new(configuration: Configuration) -> Self {
        Self { configuration, words: Vec::new(), position: 0 }
    }

    /// Adds the words of a text.
    ///
    /// # Errors
    /// 0A000 for languages without stems.
    pub(super) fn push(&mut self, text: &str) -> Result<()> {
        for token in Scanner::new(text) {
            let Some(dictionary) = self.configuration.dictionary(token.kind) else { continue };
            // PostgreSQL leaves such words out, too.
            if token.text.len() > WORD_BYTES_MAX {
                continue;
            }
            self.position = self.position.saturating_add(1);
            if let Some(lexeme) = dictionary.lexeme(token.text)? {
                let position = u16::try_from(self.position).unwrap_or(POSITION_MAX);
                self.words.push((lexeme.into_owned(), position.min(POSITION_MAX)));
            }
        }
        Ok(())
    }

    /// Appends the value.
    fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        self.words.sort();
        let mut lexemes: Vec<Lexeme<'_>> = Vec::new();
        for (word, position) in &self.words {
            let place = Place { position: *position, weight: 0 };
            match lexemes.last_mut() {
                Some(last) if *last.word == *word.as_bytes() => {
                    let is_new = last.places.last() != Some(&place);
                    if is_new && last.places.len() < PLACES_MAX {
                        last.places.push(place);
                    }
                }
                _ => lexemes
                    .push(Lexeme { word: Cow::Borrowed(word.as_bytes()), places: vec![place] }),
            }
        }
        push_arranged(out, &lexemes)
    }
}

/// The document of these texts, whose positions go on from one to the next, by the configuration
/// with this number.
///
/// # Errors
/// 42704 for a configuration that is none, 0A000 for languages without stems, 54000.
pub fn document_of(configuration: i64, texts: &[String]) -> Result<Vec<u8>> {
    let mut document = Document::new(Configuration::numbered(configuration)?);
    texts.iter().try_for_each(|text| document.push(text))?;
    let mut out = Vec::new();
    document.finish(&mut out)?;
    Ok(out)
}

/// The text of an argument.
pub(super) fn text<'a>(call: &Call<'a>, at: usize) -> Result<&'a str> {
    std::str::from_utf8(call.bytes(at)).map_err(|_| Error::internal("text is UTF-8"))
}

/// The configuration of an argument.
pub(super) fn configuration(call: &Call<'_>, at: usize) -> Result<Configuration> {
    Configuration::numbered(call.object(at))
}

/// `to_tsvector(regconfig, text)`.
pub(super) fn to_vector(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut document = Document::new(configuration(call, 0)?);
    document.push(text(call, 1)?)?;
    document.finish(out)?;
    Ok(Given::Bytes)
}

/// Kinds of values of a JSON whose texts are words of a document.
#[derive(Clone, Copy, Default)]
struct Kinds {
    texts: bool,
    numbers: bool,
    flags: bool,
    keys: bool,
}

/// Adds the words of a JSON's values.
fn push_json(document: &mut Document, json: &[u8], kinds: Kinds) -> Result<()> {
    let mut events = Events::new(json);
    while let Some(event) = events.next()? {
        let found = match event {
            Event::Key(key) if kinds.keys => unescaped(key)?,
            Event::String(text) if kinds.texts => unescaped(text)?,
            Event::Number(number) if kinds.numbers => Cow::Borrowed(number),
            Event::Word(word) if kinds.flags && word != b"null" => Cow::Borrowed(word),
            _ => continue,
        };
        let before = document.words.len();
        document.push(&String::from_utf8_lossy(&found))?;
        if document.words.len() > before {
            // No phrase goes from one value to the next.
            document.position = document.position.saturating_add(1);
        }
    }
    Ok(())
}

/// `to_tsvector(regconfig, json)`: the texts among its values.
pub(super) fn json_to_vector(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let mut document = Document::new(configuration(call, 0)?);
    push_json(&mut document, call.bytes(1), Kinds { texts: true, ..Kinds::default() })?;
    document.finish(out)?;
    Ok(Given::Bytes)
}

/// `jsonb_to_tsvector(regconfig, json, filter)`.
pub(super) fn filtered_json_to_vector(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let kinds = kinds(call.bytes(2))?;
    let mut document = Document::new(configuration(call, 0)?);
    push_json(&mut document, call.bytes(1), kinds)?;
    document.finish(out)?;
    Ok(Given::Bytes)
}

/// The kinds that a filter names: `["string", "key"]` or `"all"`.
///
/// # Errors
/// 22023 in PostgreSQL's words.
fn kinds(filter: &[u8]) -> Result<Kinds> {
    let wrong = |message: &str| Error::new(SqlState::INVALID_PARAMETER, message);
    let with_hint = |message: &str| {
        wrong(message).with_hint(
            "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".",
        )
    };
    let mut kinds = Kinds::default();
    let mut events = Events::new(filter);
    while let Some(event) = events.next()? {
        let name = match event {
            Event::ArrayStart | Event::ArrayEnd => continue,
            Event::String(name) => unescaped(name)?,
            Event::ObjectStart => {
                return Err(wrong("wrong flag type, only arrays and scalars are allowed"));
            }
            _ => return Err(with_hint("flag array element is not a string")),
        };
        match name.to_ascii_lowercase().as_slice() {
            b"all" => kinds = Kinds { texts: true, numbers: true, flags: true, keys: true },
            b"string" => kinds.texts = true,
            b"numeric" => kinds.numbers = true,
            b"boolean" => kinds.flags = true,
            b"key" => kinds.keys = true,
            _ => {
                let name = String::from_utf8_lossy(&name);
                return Err(with_hint(&format!("wrong flag in flag array: \"{name}\"")));
            }
        }
    }
    Ok(kinds)
}

/// The parts that the words of an operand become, joined by `joint`.
fn parts(configuration: Configuration, operand: &Operand<'_>, joint: Joint) -> Result<Part> {
    let mut document = Document::new(configuration);
    document.push(&String::from_utf8_lossy(&operand.word))?;
    let mut whole: Option<Part> = None;
    let mut before = 0;
    for (word, position) in document.words {
        while before > 0 && before + 1 < position {
            // A place for each stop word between two words.
            before += 1;
            whole = Some(joined(joint, whole, Part::Stop));
        }
        before = position;
        let operand = Operand { word: Cow::Owned(word.into_bytes()), ..operand.clone() };
        whole = Some(joined(joint, whole, Part::Operand(owned(operand))));
    }
    Ok(whole.unwrap_or(Part::Stop))
}

fn owned(operand: Operand<'_>) -> Operand<'static> {
    Operand { word: Cow::Owned(operand.word.into_owned()), ..operand }
}

fn joined(joint: Joint, left: Option<Part>, right: Part) -> Part {
    match left {
        Some(left) => Part::Join(joint, Box::new(left), Box::new(right)),
        None => right,
    }
}

fn finish(part: Option<Part>, out: &mut Vec<u8>) -> Computed {
    push_query(out, part.and_then(without_stops).as_ref());
    Ok(Given::Bytes)
}

/// `to_tsquery(regconfig, text)`.
pub(super) fn to_query(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let configuration = configuration(call, 0)?;
    let mut made = |operand: Operand<'static>| parts(configuration, &operand, Joint::Phrase(1));
    finish(QueryReader::new(text(call, 1)?).read(&mut made)?, out)
}

fn of_plain_text(call: &Call<'_>, joint: Joint, out: &mut Vec<u8>) -> Computed {
    let word = Cow::Borrowed(call.bytes(1));
    let operand = Operand { word, weights: 0, is_prefix: false };
    finish(Some(parts(configuration(call, 0)?, &operand, joint)?), out)
}

/// `plainto_tsquery(regconfig, text)`.
pub(super) fn plain_to_query(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    of_plain_text(call, Joint::And, out)
}

/// `phraseto_tsquery(regconfig, text)`.
pub(super) fn phrase_to_query(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    of_plain_text(call, Joint::Phrase(1), out)
}

/// `websearch_to_tsquery(regconfig, text)`: no text is an error.
pub(super) fn web_to_query(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    let configuration = configuration(call, 0)?;
    let mut words = WordReader::new(text(call, 1)?, Syntax::Web);
    let mut assembly = Assembly::default();
    let mut is_first = true;
    let plain = |word: Vec<u8>| {
        let operand = Operand { word: Cow::Owned(word), weights: 0, is_prefix: false };
        parts(configuration, &operand, Joint::Phrase(1))
    };
    loop {
        // An operand.
        match words.peek() {
            Some('-') => {
                words.step();
                assembly.operator(Waiting::Not)?;
                is_first = false;
                continue;
            }
            Some('"') => {
                words.step();
                let rest = words.rest();
                let end = rest.find('"').unwrap_or(rest.len());
                assembly.operand(plain(rest.as_bytes()[..end].to_vec())?);
                words.at += end;
                words.step();
            }
            Some(letter) if is_operator(letter) => {
                words.step();
                is_first = false;
                continue;
            }
            Some(letter) if is_space(letter) => {
                words.step();
                continue;
            }
            _ => match words.word()? {
                Some(word) => assembly.operand(plain(word)?),
                None if is_first => return finish(None, out),
                None => {
                    assembly.operand(Part::Stop);
                    return finish(assembly.finish(), out);
                }
            },
        }
        is_first = false;
        // What joins it with the next one.
        while words.peek().is_some_and(is_space) {
            words.step();
        }
        if words.peek().is_none() {
            return finish(assembly.finish(), out);
        }
        let joint = if is_or(words.rest()) {
            words.at += 2;
            Joint::Or
        } else {
            Joint::And
        };
        assembly.operator(Waiting::Joint(joint))?;
    }
}

/// True for `or` as a word of its own, with something behind it.
fn is_or(text: &str) -> bool {
    let Some((word, rest)) = text.split_at_checked(2) else { return false };
    let Some(next) = rest.chars().next() else { return false };
    let is_part = matches!(next, '-' | '_') || next.is_alphabetic() || next.is_ascii_digit();
    let is_word = word.eq_ignore_ascii_case("or") && !is_part;
    is_word && rest.chars().skip(1).any(|letter| !is_space(letter))
}
