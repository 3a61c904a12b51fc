//! Conditions on the elements of values: made by `elements`, answered by inverted indexes.
//! Apart, because text search makes some, too.

/// Bytes of an element that count.
pub const ELEMENT_BYTES_MAX: usize = 256;

/// A condition on the elements of a value. It holds for every value for which the condition that
/// it was made of is true, and perhaps for others: whoever finds values by it tests them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementQuery {
    /// Elements say nothing: all values.
    All,
    /// No value.
    Nothing,
    /// Values that have this element.
    Key(Vec<u8>),
    /// Values that have an element from the first key on and below the second one, if there is one.
    Range(Vec<u8>, Option<Vec<u8>>),
    /// Values for which so many of these hold.
    AtLeast(usize, Vec<ElementQuery>),
}

impl ElementQuery {
    /// Values for which all of `parts` hold.
    #[must_use]
    pub fn all_of(mut parts: Vec<Self>) -> Self {
        parts.retain(|part| *part != Self::All);
        if parts.contains(&Self::Nothing) {
            return Self::Nothing;
        }
        match parts.len() {
            0 => Self::All,
            1 => parts.swap_remove(0),
            count => Self::AtLeast(count, parts),
        }
    }

    /// Values for which one of `parts` holds.
    #[must_use]
    pub fn any_of(mut parts: Vec<Self>) -> Self {
        parts.retain(|part| *part != Self::Nothing);
        if parts.contains(&Self::All) {
            return Self::All;
        }
        match parts.len() {
            0 => Self::Nothing,
            1 => parts.swap_remove(0),
            _ => Self::AtLeast(1, parts),
        }
    }

    /// Values that have one of the elements which begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let end = prefix.iter().rposition(|&byte| byte != 0xff).map(|last| {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            end
        });
        Self::Range(prefix.to_vec(), end)
    }
}
