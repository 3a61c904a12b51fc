//! Rows of one block, by row id.

/// Ascending row ids of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Positions {
    /// Consecutive rows.
    Range {
        /// The first row.
        start: u32,
        /// How many.
        len: u32,
    },
    /// These rows.
    List(Vec<u32>),
}

impl Default for Positions {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Positions {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Range { len, .. } => *len as usize,
            Self::List(rows) => rows.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row id number `i`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, i: usize) -> u32 {
        match self {
            Self::Range { start, len } => {
                assert!(i < *len as usize, "position past the end");
                start + i as u32
            }
            Self::List(rows) => rows[i],
        }
    }

    /// The row ids as a list.
    pub fn to_list(&self) -> Vec<u32> {
        match self {
            Self::Range { start, len } => (*start..start + len).collect(),
            Self::List(rows) => rows.clone(),
        }
    }

    /// The rows numbered by `kept`, which ascends: a selection of this selection.
    #[must_use]
    pub fn gather(&self, kept: &[u32]) -> Self {
        if kept.len() == self.len() {
            return self.clone();
        }
        Self::List(match self {
            Self::Range { start, .. } => kept.iter().map(|k| start + k).collect(),
            Self::List(rows) => kept.iter().map(|&k| rows[k as usize]).collect(),
        })
    }

    /// True when every row id is below `rows`.
    pub(crate) fn are_below(&self, rows: usize) -> bool {
        match self {
            Self::Range { start, len } => *start as usize + *len as usize <= rows,
            Self::List(list) => kernels::unpack::max_code(list).is_none_or(|m| (m as usize) < rows),
        }
    }
}

/// Runs `$body` with `$rows` an iterator over the row ids as usize.
macro_rules! with_rows {
    ($positions:expr, $rows:ident => $body:expr) => {
        match $positions {
            $crate::positions::Positions::Range { start, len } => {
                let $rows = (*start as usize)..(*start as usize + *len as usize);
                $body
            }
            $crate::positions::Positions::List(list) => {
                let $rows = list.iter().map(|&p| p as usize);
                $body
            }
        }
    };
}
pub(crate) use with_rows;
