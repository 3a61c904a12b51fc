//! TSQUERY: operands joined by operators, as PostgreSQL orders them.
//!
//! ```text
//! count of nodes 4, bytes that PostgreSQL would take 4, node, { bits of an operand 1 }*
//! operand    FE, checksum of the word inverted 4, word, 00
//! operator   FD, FF - number, right operand, left operand (but for !), [00, distance inverted 2]
//! bits       10 (prefix), 08 (A), 04 (B), 02 (C), 01 (D), in the order of the operands
//! ```
//! An empty query has no node. Queries are equal when they differ in the bits of operands alone, so
//! their key is what stands before these.

use std::borrow::Cow;

use super::vector::{WORD_BYTES_MAX, push_quoted};
use super::words::{Syntax, WordReader, is_space};
use crate::stack::{LEVELS_MAX, deep, too_deep};
use crate::{Error, Result, SqlState};

/// The longest distance of `<N>`.
pub(super) const DISTANCE_MAX: u16 = 16_384;

const OPERAND: u8 = 0xfe;
const OPERATOR: u8 = 0xfd;

/// Bit of an operand that takes all words that begin with its own.
const PREFIX: u8 = 0x10;

/// An operator of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
    /// The right side, so many places behind the left one.
    Phrase(u16),
}

impl Joint {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::And => 2,
            Self::Or => 3,
            Self::Phrase(_) => 4,
        }
    }

    const fn priority(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Phrase(_) => 3,
        }
    }
}

const NOT_PRIORITY: u8 = 4;

/// A word that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operand<'a> {
    pub word: Cow<'a, [u8]>,
    /// Weights that it may have, a bit for each from D on; none are any.
    pub weights: u8,
    pub is_prefix: bool,
}

impl Operand<'_> {
    fn bits(&self) -> u8 {
        self.weights | if self.is_prefix { PREFIX } else { 0 }
    }
}

/// A query, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node<'a> {
    Operand(Operand<'a>),
    Not(Box<Node<'a>>),
    Join(Joint, Box<Node<'a>>, Box<Node<'a>>),
}

impl<'a> Node<'a> {
    pub(super) fn join(joint: Joint, left: Self, right: Self) -> Self {
        Self::Join(joint, Box::new(left), Box::new(right))
    }

    pub(super) fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// Calls `visit` for each operand, those of the right side first.
    pub(super) fn each_operand<'n>(&'n self, visit: &mut impl FnMut(&'n Operand<'a>)) {
        match self {
            Self::Operand(operand) => visit(operand),
            Self::Not(inner) => deep(|| inner.each_operand(visit)),
            Self::Join(_, left, right) => deep(|| {
                right.each_operand(visit);
                left.each_operand(visit);
            }),
        }
    }
}

/// The checksum by which PostgreSQL orders words first.
pub(super) fn checksum(word: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in word {
        let mut entry = sum >> 24 ^ u32::from(*byte);
        for _ in 0..8 {
            entry = if entry & 1 == 1 { entry >> 1 ^ 0xedb8_8320 } else { entry >> 1 };
        }
        sum = entry ^ sum << 8;
    }
    !sum
}

/// Parts of a query that were written.
#[derive(Default)]
struct Written {
    nodes: u32,
    text: usize,
    bits: Vec<u8>,
}

fn push_node(out: &mut Vec<u8>, node: &Node<'_>, written: &mut Written) {
    written.nodes += 1;
    match node {
        Node::Operand(operand) => {
            out.push(OPERAND);
            // Numbers with a sign, larger ones first.
            let sum = !(checksum(&operand.word) ^ 1 << 31);
            out.extend_from_slice(&sum.to_be_bytes());
            out.extend_from_slice(&operand.word);
            out.push(0);
            written.text += operand.word.len() + 1;
            written.bits.push(operand.bits());
        }
        Node::Not(inner) => {
            out.extend_from_slice(&[OPERATOR, !1]);
            deep(|| push_node(out, inner, written));
        }
        Node::Join(joint, left, right) => {
            out.extend_from_slice(&[OPERATOR, !joint.number()]);
            deep(|| {
                push_node(out, right, written);
                push_node(out, left, written);
            });
            if let Joint::Phrase(distance) = joint {
                out.push(0);
                out.extend_from_slice(&(!distance).to_be_bytes());
            }
        }
    }
}

