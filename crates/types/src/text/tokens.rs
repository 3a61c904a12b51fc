//! Pieces of date, time and interval text.

/// A place in text that moves forward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte.
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    /// The byte `ahead` bytes after the next one.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Skips the next byte when it is `byte`.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The longest run of bytes that `accept`s, which takes ASCII only.
    pub(super) fn take(&mut self, accept: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii() && accept(b)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    pub(super) fn digits(&mut self) -> &'a str {
        self.take(|b| b.is_ascii_digit())
    }

    pub(super) fn letters(&mut self) -> &'a str {
        self.take(|b| b.is_ascii_alphabetic())
    }

    pub(super) fn spaces(&mut self) {
        self.take(crate::characters::is_space);
    }

    /// `.digits` as a fraction of 1, 0 when there is no point.
    pub(super) fn fraction(&mut self) -> f64 {
        if self.peek() != Some(b'.') {
            return 0.0;
        }
        let start = self.at;
        self.skip();
        self.digits();
        // A lone point is 0.
        self.text[start..self.at].parse().unwrap_or(0.0)
    }
}

/// Microseconds of a fraction of a second.
pub(super) fn fraction_micros(fraction: f64) -> i64 {
    (fraction * 1e6).round_ties_even() as i64
}
