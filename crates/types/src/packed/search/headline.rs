//! Parts of a document around the words of a query: `ts_headline`.
//!
//! ```text
//! words of the document --covers--> stretches that match the query
//!    one headline: the cover with most words of the query, made as long as it should be
//!    fragments: several covers that do not overlap, each stretched to both sides
//! ```

use std::ops::RangeInclusive;

use super::config::Configuration;
use super::document::{configuration, text};
use super::headline_options::Options;
use super::matching::{Found, Lookup, Places, matches};
use super::query::{Node, Operand, query};
use super::scan::Scanner;
use super::tokens::{Kind, Token};
use super::vector::POSITION_MAX;
use crate::packed::{Call, Given};
use crate::{DataType, Result};

type Computed = Result<Given>;

/// A word of the document; one that several operands take stands there several times.
struct Word<'t> {
    token: Token<'t>,
    /// The operand that takes it.
    operand: Option<usize>,
    position: u16,
    is_repeated: bool,
    is_shown: bool,
}

impl Word<'_> {
    /// True for what does not count as a word.
    fn is_no_word(&self) -> bool {
        use Kind as K;
        matches!(
            self.token.kind,
            K::Space | K::Tag | K::Url | K::HyphenNumWord | K::HyphenAsciiWord | K::HyphenWord
        )
    }

    /// True for what no headline should end with.
    fn is_bad_end(&self, short_word: usize) -> bool {
        use Kind as K;
        let no_end = matches!(
            self.token.kind,
            K::Scientific
                | K::Version
                | K::Decimal
                | K::SignedInt
                | K::UnsignedInt
                | K::Protocol
                | K::Entity
        );
        let is_short = self.token.text.len() <= short_word;
        (no_end || self.is_no_word() || is_short) && !self.is_wanted()
    }

    /// True for a word of the query.
    fn is_wanted(&self) -> bool {
        self.operand.is_some() && !self.is_repeated
    }
}

/// The words of a document.
struct Words<'t, 'n, 'a> {
    list: Vec<Word<'t>>,
    operands: Vec<&'n Operand<'a>>,
}

impl<'t, 'n, 'a> Words<'t, 'n, 'a> {
    fn new(configuration: Configuration, text: &'t str, node: &'n Node<'a>) -> Result<Self> {
        let mut operands = Vec::new();
        node.each_operand(&mut |operand| operands.push(operand));
        let (mut list, mut position) = (Vec::new(), 0_u16);
        for token in Scanner::new(text) {
            let word = |operand, is_repeated, position| Word {
                token,
                operand,
                position,
                is_repeated,
                is_shown: false,
            };
            let Some(dictionary) = configuration.dictionary(token.kind) else {
                list.push(word(None, false, 0));
                continue;
            };
            position = position.saturating_add(1).min(POSITION_MAX);
            let lexeme = dictionary.lexeme(token.text)?;
            let takes = |operand: &Operand<'_>| {
                let Some(lexeme) = &lexeme else { return false };
                let lexeme = lexeme.as_bytes();
                lexeme == &*operand.word || operand.is_prefix && lexeme.starts_with(&operand.word)
            };
            let taken = (0..operands.len()).filter(|number| takes(operands[*number]));
            let before = list.len();
            for number in taken {
                list.push(word(Some(number), list.len() > before, position));
            }
            if list.len() == before {
                list.push(word(None, false, 0));
            }
        }
        Ok(Self { list, operands })
    }

    /// The next word of the query from `at` on.
    fn next_wanted(&self, at: usize) -> Option<usize> {
        (at..self.list.len()).find(|at| self.list[*at].operand.is_some())
    }

    /// The first and last word of the next stretch from `begin` on that matches the query.
    fn cover(
        &self,
        node: &Node<'_>,
        begin: usize,
        cover_max: usize,
    ) -> Option<RangeInclusive<usize>> {
        let mut first = self.next_wanted(begin);
        while let Some(begin) = first {
            let mut last = Some(begin);
            while let Some(end) = last.filter(|end| end - begin < cover_max) {
                let mut stretch =
                    Stretch { words: &self.list[begin..=end], operands: &self.operands };
                if matches(node, &mut stretch) {
                    return Some(begin..=end);
                }
                last = self.next_wanted(end + 1);
            }
            first = self.next_wanted(begin + 1);
        }
        None
    }

    /// Counts of words and of words of the query.
    fn counted(&self, at: usize) -> (usize, usize) {
        let word = &self.list[at];
        (usize::from(!word.is_no_word()), usize::from(word.is_wanted()))
    }

    fn show(&mut self, first: usize, last: usize) {
        for word in self.list.iter_mut().take(last + 1).skip(first) {
            word.is_shown = !word.is_repeated;
        }
    }

    /// The last of so many words from the begin of the document on.
    fn beginning(&self, count: usize) -> usize {
        let (mut words, mut last) = (0, 0);
        for at in 0..self.list.len() {
            if words >= count {
                break;
            }
            words += self.counted(at).0;
            last = at;
        }
        last
    }
}

