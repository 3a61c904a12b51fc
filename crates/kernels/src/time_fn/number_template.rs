//! Templates of numbers: to_char and to_number.
//!
//! ```text
//! to_char(-1234.5, '9,999.99')    sign and digits flow right: "-1,234.50"
//! ```
//! Source: PostgreSQL 15, formatting.c, `NUM_processor`.

use types::wide::Wide;
use types::{DataType, Error, Result, SqlState, decimal};

use super::template::take_text;
use super::write::scaled_text;
use crate::Vector;
use crate::rows::{Texts, try_write};

/// One place of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// 9
    Digit,
    /// 0
    Zero,
    /// . or D
    Point,
    /// , or G
    Group,
    /// S, PL, MI, SG at this place
    Sign(Sign),
    /// L, `$`-like and other text
    Text(String),
    /// TH or th
    Ordinal(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// S: plus or minus, next to the digits.
    Anchored,
    /// SG: plus or minus, here.
    Fixed,
    /// MI: minus or blank.
    Minus,
    /// PL: plus or blank.
    Plus,
}

/// Words of a template that others may not stand beside, as far as they were read.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    point: bool,
    shift: bool,
    /// S
    anchored: bool,
    /// MI, PL or SG
    signed: bool,
    /// RN
    roman: bool,
}

/// A number's template.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberTemplate {
    places: Vec<Place>,
    /// Digits before the point.
    whole: usize,
    /// Digits after it.
    fraction: usize,
    /// FM
    bare: bool,
    /// PR
    angles: bool,
    /// EEEE
    scientific: bool,
    /// RN, and whether in lower case.
    roman: Option<bool>,
    /// Digits after V.
    shift: usize,
}

