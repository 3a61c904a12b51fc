//! Functions that look for several matches, or for their groups.
//!
//! Matches follow each other as PostgreSQL finds them: the next one begins where the last one
//! ended, also when it is empty; behind an empty one it begins a character later.

use std::ops::{ControlFlow, Range};

use types::array::ArrayBuilder;
use types::{ElementType, Error, PhysicalType, Result, SqlState};

use super::matcher::{Groups, Matcher};
use super::pattern::Options;
use super::{Case, Last};
use crate::rows::{self, Texts, Values, Written, try_build, try_narrow, try_write};
use crate::{Bitmap, Vector, VectorBuilder};

/// Calls `each` with the matches from byte `start` on, until it breaks.
fn each_match(
    matcher: &Matcher,
    text: &str,
    start: usize,
    mut each: impl FnMut(Range<usize>) -> ControlFlow<()>,
) -> Result<()> {
    let mut at = start;
    while at <= text.len() {
        let Some(found) = matcher.find_at(text, at)? else { break };
        if each(found.clone()).is_break() {
            break;
        }
        at = next_start(text, found);
    }
    Ok(())
}

/// As [`each_match`] with the whole match and the groups of each match.
fn each_groups(
    matcher: &Matcher,
    text: &str,
    start: usize,
    mut each: impl FnMut(Range<usize>, &Groups) -> ControlFlow<()>,
) -> Result<()> {
    let mut at = start;
    while at <= text.len() {
        let Some(groups) = matcher.groups_at(text, at)? else { break };
        let Some(whole) = groups[0].clone() else { break };
        if each(whole.clone(), &groups).is_break() {
            break;
        }
        at = next_start(text, whole);
    }
    Ok(())
}

fn next_start(text: &str, found: Range<usize>) -> usize {
    if found.is_empty() {
        found.end + text[found.end..].chars().next().map_or(1, char::len_utf8)
    } else {
        found.end
    }
}

/// The byte where character `start` begins, counted from 1; behind the text when it is shorter.
fn start_byte(text: &str, start: i32) -> Result<usize> {
    let skipped = positive("start", start)? - 1;
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(places.nth(skipped).unwrap_or(text.len() + 1))
}

fn positive(name: &str, value: i32) -> Result<usize> {
    usize::try_from(value).ok().filter(|value| *value > 0).ok_or_else(|| invalid(name, value))
}

#[cold]
fn invalid(name: &str, value: i32) -> Error {
    let message = format!("invalid value for parameter \"{name}\": {value}");
    Error::new(SqlState::INVALID_PARAMETER, message)
}

/// regexp_count(text, pattern, start, flags) -> I32.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag or a start below 1.
pub fn count([text, pattern, start, flags]: [&Vector; 4]) -> Result<Vector> {
    let (texts, patterns, flag_texts) = (Texts::new(text), Texts::new(pattern), Texts::new(flags));
    let starts = Values::<i32>::new(start);
    let mut last = Last::default();
    try_build(&[text, pattern, start, flags], |i| {
        let text = texts.str(i)?;
        let start = start_byte(text, starts.get(i))?;
        let options = Options::parse(flag_texts.str(i)?)?.once("regexp_count")?;
        let mut found = 0i32;
        each_match(last.get(patterns.str(i)?, options)?, text, start, |_| {
            found += 1;
            ControlFlow::Continue(())
        })?;
        Ok(found)
    })
}

/// The arguments that say which part of which match is meant.
#[derive(Clone, Copy)]
pub struct Finding<'a> {
    /// The text.
    pub text: &'a Vector,
    /// The pattern.
    pub pattern: &'a Vector,
    /// The character to start at, from 1.
    pub start: &'a Vector,
    /// The number of the match, from 1.
    pub nth: &'a Vector,
    /// Flags.
    pub flags: &'a Vector,
    /// The number of the group, 0 for the whole match.
    pub group: &'a Vector,
}

impl<'a> Finding<'a> {
    fn all(&self) -> [&'a Vector; 6] {
        [self.text, self.pattern, self.start, self.nth, self.flags, self.group]
    }

    /// A function that finds the part of row `i` that is meant; None when there is none.
    fn finder(
        &self,
        function: &'static str,
    ) -> impl FnMut(usize) -> Result<Option<Range<usize>>> + use<'a> {
        let (texts, patterns) = (Texts::new(self.text), Texts::new(self.pattern));
        let flags = Texts::new(self.flags);
        let numbers = [self.start, self.nth, self.group].map(Values::<i32>::new);
        let mut last = Last::default();
        move |i| {
            let text = texts.str(i)?;
            let [start, nth, group] = numbers.map(|values| values.get(i));
            let start = start_byte(text, start)?;
            let nth = positive("n", nth)?;
            let group = usize::try_from(group).map_err(|_| invalid("subexpr", group))?;
            let options = Options::parse(flags.str(i)?)?.once(function)?;
            let matcher = last.get(patterns.str(i)?, options)?;
            // Without groups the match is the first one.
            let group = if group == 1 && matcher.group_count() == 1 { 0 } else { group };
            let (mut seen, mut part) = (0, None);
            each_groups(matcher, text, start, |_, groups| {
                seen += 1;
                if seen < nth {
                    return ControlFlow::Continue(());
                }
                part = groups.get(group).cloned().flatten();
                ControlFlow::Break(())
            })?;
            Ok(part)
        }
    }
}