/// Appends the value of a query; None is the empty one.
pub(super) fn push_query(out: &mut Vec<u8>, query: Option<&Node<'_>>) {
    let mut written = Written::default();
    let mut nodes = Vec::new();
    if let Some(node) = query {
        push_node(&mut nodes, node, &mut written);
    }
    // Less than 1 GiB.
    let bytes = 8 + 12 * written.nodes + written.text as u32;
    out.extend_from_slice(&written.nodes.to_be_bytes());
    out.extend_from_slice(&bytes.to_be_bytes());
    out.extend_from_slice(&nodes);
    out.extend_from_slice(&written.bits);
}

/// Reads the nodes of a value.
struct NodeReader<'a> {
    rest: &'a [u8],
    bits: &'a [u8],
}

impl<'a> NodeReader<'a> {
    fn node(&mut self) -> Option<Node<'a>> {
        let (kind, rest) = self.rest.split_first()?;
        if *kind == OPERAND {
            let rest = rest.get(4..)?;
            let end = rest.iter().position(|byte| *byte == 0)?;
            self.rest = &rest[end + 1..];
            let (bits, others) = self.bits.split_first()?;
            self.bits = others;
            return Some(Node::Operand(Operand {
                word: Cow::Borrowed(&rest[..end]),
                weights: bits & 0xf,
                is_prefix: bits & PREFIX != 0,
            }));
        }
        let (number, rest) = rest.split_first()?;
        self.rest = rest;
        let right = deep(|| self.node())?;
        let joint = match !number {
            1 => return Some(right.not()),
            2 => Joint::And,
            3 => Joint::Or,
            _ => Joint::Phrase(1),
        };
        let left = deep(|| self.node())?;
        if !matches!(joint, Joint::Phrase(_)) {
            return Some(Node::join(joint, left, right));
        }
        let ([_, distance @ ..], rest) = self.rest.split_first_chunk::<3>()?;
        self.rest = rest;
        Some(Node::join(Joint::Phrase(!u16::from_be_bytes(*distance)), left, right))
    }
}

/// Bytes behind the nodes of a value, one for each operand.
fn bits_of(bytes: &[u8]) -> usize {
    let mut rest = bytes.get(8..).unwrap_or_default();
    let (mut operands, mut nodes) = (0, node_count(bytes));
    while nodes > 0 {
        match rest.first() {
            Some(&OPERAND) => {
                let word = rest.get(5..).unwrap_or_default();
                let end = word.iter().position(|byte| *byte == 0).unwrap_or(word.len());
                rest = word.get(end + 1..).unwrap_or_default();
                (operands, nodes) = (operands + 1, nodes - 1);
            }
            Some(&OPERATOR) => {
                rest = rest.get(2..).unwrap_or_default();
                nodes -= 1;
            }
            // A distance stands behind the sides of its operator.
            Some(_) => rest = rest.get(3..).unwrap_or_default(),
            None => break,
        }
    }
    operands
}

/// The count of operators and operands.
pub(super) fn node_count(bytes: &[u8]) -> u32 {
    bytes.get(..4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// The query of a value; None for the empty one.
pub(super) fn query(bytes: &[u8]) -> Option<Node<'_>> {
    let bits = &bytes[bytes.len() - bits_of(bytes).min(bytes.len())..];
    NodeReader { rest: bytes.get(8..)?, bits }.node()
}

/// The part of a value that equal ones have in common.
pub(in crate::packed) fn key(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().saturating_sub(bits_of(bytes))].to_vec()
}

/// A side of an operator, or None where a stop word was.
pub(super) type Side = Option<Node<'static>>;

/// An operator that waits for its right side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    Not,
    Joint(Joint),
}

impl Waiting {
    const fn priority(self) -> u8 {
        match self {
            Self::Not => NOT_PRIORITY,
            Self::Joint(joint) => joint.priority(),
        }
    }
}

/// Parts of a query in which stop words are still known, as operands join them.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Stop,
    Operand(Operand<'static>),
    Not(Box<Part>),
    Join(Joint, Box<Part>, Box<Part>),
}

/// Operands and operators in the order in which they were read.
#[derive(Default)]
pub(super) struct Assembly {
    parts: Vec<Part>,
    waiting: Vec<Option<Waiting>>,
    levels: usize,
}