fn malformed(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

impl NumberTemplate {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut template = Self::default();
        let mut rest = text;
        let mut seen = Seen::default();
        while let Some(c) = rest.chars().next() {
            if matches!(c, '"' | '\\') {
                let text;
                (text, rest) = take_text(rest);
                template.places.push(Place::Text(text));
                continue;
            }
            let taken = template.take(rest, c, &mut seen)?;
            rest = &rest[taken..];
        }
        template.whole += template.shift;
        Ok(template)
    }

    /// Reads what `rest` begins with; the bytes that it took.
    fn take(&mut self, rest: &str, c: char, seen: &mut Seen) -> Result<usize> {
        let two = rest.get(..2).map(str::to_ascii_uppercase).unwrap_or_default();
        let four = rest.get(..4);
        let is_exponent = four.is_some_and(|four| four.eq_ignore_ascii_case("EEEE"));
        self.refuse(&two, c, is_exponent, seen)?;
        let sign = match two.as_str() {
            "MI" => Some(Sign::Minus),
            "PL" => Some(Sign::Plus),
            "SG" => Some(Sign::Fixed),
            _ => None,
        };
        if let Some(sign) = sign {
            seen.signed = true;
            return Ok(self.push(Place::Sign(sign), 2));
        }
        match (two.as_str(), c) {
            ("FM", _) => self.bare = true,
            // Known, and without a meaning in PostgreSQL, too.
            ("SP", _) => {}
            ("PR", _) => self.angles = true,
            ("RN", _) => (self.roman, seen.roman) = (Some(c == 'r'), true),
            ("TH", _) => return Ok(self.push(Place::Ordinal(c == 'T'), 2)),
            _ if is_exponent => {
                self.scientific = true;
                return Ok(4);
            }
            _ => return Ok(self.take_one(c, seen)),
        }
        Ok(2)
    }

    /// Reads a word of one letter, or what means itself.
    fn take_one(&mut self, c: char, seen: &mut Seen) -> usize {
        match c {
            'S' | 's' => {
                seen.anchored = true;
                self.places.push(Place::Sign(Sign::Anchored));
            }
            '9' | '0' => {
                self.places.push(if c == '9' { Place::Digit } else { Place::Zero });
                match (seen.point, seen.shift) {
                    (true, _) => self.fraction += 1,
                    (false, true) => self.shift += 1,
                    (false, false) => self.whole += 1,
                }
            }
            '.' | 'D' | 'd' => {
                seen.point = true;
                self.places.push(Place::Point);
            }
            ',' | 'G' | 'g' => self.places.push(Place::Group),
            'V' | 'v' => seen.shift = true,
            // Known, and without a meaning in PostgreSQL, too: a blank for a zero, a currency.
            'B' | 'b' | 'C' | 'c' => {}
            'L' | 'l' => self.places.push(Place::Text(" ".to_owned())),
            c => self.places.push(Place::Text(c.to_string())),
        }
        c.len_utf8()
    }

    /// # Errors
    /// 42601 for what may not follow the words that were read.
    fn refuse(&self, two: &str, c: char, is_exponent: bool, seen: &Seen) -> Result<()> {
        let refused = |is_wrong: bool, message: &str| {
            if is_wrong { Err(malformed(message)) } else { Ok(()) }
        };
        let has_sign = seen.anchored || seen.signed || self.angles;
        let others = has_sign || self.bare || seen.roman || seen.shift;
        match (two, c) {
            ("FM" | "RN" | "TH" | "SP", _) => Ok(()),
            ("MI" | "PL" | "SG", _) => {
                let message = format!("cannot use \"S\" and \"{two}\" together");
                refused(seen.anchored, &message)
            }
            ("PR", _) => refused(
                seen.anchored || seen.signed,
                "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together",
            ),
            _ if is_exponent => {
                refused(self.scientific, "cannot use \"EEEE\" twice")?;
                refused(others, "\"EEEE\" is incompatible with other formats")
            }
            (_, 'S' | 's') => {
                refused(seen.anchored, "cannot use \"S\" twice")?;
                let message = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
                refused(seen.signed || self.angles, message)
            }
            (_, '9' | '0') => refused(self.angles, &format!("\"{c}\" must be ahead of \"PR\"")),
            (_, '.' | 'D' | 'd') => {
                refused(seen.point, "multiple decimal points")?;
                refused(seen.shift, "cannot use \"V\" and decimal point together")
            }
            (_, 'V' | 'v') => refused(seen.point, "cannot use \"V\" and decimal point together"),
            _ => Ok(()),
        }
    }

    /// True for EEEE.
    pub(super) fn is_scientific(&self) -> bool {
        self.scientific
    }

    fn push(&mut self, place: Place, taken: usize) -> usize {
        self.places.push(place);
        taken
    }

    /// Appends `value` of scale `scale`.
    pub(super) fn write(&self, value: i128, scale: u8, out: &mut String) -> Result<()> {
        if let Some(lower) = self.roman {
            let whole = decimal::rescale(value, scale, 0);
            let fits = whole.filter(|whole| i32::try_from(*whole).is_ok());
            let whole = fits.ok_or_else(|| decimal::integer_out_of_range(DataType::Integer))?;
            self.write_roman(Some(whole), lower, out);
            return Ok(());
        }
        if self.scientific {
            self.write_scientific_decimal(value, scale, out);
            return Ok(());
        }
        let shifted = value.checked_mul(decimal::pow10(self.shift.min(38) as u32));
        let digits = self.fraction.min(38) as u8;
        let Some((whole, mut fraction)) =
            shifted.and_then(|v| scaled_text(v, scale, digits.min(scale)))
        else {
            return Err(decimal::overflow());
        };
        let missing = self.fraction - fraction.len();
        fraction.extend(std::iter::repeat_n('0', missing));
        let zero = whole == "0" && fraction.bytes().all(|b| b == b'0');
        self.fill(&whole, &fraction, value < 0 && !zero, out);
        Ok(())
    }

    /// Appends a wide decimal.
    pub(super) fn write_wide(&self, value: &Wide, out: &mut String) -> Result<()> {
        if let Some(lower) = self.roman {
            let whole = value.to_integer(DataType::Integer)?;
            self.write_roman(Some(i128::from(whole)), lower, out);
            return Ok(());
        }
        if self.scientific {
            self.write_scientific_wide(value, out);
            return Ok(());
        }
        let Some(scale) = value.scale() else {
            return self.write_float(value.to_f64(), 15, out);
        };
        let shifted = value.multiply(&Wide::new(decimal::pow10(self.shift.min(38) as u32), 0))?;
        let digits = (self.fraction as u32).min(scale);
        let text = shifted.round(digits as i32)?.abs().to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let fraction = format!("{fraction:0<width$}", width = self.fraction);
        let zero = whole == "0" && fraction.bytes().all(|b| b == b'0');
        self.fill(whole, &fraction, value.signum() == Some(-1) && !zero, out);
        Ok(())
    }

    /// Appends `value`, of which `digits` are significant.
    pub(super) fn write_float(&self, value: f64, digits: usize, out: &mut String) -> Result<()> {
        if let Some(lower) = self.roman {
            // Beyond every Roman number when it does not fit.
            self.write_roman(Some(value.round_ties_even() as i128), lower, out);
            return Ok(());
        }
        if self.scientific {
            self.write_scientific(value, out);
            return Ok(());
        }
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        if !value.is_finite() && name.len() <= self.whole {
            let has_ordinal = self.places.iter().any(|p| matches!(p, Place::Ordinal(_)));
            if has_ordinal {
                let message = format!("\"{name}\" is not a number");
                return Err(Error::new(SqlState::INVALID_TEXT, message));
            }
            self.fill(name, "", value < 0.0, out);
            return Ok(());
        }
        if !value.is_finite() {
            let fraction = digits.saturating_sub(name.len()).min(self.fraction);
            self.fill(&"#".repeat(self.whole + 1), &"#".repeat(fraction), value < 0.0, out);
            return Ok(());
        }
        // Digits that are not significant are not there.
        let shifted = value * 10f64.powi(self.shift as i32);
        let whole_digits = format!("{:.0}", shifted.abs()).len();
        let fraction = digits.saturating_sub(whole_digits).min(self.fraction);
        let text = format!("{:.fraction$}", shifted.abs());
        let (whole, shown) = text.split_once('.').unwrap_or((&text, ""));
        self.fill(whole, shown, value.is_sign_negative(), out);
        Ok(())
    }

    fn write_roman(&self, value: Option<i128>, lower: bool, out: &mut String) {
        const PARTS: [(i128, &str); 13] = [
            (1000, "M"),
            (900, "CM"),
            (500, "D"),
            (400, "CD"),
            (100, "C"),
            (90, "XC"),
            (50, "L"),
            (40, "XL"),
            (10, "X"),
            (9, "IX"),
            (5, "V"),
            (4, "IV"),
            (1, "I"),
        ];
        let mut rest = value.filter(|v| (1..4000).contains(v)).unwrap_or(0);
        let mut text = if rest == 0 { "#".repeat(15) } else { String::new() };
        for (part, letters) in PARTS {
            while rest >= part {
                text.push_str(letters);
                rest -= part;
            }
        }
        if lower {
            text.make_ascii_lowercase();
        }
        if !self.bare {
            text.insert_str(0, &" ".repeat(15usize.saturating_sub(text.len())));
        }
        out.push_str(&text);
    }

    fn write_scientific(&self, value: f64, out: &mut String) {
        if !value.is_finite() {
            self.write_no_scientific(out);
            return;
        }
        let text = format!("{value:.width$e}", width = self.fraction);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        self.push_scientific(mantissa, exponent.parse().unwrap_or(0), out);
    }

    /// As [`Self::write_scientific`], exact and rounded half away from zero.
    fn write_scientific_decimal(&self, value: i128, scale: u8, out: &mut String) {
        let digits = decimal::digit_count(value).max(1);
        let excess = i64::from(digits) - 1 - self.fraction as i64;
        let unit = u32::try_from(excess).unwrap_or(0);
        let mut rounded = decimal::divide_round(value, decimal::pow10(unit)).unsigned_abs();
        let mut exponent = digits as i32 - 1 - i32::from(scale);
        if excess > 0 && rounded >= decimal::pow10(digits - unit).unsigned_abs() {
            // 9.99 became 10.0.
            (rounded, exponent) = (rounded / 10, exponent + 1);
        }
        let mut text = rounded.to_string();
        let missing = (self.fraction + 1).saturating_sub(text.len());
        text.extend(std::iter::repeat_n('0', missing));
        if self.fraction > 0 {
            text.insert(1, '.');
        }
        if value < 0 {
            text.insert(0, '-');
        }
        self.push_scientific(&text, if value == 0 { 0 } else { exponent }, out);
    }

    /// As [`Self::write_scientific`], exact, rounded half away from zero, and with the exponent
    /// of the value before it was rounded.
    fn write_scientific_wide(&self, value: &Wide, out: &mut String) {
        let Some(sign) = value.finite().and_then(|_| value.signum()) else {
            self.write_no_scientific(out);
            return;
        };
        let exponent = leading_exponent(&value.abs().to_string());
        let places = i64::from(exponent).saturating_neg().saturating_add(self.fraction as i64);
        let rounded = value.abs().round(places as i32).unwrap_or_else(|_| value.abs());
        let rounded = rounded.to_string();
        let carried = (leading_exponent(&rounded) - exponent).max(0) as usize;
        let digits = rounded.replace('.', "");
        let digits = digits.trim_start_matches('0');
        let whole = carried + 1;
        let mut text = format!("{digits:0<width$}", width = whole + self.fraction);
        text.truncate(whole + self.fraction);
        if self.fraction > 0 {
            text.insert(whole, '.');
        }
        if sign < 0 {
            text.insert(0, '-');
        }
        self.push_scientific(&text, exponent, out);
    }

    /// Writes the signs for a value without digits.
    fn write_no_scientific(&self, out: &mut String) {
        out.push(' ');
        out.push_str(&"#".repeat(self.whole));
        out.push('.');
        out.push_str(&"#".repeat(self.fraction + 4));
    }

    fn push_scientific(&self, mantissa: &str, exponent: i32, out: &mut String) {
        if !mantissa.starts_with('-') && !self.bare {
            out.push(' ');
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()));
    }

    fn has_sign(&self) -> bool {
        // PL comes in addition to the usual sign.
        self.places.iter().any(|p| matches!(p, Place::Sign(s) if *s != Sign::Plus))
    }

    /// Appends the digits at their places.
    fn fill(&self, whole: &str, fraction: &str, negative: bool, out: &mut String) {
        let overflow = whole.len() > self.whole;
        let first_zero = self
            .places
            .iter()
            .take_while(|p| **p != Place::Point)
            .filter(|p| matches!(p, Place::Digit | Place::Zero))
            .position(|p| *p == Place::Zero);
        // A lone 0 before a fraction is not shown unless the template asks for it.
        let kept = if overflow { fraction.len() } else { self.kept_fraction(fraction) };
        let hidden = whole == "0" && kept > 0 && first_zero.is_none();
        let digits = if hidden { "" } else { whole };
        let start = self.whole.saturating_sub(digits.len());
        let shown_from = first_zero.map_or(start, |z| z.min(start));
        let mut state = Filling { whole_at: 0, fraction_at: 0, signed: false };
        let free_sign = !self.has_sign();
        for place in &self.places {
            match place {
                Place::Digit | Place::Zero if state.whole_at < self.whole => {
                    let shown = state.whole_at >= shown_from;
                    if shown || overflow {
                        self.push_sign(&mut state, free_sign, negative, out);
                    }
                    match state.whole_at.checked_sub(start) {
                        _ if overflow => out.push('#'),
                        Some(at) => out.push_str(&digits[at..][..1]),
                        None if shown => out.push('0'),
                        None => self.push_blank(out),
                    }
                    state.whole_at += 1;
                }
                Place::Digit | Place::Zero => {
                    if self.ends_text(place, state.fraction_at, fraction) {
                        return;
                    }
                    if state.fraction_at < kept {
                        let digit = &fraction[state.fraction_at..][..1];
                        out.push_str(if overflow { "#" } else { digit });
                    }
                    state.fraction_at += 1;
                }
                Place::Point => {
                    self.push_sign(&mut state, free_sign, negative, out);
                    if fraction.is_empty() && !overflow {
                        return;
                    }
                    out.push('.');
                }
                Place::Group => {
                    let begun = state.whole_at > shown_from || state.fraction_at > 0 || overflow;
                    if begun {
                        out.push(',');
                    } else {
                        self.push_blank(out);
                    }
                }
                Place::Text(text) => out.push_str(text),
                Place::Ordinal(upper) if !overflow => {
                    self.push_ordinal(whole, negative, *upper, out);
                }
                Place::Ordinal(_) => {}
                Place::Sign(sign) => self.push_placed(*sign, negative, out),
            }
        }
        match (self.angles, negative) {
            (true, true) => out.push('>'),
            (true, false) => self.push_blank(out),
            (false, _) => {}
        }
    }

    /// True for a place behind all that is known of a number: nothing follows.
    fn ends_text(&self, place: &Place, at: usize, fraction: &str) -> bool {
        let is_left_out = self.bare && !fraction.is_empty() && *place == Place::Digit;
        at >= fraction.len() && !is_left_out
    }

    /// A blank, unless FM asks for none.
    fn push_blank(&self, out: &mut String) {
        if !self.bare {
            out.push(' ');
        }
    }

    /// Digits of the fraction that are shown: with FM, zeros at the end are not, except at a 0.
    fn kept_fraction(&self, fraction: &str) -> usize {
        if !self.bare {
            return fraction.len();
        }
        let after = self.places.iter().skip_while(|p| **p != Place::Point).skip(1);
        let places: Vec<&Place> =
            after.filter(|p| matches!(p, Place::Digit | Place::Zero)).collect();
        let last_zero = places.iter().rposition(|p| **p == Place::Zero).map_or(0, |i| i + 1);
        fraction.trim_end_matches('0').len().max(last_zero)
    }

    /// The sign that stands right before the first digit, once.
    fn push_sign(&self, state: &mut Filling, free: bool, negative: bool, out: &mut String) {
        if state.signed {
            return;
        }
        state.signed = true;
        let leading_anchor = self.leading_anchor();
        if self.angles {
            match (negative, self.bare) {
                (true, _) => out.push('<'),
                (false, false) => out.push(' '),
                (false, true) => {}
            }
        } else if leading_anchor {
            out.push(if negative { '-' } else { '+' });
        } else if free {
            if negative {
                out.push('-');
            } else if !self.bare {
                out.push(' ');
            }
        }
    }

    /// True when S stands before all digits.
    fn leading_anchor(&self) -> bool {
        let first_digit = self.places.iter().position(|p| matches!(p, Place::Digit | Place::Zero));
        let anchor = self.places.iter().position(|p| *p == Place::Sign(Sign::Anchored));
        matches!((anchor, first_digit), (Some(a), Some(d)) if a < d)
    }

    fn push_placed(&self, sign: Sign, negative: bool, out: &mut String) {
        match sign {
            Sign::Anchored if self.leading_anchor() => {}
            Sign::Anchored | Sign::Fixed => out.push(if negative { '-' } else { '+' }),
            Sign::Minus if negative => out.push('-'),
            Sign::Plus if !negative => out.push('+'),
            Sign::Minus | Sign::Plus if !self.bare => out.push(' '),
            _ => {}
        }
    }

    fn push_ordinal(&self, whole: &str, negative: bool, upper: bool, out: &mut String) {
        if negative || self.fraction > 0 {
            return;
        }
        let teen = whole.len() >= 2 && whole.as_bytes()[whole.len() - 2] == b'1';
        let ending = match whole.as_bytes().last() {
            Some(b'1') if !teen => "st",
            Some(b'2') if !teen => "nd",
            Some(b'3') if !teen => "rd",
            _ => "th",
        };
        out.push_str(&if upper { ending.to_ascii_uppercase() } else { ending.to_owned() });
    }
}