/// Words of a document that are beside each other.
struct Stretch<'w, 't, 'n, 'a> {
    words: &'w [Word<'t>],
    operands: &'w [&'n Operand<'a>],
}

impl Stretch<'_, '_, '_, '_> {
    fn taken(&self, operand: &Operand<'_>) -> impl Iterator<Item = i32> {
        let is_it = |known: &&Operand<'_>| std::ptr::addr_eq(*known, operand);
        let number = self.operands.iter().position(is_it);
        let taken = self.words.iter().filter(move |word| word.operand == number);
        taken.map(|word| i32::from(word.position))
    }
}

impl Lookup for Stretch<'_, '_, '_, '_> {
    fn has(&mut self, operand: &Operand<'_>) -> bool {
        self.taken(operand).next().is_some()
    }

    fn places(&mut self, operand: &Operand<'_>) -> Found {
        let mut at: Vec<i32> = self.taken(operand).collect();
        at.dedup();
        if at.is_empty() {
            return Found::No;
        }
        Found::Yes(Places { at, is_negated: false, width: 0 })
    }
}

/// A headline that may be chosen.
#[derive(Clone, Copy)]
struct Candidate {
    first: usize,
    last: usize,
    /// Words of the query in it.
    wanted: usize,
    holds_cover: bool,
    has_good_end: bool,
}

impl Candidate {
    fn is_better(&self, than: &Self) -> bool {
        let key = |one: &Self| (one.holds_cover, one.wanted, one.has_good_end);
        key(self) > key(than)
    }
}

/// The headline around a cover.
fn around(
    words: &Words<'_, '_, '_>,
    cover: &RangeInclusive<usize>,
    options: &Options,
) -> Candidate {
    let (first, last) = (*cover.start(), *cover.end());
    let is_bad = |at: usize| words.list[at].is_bad_end(options.short_word);
    let (mut count, mut wanted) = (0, 0);
    let (mut begin, mut end, mut at) = (first, first, first);
    let mut add = |at: usize, count: &mut usize| {
        let (word, one) = words.counted(at);
        *count += word;
        wanted += one;
    };
    while at <= last && count < options.words_max {
        add(at, &mut count);
        end = at;
        at += 1;
    }
    if count < options.words_max {
        // There is room behind, and then before it.
        at -= 1;
        while at < words.list.len() && count < options.words_max {
            if at > last {
                add(at, &mut count);
            }
            end = at;
            if !is_bad(at) && count >= options.words_min {
                break;
            }
            at += 1;
        }
        if count < options.words_min {
            begin = 0;
            for at in (0..first).rev() {
                add(at, &mut count);
                if count >= options.words_max || !is_bad(at) && count >= options.words_min {
                    begin = at;
                    break;
                }
            }
        }
    } else {
        at = at.min(last);
        while count > options.words_min && is_bad(at) && at > 0 {
            let (word, one) = words.counted(at);
            count -= word;
            wanted -= one;
            at -= 1;
            end = at;
        }
    }
    Candidate {
        first: begin,
        last: end,
        wanted,
        holds_cover: begin <= first && end >= last,
        has_good_end: !is_bad(end),
    }
}

/// Shows one headline.
fn show_one(words: &mut Words<'_, '_, '_>, node: &Node<'_>, options: &Options) {
    let mut best: Option<Candidate> = None;
    let mut begin = 0;
    while let Some(cover) = words.cover(node, begin, options.cover_max()) {
        let found = around(words, &cover, options);
        if best.is_none_or(|best| found.is_better(&best)) {
            best = Some(found);
        }
        begin = cover.start() + 1;
    }
    match best {
        Some(best) => words.show(best.first, best.last),
        None => words.show(0, words.beginning(options.words_min)),
    }
}

/// A part of a cover.
#[derive(Clone, Copy)]
struct Fragment {
    first: usize,
    last: usize,
    count: usize,
    wanted: usize,
    is_gone: bool,
}

/// The first part of a stretch that is no longer than a headline, and has words of the query at
/// both ends.
fn part(
    words: &Words<'_, '_, '_>,
    mut first: usize,
    mut last: usize,
    words_max: usize,
) -> Fragment {
    let end = last;
    first = (first..=end).find(|at| words.list[*at].is_wanted()).unwrap_or(end);
    let (mut count, mut wanted, mut at) = (0, 0, first);
    while at <= last && count < words_max {
        let (word, one) = words.counted(at);
        count += word;
        wanted += one;
        at += 1;
    }
    if last > at {
        for at in (first..=at).rev() {
            last = at;
            if words.list[at].is_wanted() {
                break;
            }
            count = count.saturating_sub(words.counted(at).0);
        }
    }
    Fragment { first, last, count, wanted, is_gone: false }
}

