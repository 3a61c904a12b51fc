//! Names that the expressions of a query may use.

use super::tree::{Kind, Node};

/// The names that can be used at one place of a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Columns, or group keys and aggregates, of this query.
    pub(super) leaves: Vec<Node>,
    /// The same of the queries around it.
    pub(super) outer: Vec<Node>,
    /// Columns that together are unique among the rows; none when unknown.
    pub(super) unique: Option<Vec<String>>,
}

impl Scope {
    /// The leaves of `kind`.
    pub(super) fn of_kind(&self, kind: &Kind) -> Vec<&Node> {
        self.leaves.iter().filter(|leaf| leaf.kind == *kind).collect()
    }

    /// The leaves of `kind` of queries around this one.
    pub(super) fn outer_of_kind(&self, kind: &Kind) -> Vec<&Node> {
        self.outer.iter().filter(|leaf| leaf.kind == *kind).collect()
    }

    /// The scope of a query inside an expression of this one, before it has a FROM clause.
    pub(super) fn inside(&self) -> Self {
        // An aggregate there might count as one of the query inside.
        let plain = self.leaves.iter().filter(|leaf| !leaf.to_string().contains('('));
        let outer = self.outer.iter().chain(plain).cloned().collect();
        Self { leaves: Vec::new(), outer, unique: Some(Vec::new()) }
    }

    /// Adds the columns of a FROM item.
    pub(super) fn join(&mut self, other: Scope) {
        self.leaves.extend(other.leaves);
        self.unique = match (self.unique.take(), other.unique) {
            (Some(mut unique), Some(more)) => {
                unique.extend(more);
                Some(unique)
            }
            _ => None,
        };
    }
}
