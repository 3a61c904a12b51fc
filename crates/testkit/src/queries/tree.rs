//! SQL text as a tree that knows which of its parts can go.

use std::fmt;

/// Kind of a part of a query: parts of one kind can stand for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A condition.
    Bool,
    /// A whole number of any width.
    Int,
    /// An exact number with a fraction.
    Decimal,
    /// A floating-point number.
    Float,
    /// A string.
    Text,
    /// A date.
    Date,
    /// A point in time without a zone.
    Timestamp,
    /// A query, by the kinds of its columns.
    Query(Vec<Kind>),
    /// Something else: a FROM item, a select item, a sort key.
    Other,
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Kind of the part.
    pub kind: Kind,
    pub(super) parts: Vec<Part>,
}

/// A piece of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Stays as it is.
    Text(String),
    /// Must be there.
    One(Node),
    /// May go together with the text before and after it.
    Maybe(String, Node, String),
    /// At least one of them must stay; the separator stands between.
    List(&'static str, Vec<Node>),
}

impl Node {
    /// Text without parts.
    pub(super) fn text(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, parts: vec![Part::Text(text.into())] }
    }

    /// A node without text; see [`Self::then`] and its kin.
    pub(super) fn empty(kind: Kind) -> Self {
        Self { kind, parts: Vec::new() }
    }

    /// `template` with each `$` replaced by the next of `nodes`.
    ///
    /// # Panics
    /// If there are not as many `$` as nodes.
    pub(super) fn fill(kind: Kind, template: &str, nodes: Vec<Node>) -> Self {
        assert_eq!(template.matches('$').count(), nodes.len(), "{template}");
        let mut node = Self::empty(kind);
        let mut nodes = nodes.into_iter();
        for (number, text) in template.split('$').enumerate() {
            if number > 0 {
                node.parts.extend(nodes.next().map(Part::One));
            }
            node = node.then(text);
        }
        node
    }

    /// Appends text.
    pub(super) fn then(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push(Part::Text(text));
        }
        self
    }

    /// Appends a part that must stay.
    pub(super) fn with(mut self, node: Node) -> Self {
        self.parts.push(Part::One(node));
        self
    }

    /// Appends a part that may go, with the text before it.
    pub(super) fn maybe(self, before: &str, node: Option<Node>) -> Self {
        self.maybe_between(before, node, "")
    }

    /// Appends a part that may go, with the text around it.
    pub(super) fn maybe_between(mut self, before: &str, node: Option<Node>, after: &str) -> Self {
        self.parts.extend(node.map(|node| Part::Maybe(before.into(), node, after.into())));
        self
    }

    /// Appends a list.
    pub(super) fn list(mut self, separator: &'static str, nodes: Vec<Node>) -> Self {
        self.parts.push(Part::List(separator, nodes));
        self
    }

    /// True when `node` is a part of this one.
    pub(super) fn contains(&self, node: &Node) -> bool {
        self == node || self.children().any(|child| child.contains(node))
    }

    /// The nodes directly below.
    pub(super) fn children(&self) -> impl Iterator<Item = &Node> {
        self.parts.iter().flat_map(|part| match part {
            Part::Text(_) => &[][..],
            Part::One(node) | Part::Maybe(_, node, _) => std::slice::from_ref(node),
            Part::List(_, nodes) => nodes,
        })
    }

    /// The nodes directly below, to be changed.
    pub(super) fn children_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.parts.iter_mut().flat_map(|part| match part {
            Part::Text(_) => &mut [][..],
            Part::One(node) | Part::Maybe(_, node, _) => std::slice::from_mut(node),
            Part::List(_, nodes) => nodes,
        })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::One(node) => write!(f, "{node}")?,
                Part::Maybe(before, node, after) => write!(f, "{before}{node}{after}")?,
                Part::List(separator, nodes) => {
                    for (number, node) in nodes.iter().enumerate() {
                        f.write_str(if number > 0 { separator } else { "" })?;
                        write!(f, "{node}")?;
                    }
                }
            }
        }
        Ok(())
    }
}