/// The power of ten of the first digit of `text`, which is no 0; 0 without one.
fn leading_exponent(text: &str) -> i32 {
    let point = text.find('.').unwrap_or(text.len()) as i32;
    match text.find(|c: char| matches!(c, '1'..='9')) {
        None => 0,
        Some(at) if (at as i32) < point => point - 1 - at as i32,
        Some(at) => point - at as i32,
    }
}

/// How far a number has been written.
struct Filling {
    whole_at: usize,
    fraction_at: usize,
    signed: bool,
}

/// The digits, sign and point of `text` that the template has places for.
fn read_number(text: &str, template: &NumberTemplate) -> Result<Wide> {
    let fail = || {
        let message = format!("invalid input syntax for type numeric: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT, message)
    };
    let mut number = String::new();
    let mut negative = false;
    let (mut whole, mut fraction, mut point) = (0, 0, false);
    for c in text.chars() {
        match c {
            '-' | '<' => negative = true,
            '0'..='9' if point && fraction < template.fraction => {
                number.push(c);
                fraction += 1;
            }
            '0'..='9' if !point && whole < template.whole => {
                number.push(c);
                whole += 1;
            }
            '0'..='9' => break,
            '.' if !point && template.fraction > 0 => {
                point = true;
                number.push('.');
            }
            '.' => break,
            _ => {}
        }
    }
    if whole + fraction == 0 {
        return Err(fail());
    }
    let value = Wide::parse(&number)?;
    let value = match template.shift.min(1000) {
        0 => value,
        shift => value.multiply(&Wide::new(1, shift as u32))?,
    };
    Ok(if negative { value.negated() } else { value })
}

/// to_number(TEXT, format) -> wide decimals. What the template has no digit for is skipped.
///
/// # Errors
/// 22P02 when there are no digits, 42601 for a malformed template, 0A000 for EEEE and RN.
pub fn to_number(text: &Vector, format: &Vector) -> Result<Vector> {
    let (texts, formats) = (Texts::new(text), Texts::new(format));
    try_write(&[text, format], |i, out| {
        let template = NumberTemplate::parse(formats.str(i)?)?;
        let refused = [(template.scientific, "EEEE"), (template.roman.is_some(), "RN")];
        if let Some((_, word)) = refused.iter().find(|(has, _)| *has) {
            let message = format!("\"{word}\" not supported for input");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        read_number(texts.str(i)?, &template)?.encode(out);
        Ok(())
    })
}
