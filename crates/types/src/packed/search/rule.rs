//! Rules of the scanner of documents: what they ask of a letter, and what they do at it.

use super::rules::State;
use super::tokens::Kind;

/// Condition of a rule: on the letter, or on what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Always,
    End,
    Char(char),
    AsciiLetter,
    Letter,
    Digit,
    LetterOrDigit,
    /// Neither letter nor digit.
    Other,
    /// A mark of no width, which belongs to the letter before it.
    Mark,
    Space,
    HexDigit,
    UrlLetter,
    /// Inside of a script or style.
    Ignored,
    /// True once for the scanner that was told to look for a host.
    HostWanted,
    /// A host follows, and is read.
    Host,
    /// The path of a URL follows, and is read.
    UrlPath,
}

impl Is {
    /// True for letters that the rule asks for.
    pub(super) fn fits(self, letter: char) -> bool {
        match self {
            Self::Char(wanted) => letter == wanted,
            Self::AsciiLetter => letter.is_ascii_alphabetic(),
            Self::Letter => letter.is_alphabetic(),
            Self::Digit => letter.is_ascii_digit(),
            Self::LetterOrDigit => letter.is_alphabetic() || letter.is_ascii_digit(),
            Self::Other => !(letter.is_alphabetic() || letter.is_ascii_digit()),
            Self::Mark => is_mark(letter),
            Self::Space => super::words::is_space(letter),
            Self::HexDigit => letter.is_ascii_hexdigit(),
            Self::UrlLetter => {
                letter.is_ascii_graphic()
                    && !matches!(letter, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
            }
            _ => false,
        }
    }
}

/// True for marks of no width.
fn is_mark(letter: char) -> bool {
    matches!(
        letter,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{591}'..='\u{5bd}'
            | '\u{64b}'..='\u{65f}'
            | '\u{901}'..='\u{903}'
            | '\u{93c}'
            | '\u{93e}'..='\u{94d}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

/// Next step of the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Takes the letter.
    Go,
    /// Keeps the position, and takes the letter.
    Try,
    /// Goes back to the last position that was kept, to the rules behind.
    Back,
    /// Forgets the last position that was kept, and takes the letter.
    Forget,
    /// Takes the letter in the state of the last position that was kept.
    Merge,
    /// Looks at the letter again, in another state.
    Rerun,
    /// Ends a token before the letter.
    Found(Kind),
}

/// Side effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    /// Looks whether the tag begins or ends a script or style.
    Tag,
    /// Reads the token again, for its parts.
    Again,
    /// Reads the token again, for its host and its path.
    AgainAsHost,
    /// Begins the token again.
    Restart,
}

/// Rule of a state: what it does at a letter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub is: Is,
    pub next: Next,
    /// The state after it; the same one if None.
    pub to: Option<State>,
    pub mark: Mark,
}

impl Rule {
    pub(super) const fn with(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }
}

const fn rule(is: Is, next: Next, to: Option<State>) -> Rule {
    Rule { is, next, to, mark: Mark::None }
}

/// Takes the letter, in the same state.
pub(super) const fn stay(is: Is) -> Rule {
    rule(is, Next::Go, None)
}

/// Goes back to the last position that was kept.
pub(super) const fn back(is: Is) -> Rule {
    rule(is, Next::Back, None)
}

/// Takes the letter.
pub(super) const fn go(is: Is, to: State) -> Rule {
    rule(is, Next::Go, Some(to))
}

/// Keeps the position, and takes the letter.
pub(super) const fn attempt(is: Is, to: State) -> Rule {
    rule(is, Next::Try, Some(to))
}

/// Forgets the last position that was kept, and takes the letter.
pub(super) const fn forget(is: Is, to: State) -> Rule {
    rule(is, Next::Forget, Some(to))
}

/// Looks at the letter again.
pub(super) const fn rerun(is: Is, to: State) -> Rule {
    rule(is, Next::Rerun, Some(to))
}

/// Ends a token before the letter.
pub(super) const fn found(is: Is, to: State, kind: Kind) -> Rule {
    rule(is, Next::Found(kind), Some(to))
}

/// Takes the letter in the state of the last position that was kept.
pub(super) const MERGE: Rule = rule(Is::Always, Next::Merge, None);