/// Makes a fragment longer on both sides, up to what is shown already.
fn stretched(words: &Words<'_, '_, '_>, mut fragment: Fragment, options: &Options) -> Fragment {
    if fragment.count >= options.words_max {
        return fragment;
    }
    let is_bad = |at: usize| words.list[at].is_bad_end(options.short_word);
    let room = (options.words_max - fragment.count) / 2;
    let (mut added, mut begin) = (0, fragment.first);
    while begin > 0 && added < room && !words.list[begin - 1].is_shown {
        begin -= 1;
        added += words.counted(begin).0;
    }
    fragment.count += added;
    while begin < fragment.first && is_bad(begin) {
        fragment.count -= words.counted(begin).0;
        begin += 1;
    }
    fragment.first = begin;
    let mut end = fragment.last;
    while end + 1 < words.list.len()
        && fragment.count < options.words_max
        && !words.list[end + 1].is_shown
    {
        end += 1;
        fragment.count += words.counted(end).0;
    }
    while end > fragment.last && is_bad(end) {
        fragment.count -= words.counted(end).0;
        end -= 1;
    }
    fragment.last = end;
    fragment
}

/// Shows fragments.
fn show_fragments(words: &mut Words<'_, '_, '_>, node: &Node<'_>, options: &Options) {
    let mut fragments: Vec<Fragment> = Vec::new();
    let mut begin = 0;
    while let Some(cover) = words.cover(node, begin, options.cover_max()) {
        let (first, last) = cover.into_inner();
        let mut at = first;
        while at <= last {
            let fragment = part(words, at, last, options.words_max);
            at = fragment.last + 1;
            fragments.push(fragment);
        }
        begin = first + 1;
    }
    let mut shown = 0;
    while shown < options.fragments_max {
        let mut best: Option<(usize, usize, usize)> = None;
        for (number, one) in fragments.iter().enumerate().filter(|(_, one)| !one.is_gone) {
            let is_better = best.is_none_or(|(_, wanted, count)| {
                one.wanted > wanted || one.wanted == wanted && one.count < count
            });
            if is_better {
                best = Some((number, one.wanted, one.count));
            }
        }
        let Some((number, ..)) = best else { break };
        let chosen = stretched(words, fragments[number], options);
        words.show(chosen.first, chosen.last);
        shown += 1;
        for one in &mut fragments {
            one.is_gone |= one.first <= chosen.last && one.last >= chosen.first;
        }
        fragments[number].is_gone = true;
    }
    if shown == 0 {
        words.show(0, words.beginning(options.words_min));
    }
}

/// Appends what is shown.
fn push_shown(out: &mut Vec<u8>, words: &Words<'_, '_, '_>, options: &Options) {
    let (mut is_inside, mut fragments) = (false, 0);
    for word in words.list.iter().filter(|word| !word.is_repeated) {
        if !word.is_shown {
            is_inside = false;
            continue;
        }
        if !is_inside {
            is_inside = true;
            fragments += 1;
            if fragments > 1 {
                out.extend_from_slice(options.delimiter.as_bytes());
            }
        }
        let is_skipped = word.is_no_word() && !matches!(word.token.kind, Kind::Space | Kind::Tag);
        if word.token.kind == Kind::Tag && !options.highlights_all {
            out.push(b' ');
        } else if !is_skipped {
            let is_marked = word.operand.is_some();
            if is_marked {
                out.extend_from_slice(options.start.as_bytes());
            }
            out.extend_from_slice(word.token.text.as_bytes());
            if is_marked {
                out.extend_from_slice(options.stop.as_bytes());
            }
        }
    }
}

/// `ts_headline(regconfig, text, tsquery [, options])`.
pub(super) fn headline(call: &Call<'_>, out: &mut Vec<u8>) -> Computed {
    debug_assert_eq!(call.types.get(1), Some(&DataType::Text), "a document is a text");
    let configuration = configuration(call, 0)?;
    let options = if call.types.len() > 3 { text(call, 3)? } else { "" };
    let options = Options::parse(options)?;
    let nothing = Node::Operand(Operand {
        word: std::borrow::Cow::Borrowed(b""),
        weights: 0,
        is_prefix: false,
    });
    let node = query(call.bytes(2)).unwrap_or(nothing);
    let mut words = Words::new(configuration, text(call, 1)?, &node)?;
    if words.list.is_empty() {
        return Ok(Given::Bytes);
    }
    if options.highlights_all {
        words.show(0, words.list.len() - 1);
    } else if options.fragments_max > 0 {
        show_fragments(&mut words, &node, &options);
    } else {
        show_one(&mut words, &node, &options);
    }
    push_shown(out, &words, &options);
    Ok(Given::Bytes)
}