/// regexp_instr: where the part begins in characters from 1, or with `end` 1 where it ends; 0
/// without.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for other arguments.
pub fn nth_place(finding: Finding<'_>, end: &Vector) -> Result<Vector> {
    let texts = Texts::new(finding.text);
    let ends = Values::<i32>::new(end);
    let mut find = finding.finder("regexp_instr");
    let [a, b, c, d, e, f] = finding.all();
    try_build(&[a, b, c, d, e, f, end], |i| {
        let side = ends.get(i);
        if !(0..=1).contains(&side) {
            return Err(invalid("endoption", side));
        }
        Ok(match find(i)? {
            Some(part) => {
                let place = if side == 0 { part.start } else { part.end };
                texts.str(i)?[..place].chars().count() as i32 + 1
            }
            None => 0,
        })
    })
}

/// regexp_substr: the part itself; NULL without.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for other arguments.
pub fn nth_substring(finding: Finding<'_>) -> Result<Vector> {
    let arguments = finding.all();
    let mut find = finding.finder("regexp_substr");
    let mut is_found = Bitmap::filled(rows::count(&arguments), true);
    let parts = try_narrow(finding.text, &arguments, |i, _| {
        let part = find(i)?;
        if part.is_none() {
            is_found.set(i, false);
        }
        Ok(part.unwrap_or(0..0))
    })?;
    let validity = match &parts.validity {
        Some(valid) => valid.and(&is_found),
        None => is_found,
    };
    Ok(Vector::with_validity(parts.data, Some(validity)))
}

/// Appends the texts of a match's groups, or of the match when it has none.
fn push_groups(out: &mut ArrayBuilder, text: &str, groups: &Groups) {
    let first = usize::from(groups.len() > 1);
    for group in groups.iter().skip(first) {
        match group {
            Some(part) => out.push_text(&text.as_bytes()[part.clone()]),
            None => out.push_null(),
        }
    }
}

/// An array for each row without NULL arguments, NULL where `f` says so.
fn arrays(
    arguments: &[&Vector],
    mut f: impl FnMut(usize, &mut ArrayBuilder) -> Result<bool>,
) -> Result<Vector> {
    let rows = rows::count(arguments);
    let valid = rows::validity(arguments, rows);
    let mut out = VectorBuilder::with_capacity(PhysicalType::Str, rows);
    for i in 0..rows {
        let mut array = ArrayBuilder::new();
        if valid.as_ref().is_none_or(|v| v.get(i)) && f(i, &mut array)? {
            out.push_str(&array.finish()?)
        } else {
            out.push_null()
        }
    }
    Ok(out.finish())
}

/// regexp_match(text, pattern, flags) -> TEXT[]: the groups of the first match, NULL without.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag.
pub fn groups(text: &Vector, pattern: &Vector, flags: &Vector) -> Result<Vector> {
    let (texts, patterns, flag_texts) = (Texts::new(text), Texts::new(pattern), Texts::new(flags));
    let mut last = Last::default();
    arrays(&[text, pattern, flags], |i, out| {
        let options = Options::parse(flag_texts.str(i)?)?.once("regexp_match")?;
        let found = last.get(patterns.str(i)?, options)?.groups_at(texts.str(i)?, 0)?;
        if let Some(groups) = &found {
            push_groups(out, texts.str(i)?, groups);
        }
        Ok(found.is_some())
    })
}