impl Assembly {
    pub(super) fn operand(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// An operator: those before it that bind as closely get their sides.
    ///
    /// # Errors
    /// 54001.
    pub(super) fn operator(&mut self, operator: Waiting) -> Result<()> {
        while let Some(Some(before)) = self.waiting.last().copied() {
            let binds = match operator {
                Waiting::Not => operator.priority() >= before.priority(),
                Waiting::Joint(_) => operator.priority() > before.priority(),
            };
            if binds {
                break;
            }
            self.apply(before);
            self.waiting.pop();
        }
        self.waiting.push(Some(operator));
        self.levels += 1;
        if self.levels > LEVELS_MAX { Err(too_deep()) } else { Ok(()) }
    }

    pub(super) fn open(&mut self) -> Result<()> {
        self.waiting.push(None);
        self.levels += 1;
        if self.levels > LEVELS_MAX { Err(too_deep()) } else { Ok(()) }
    }

    /// All operators since the last bracket get their sides.
    pub(super) fn close(&mut self) {
        while let Some(Some(before)) = self.waiting.pop() {
            self.apply(before);
        }
    }

    fn apply(&mut self, operator: Waiting) {
        let Some(right) = self.parts.pop() else { return };
        let part = match operator {
            Waiting::Not => Part::Not(Box::new(right)),
            Waiting::Joint(joint) => match self.parts.pop() {
                Some(left) => Part::Join(joint, Box::new(left), Box::new(right)),
                None => right,
            },
        };
        self.parts.push(part);
    }

    /// The whole; None when nothing was read.
    pub(super) fn finish(mut self) -> Option<Part> {
        while !self.waiting.is_empty() {
            self.close();
        }
        self.parts.pop()
    }
}

/// Makes parts of the words of a query's text.
pub(super) type Words<'f> = &'f mut dyn FnMut(Operand<'static>) -> Result<Part>;

/// Reads a query's text: `a & (b | !c) <-> d:*AB`.
pub(super) struct QueryReader<'t> {
    words: WordReader<'t>,
    text: &'t str,
}

impl<'t> QueryReader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { words: WordReader::new(text, Syntax::Query), text }
    }

    /// The parts of the text, whose words `made` makes; None for an empty text.
    ///
    /// # Errors
    /// 42601 in PostgreSQL's words, 22023, 54000, 54001.
    pub(super) fn read(mut self, made: Words<'_>) -> Result<Option<Part>> {
        let mut assembly = Assembly::default();
        let (mut is_first, mut open) = (true, 0_usize);
        loop {
            self.skip_space();
            match self.words.peek() {
                Some('!') => {
                    self.words.step();
                    assembly.operator(Waiting::Not)?;
                    is_first = false;
                    continue;
                }
                Some('(') => {
                    self.words.step();
                    assembly.open()?;
                    open += 1;
                    is_first = false;
                    continue;
                }
                Some(':') => return Err(self.words.syntax_error()),
                _ => {}
            }
            let Some(word) = self.words.word()? else {
                if is_first {
                    return Ok(None);
                }
                let message = format!("no operand in tsquery: \"{}\"", self.text);
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            };
            is_first = false;
            let operand = self.with_marks(word);
            self.check(&operand)?;
            assembly.operand(made(operand)?);
            loop {
                self.skip_space();
                if self.words.peek() != Some(')') {
                    break;
                }
                open = open.checked_sub(1).ok_or_else(|| self.words.syntax_error())?;
                self.words.step();
                assembly.close();
            }
            let Some(joint) = self.joint()? else {
                return match self.words.peek() {
                    None if open == 0 => Ok(assembly.finish()),
                    _ => Err(self.words.syntax_error()),
                };
            };
            assembly.operator(Waiting::Joint(joint))?;
        }
    }

    fn skip_space(&mut self) {
        while self.words.peek().is_some_and(is_space) {
            self.words.step();
        }
    }

    /// # Errors
    /// 54000.
    fn check(&self, operand: &Operand<'_>) -> Result<()> {
        if operand.word.len() <= WORD_BYTES_MAX {
            return Ok(());
        }
        let message = format!("word is too long in tsquery: \"{}\"", self.text);
        Err(Error::new(SqlState::LIMIT_EXCEEDED, message))
    }

    fn with_marks(&mut self, word: Vec<u8>) -> Operand<'static> {
        let mut operand = Operand { word: Cow::Owned(word), weights: 0, is_prefix: false };
        if self.words.peek() != Some(':') {
            return operand;
        }
        self.words.step();
        while let Some(letter) = self.words.peek() {
            match letter {
                'A' | 'a' => operand.weights |= 8,
                'B' | 'b' => operand.weights |= 4,
                'C' | 'c' => operand.weights |= 2,
                'D' | 'd' => operand.weights |= 1,
                '*' => operand.is_prefix = true,
                _ => break,
            }
            self.words.step();
        }
        operand
    }

    /// The operator that follows.
    fn joint(&mut self) -> Result<Option<Joint>> {
        match self.words.peek() {
            Some('&') => {
                self.words.step();
                Ok(Some(Joint::And))
            }
            Some('|') => {
                self.words.step();
                Ok(Some(Joint::Or))
            }
            Some('<') => self.phrase(),
            _ => Ok(None),
        }
    }

    fn phrase(&mut self) -> Result<Option<Joint>> {
        let begin = self.words.at;
        self.words.step();
        let distance = if self.words.peek() == Some('-') {
            self.words.step();
            1
        } else if self.words.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            let distance = u16::try_from(self.words.digits()).ok();
            distance.filter(|distance| *distance <= DISTANCE_MAX).ok_or_else(wrong_distance)?
        } else {
            self.words.at = begin;
            return Ok(None);
        };
        if self.words.peek() != Some('>') {
            self.words.at = begin;
            return Ok(None);
        }
        self.words.step();
        Ok(Some(Joint::Phrase(distance)))
    }
}