/// The rows of regexp_matches(text, pattern, flags) -> TEXT[]: the text of the array that
/// [`groups`] gives, for each match with the flag `g`, else for the first one.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag.
pub fn all_groups(text: &Vector, pattern: &Vector, flags: &Vector) -> Result<Vector> {
    let (texts, patterns, flag_texts) = (Texts::new(text), Texts::new(pattern), Texts::new(flags));
    let mut last = Last::default();
    arrays(&[text, pattern, flags], |i, out| {
        let options = Options::parse(flag_texts.str(i)?)?;
        let matcher = last.get(patterns.str(i)?, Options { global: false, ..options })?;
        let text = texts.str(i)?;
        let mut failure = None;
        each_groups(matcher, text, 0, |_, found| {
            let mut groups = ArrayBuilder::new();
            push_groups(&mut groups, text, found);
            match groups.finish() {
                Ok(groups) => {
                    let value = types::Value::Str(groups.into());
                    let ty = types::DataType::Array(ElementType::Text);
                    out.push_text(types::text::format(&value, ty).as_bytes());
                }
                Err(error) => failure = Some(error),
            }
            if options.global && failure.is_none() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        failure.map_or(Ok(true), Err)
    })
}

/// regexp_split_to_array(text, pattern, flags) -> TEXT[]: what is between matches. Empty matches
/// at the ends of the text or behind another match do not count.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag.
pub fn split(
    function: &'static str,
    text: &Vector,
    pattern: &Vector,
    flags: &Vector,
) -> Result<Vector> {
    let (texts, patterns, flag_texts) = (Texts::new(text), Texts::new(pattern), Texts::new(flags));
    let mut last = Last::default();
    arrays(&[text, pattern, flags], |i, out| {
        let options = Options::parse(flag_texts.str(i)?)?.once(function)?;
        let text = texts.str(i)?;
        let (mut start, mut seen) = (0, 0);
        each_match(last.get(patterns.str(i)?, options)?, text, 0, |found| {
            if found.start < text.len() && found.end > seen {
                out.push_text(&text.as_bytes()[start..found.start]);
                start = found.end;
            }
            seen = found.end;
            ControlFlow::Continue(())
        })?;
        out.push_text(&text.as_bytes()[start..]);
        Ok(true)
    })
}

/// Appends `replacement` with `\1` ... `\9` and `\&` filled in.
fn push_replacement(
    out: &mut Written,
    replacement: &str,
    text: &str,
    groups: &Groups,
) -> Result<()> {
    if !replacement.contains('\\') {
        return out.push_bytes(replacement.as_bytes());
    }
    out.make(replacement.len())?;
    let mut characters = replacement.chars();
    while let Some(c) = characters.next() {
        let mut next = characters.clone();
        let group = match (c, next.next()) {
            ('\\', Some('&')) => 0,
            ('\\', Some(digit @ '1'..='9')) => digit as usize - '0' as usize,
            ('\\', Some('\\')) => {
                out.push(b'\\');
                characters = next;
                continue;
            }
            _ => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        characters = next;
        if let Some(part) = groups.get(group).cloned().flatten() {
            out.push_bytes(&text.as_bytes()[part])?;
        }
    }
    Ok(())
}

/// regexp_replace(text, pattern, replacement [, start, nth] [, flags]): without `nth` the first
/// match, or with the flag `g` all; the match `nth`, or with 0 all.
///
/// # Errors
/// 2201B when a pattern is not well formed, 22023 for an unknown flag and other arguments.
pub fn replace(
    [text, pattern, replacement]: [&Vector; 3],
    start: Option<&Vector>,
    nth: Option<&Vector>,
    flags: Option<&Vector>,
) -> Result<Vector> {
    let (texts, patterns) = (Texts::new(text), Texts::new(pattern));
    let (replacements, flag_texts) = (Texts::new(replacement), flags.map(Texts::new));
    let numbers = [start, nth].map(|numbers| numbers.map(Values::<i32>::new));
    let mut arguments = vec![text, pattern, replacement];
    arguments.extend([start, nth, flags].into_iter().flatten());
    let mut last = Last::default();
    try_write(&arguments, |i, out| {
        let options = match flag_texts {
            Some(flags) => Options::parse(flags.str(i)?)?,
            None => Options::new(Case::Sensitive),
        };
        let (text, replacement) = (texts.str(i)?, replacements.str(i)?);
        let [start, nth] = numbers.map(|numbers| numbers.map(|numbers| numbers.get(i)));
        let start = start_byte(text, start.unwrap_or(1))?;
        let wanted = match nth {
            Some(nth) => usize::try_from(nth).map_err(|_| invalid("n", nth))?,
            None => usize::from(!options.global),
        };
        let matcher = last.get(patterns.str(i)?, Options { global: false, ..options })?;
        let (mut copied, mut seen) = (0, 0);
        let mut room = Ok(());
        each_groups(matcher, text, start, |whole, groups| {
            seen += 1;
            if wanted > 0 && seen < wanted {
                return ControlFlow::Continue(());
            }
            room = out.push_bytes(&text.as_bytes()[copied..whole.start]);
            let pushed = push_replacement(out, replacement, text, groups);
            room = std::mem::replace(&mut room, Ok(())).and(pushed);
            if room.is_err() {
                return ControlFlow::Break(());
            }
            copied = whole.end;
            match wanted {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        room?;
        out.push_bytes(&text.as_bytes()[copied..])?;
        Ok(())
    })
}