/// 22023.
#[cold]
pub(super) fn wrong_distance() -> Error {
    let message = format!(
        "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} \
         inclusive"
    );
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// The node of parts, without stop words and the operators that lose their sides by them. Places
/// that are lost in a phrase are added to the distances around them.
pub(super) fn without_stops(part: Part) -> Option<Node<'static>> {
    cleaned(part).node
}

/// A node with the places that were lost before and behind it.
struct Cleaned {
    node: Side,
    before: u16,
    behind: u16,
}

fn cleaned(part: Part) -> Cleaned {
    let (joint, left, right) = match part {
        Part::Stop => return Cleaned { node: None, before: 0, behind: 0 },
        Part::Operand(operand) => {
            return Cleaned { node: Some(Node::Operand(operand)), before: 0, behind: 0 };
        }
        Part::Not(inner) => {
            let found = deep(|| cleaned(*inner));
            return Cleaned { node: found.node.map(Node::not), ..found };
        }
        Part::Join(joint, left, right) => (joint, left, right),
    };
    let (left, right) = deep(|| (cleaned(*left), cleaned(*right)));
    let (is_phrase, distance) = match joint {
        Joint::Phrase(distance) => (true, distance),
        _ => (false, 0),
    };
    let sum = |numbers: [u16; 3]| numbers.iter().fold(0_u16, |sum, one| sum.saturating_add(*one));
    match (left.node, right.node) {
        (None, None) => {
            let lost = if is_phrase {
                sum([left.before, distance, right.before])
            } else {
                left.before.max(right.before)
            };
            Cleaned { node: None, before: lost, behind: lost }
        }
        (None, node) => {
            let before =
                if is_phrase { sum([left.before, distance, right.before]) } else { right.before };
            Cleaned { node, before, behind: right.behind }
        }
        (node, None) => {
            let behind =
                if is_phrase { sum([left.behind, distance, right.behind]) } else { left.behind };
            Cleaned { node, before: left.before, behind }
        }
        (Some(a), Some(b)) if is_phrase => {
            let distance = sum([distance, left.behind, right.before]).min(DISTANCE_MAX);
            let node = Some(Node::join(Joint::Phrase(distance), a, b));
            Cleaned { node, before: left.before, behind: right.behind }
        }
        (Some(a), Some(b)) => Cleaned { node: Some(Node::join(joint, a, b)), before: 0, behind: 0 },
    }
}

/// The value that `text` says.
///
/// # Errors
/// As [`QueryReader::read`].
pub(crate) fn parse_query(text: &str) -> Result<Vec<u8>> {
    let part = QueryReader::new(text).read(&mut |operand| Ok(Part::Operand(operand)))?;
    let mut out = Vec::new();
    push_query(&mut out, part.and_then(without_stops).as_ref());
    Ok(out)
}

/// Appends a value as PostgreSQL prints it.
pub(crate) fn format_query(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Some(node) = query(bytes) {
        push_shown(out, &node, Within { priority: 0, is_right_of_phrase: false });
    }
}

/// Where a part of a query is shown.
#[derive(Clone, Copy)]
struct Within {
    priority: u8,
    is_right_of_phrase: bool,
}

/// Appends a query as PostgreSQL prints it.
pub(super) fn push_node_text(out: &mut Vec<u8>, node: &Node<'_>) {
    push_shown(out, node, Within { priority: 0, is_right_of_phrase: false });
}

fn push_shown(out: &mut Vec<u8>, node: &Node<'_>, within: Within) {
    match node {
        Node::Operand(operand) => {
            push_quoted(out, &operand.word);
            let marks = [(PREFIX, b'*'), (8, b'A'), (4, b'B'), (2, b'C'), (1, b'D')];
            let bits = operand.bits();
            if bits != 0 {
                out.push(b':');
            }
            out.extend(marks.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, mark)| *mark));
        }
        Node::Not(inner) => {
            let has_brackets = NOT_PRIORITY < within.priority;
            let inside = Within { priority: NOT_PRIORITY, is_right_of_phrase: false };
            in_brackets(out, has_brackets, |out| {
                out.push(b'!');
                deep(|| push_shown(out, inner, inside));
            });
        }
        Node::Join(joint, left, right) => {
            let is_phrase = matches!(joint, Joint::Phrase(_));
            let priority = joint.priority();
            let has_brackets = priority < within.priority || is_phrase && within.is_right_of_phrase;
            in_brackets(out, has_brackets, |out| {
                let inside = Within { priority, is_right_of_phrase: false };
                deep(|| push_shown(out, left, inside));
                match joint {
                    Joint::And => out.extend_from_slice(b" & "),
                    Joint::Or => out.extend_from_slice(b" | "),
                    Joint::Phrase(1) => out.extend_from_slice(b" <-> "),
                    Joint::Phrase(distance) => {
                        out.extend_from_slice(format!(" <{distance}> ").as_bytes());
                    }
                }
                let inside = Within { priority, is_right_of_phrase: is_phrase };
                deep(|| push_shown(out, right, inside));
            });
        }
    }
}

fn in_brackets(out: &mut Vec<u8>, has_brackets: bool, inner: impl FnOnce(&mut Vec<u8>)) {
    if has_brackets {
        out.extend_from_slice(b"( ");
    }
    inner(out);
    if has_brackets {
        out.extend_from_slice(b" )");
    }
}

/// Appends the binary form: the count of nodes, then nodes, right sides before left ones.
pub(in crate::packed) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&node_count(bytes).to_be_bytes());
    if let Some(node) = query(bytes) {
        encode_node(out, &node);
    }
}

fn encode_node(out: &mut Vec<u8>, node: &Node<'_>) {
    match node {
        Node::Operand(operand) => {
            out.extend_from_slice(&[1, operand.weights, u8::from(operand.is_prefix)]);
            out.extend_from_slice(&operand.word);
            out.push(0);
        }
        Node::Not(inner) => {
            out.extend_from_slice(&[2, 1]);
            deep(|| encode_node(out, inner));
        }
        Node::Join(joint, left, right) => {
            out.extend_from_slice(&[2, joint.number()]);
            if let Joint::Phrase(distance) = joint {
                out.extend_from_slice(&distance.to_be_bytes());
            }
            deep(|| {
                encode_node(out, right);
                encode_node(out, left);
            });
        }
    }
}

/// The value of a binary form; None when it is none.
pub(in crate::packed) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let (count, mut rest) = bytes.split_first_chunk::<4>()?;
    let mut left = u32::from_be_bytes(*count);
    if left as usize > LEVELS_MAX {
        return None;
    }
    let node = match left {
        0 => None,
        _ => Some(decode_node(&mut rest, &mut left)?),
    };
    let mut out = Vec::new();
    push_query(&mut out, node.as_ref());
    (left == 0 && rest.is_empty()).then_some(out)
}

/// The node that begins `rest`, of so many that may be left.
fn decode_node<'a>(rest: &mut &'a [u8], left: &mut u32) -> Option<Node<'a>> {
    *left = left.checked_sub(1)?;
    let (kind, behind) = rest.split_first()?;
    if *kind == 1 {
        let ([weights, is_prefix], behind) = behind.split_first_chunk::<2>()?;
        let end = behind.iter().position(|byte| *byte == 0)?;
        let word = std::str::from_utf8(&behind[..end]).ok()?.as_bytes();
        *rest = &behind[end + 1..];
        let fits = *weights < 0x10 && word.len() <= WORD_BYTES_MAX;
        let operand =
            Operand { word: Cow::Borrowed(word), weights: *weights, is_prefix: *is_prefix != 0 };
        return fits.then_some(Node::Operand(operand));
    }
    let (number, behind) = behind.split_first()?;
    *rest = behind;
    let joint = match number {
        1 => return Some(deep(|| decode_node(rest, left))?.not()),
        2 => Joint::And,
        3 => Joint::Or,
        4 => {
            let (distance, behind) = rest.split_first_chunk::<2>()?;
            *rest = behind;
            Joint::Phrase(u16::from_be_bytes(*distance))
        }
        _ => return None,
    };
    let right = deep(|| decode_node(rest, left))?;
    let left = deep(|| decode_node(rest, left))?;
    Some(Node::join(joint, left, right))
}
