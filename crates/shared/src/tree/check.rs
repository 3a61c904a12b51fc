//! Conditions that hold of a tree that nobody changes.

use std::collections::BTreeSet;

use super::Tree;
use super::access::ROOT;
use super::node::{Node, NodeId};
use crate::error::{Result, SharedError};
use crate::records::Records;

/// Findings about a whole tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// All entries, in order.
    pub entries: Vec<(Vec<u8>, u64)>,
    /// Levels, leaves included.
    pub levels: usize,
    /// Nodes that the root leads to.
    pub nodes: BTreeSet<u64>,
}

impl<R: Records> Tree<R> {
    /// Finishes all half-done changes, then looks at every node.
    ///
    /// # Errors
    /// [`SharedError::Corrupt`] for a tree that is not one; errors of the records.
    pub async fn check(&self) -> Result<Shape> {
        while self.settle().await? {}
        let mut shape = Shape::default();
        let root = self.node(ROOT).await?;
        shape.levels = usize::from(root.level) + 1;
        let mut waiting = vec![(ROOT, root)];
        while let Some((id, node)) = waiting.pop() {
            if !shape.nodes.insert(id) {
                return Err(wrong(id, "is there twice"));
            }
            self.look(id, &node)?;
            if node.level == 0 {
                shape.entries.extend(node.keys.into_iter().zip(node.values));
                continue;
            }
            let mut children = Vec::new();
            for (i, child) in node.values.iter().enumerate() {
                let below = self.node(*child).await?;
                let fits = below.level + 1 == node.level
                    && below.low.as_deref() == node.lower(i)
                    && below.high.as_deref() == node.upper(i);
                if !fits {
                    return Err(wrong(*child, "does not fit between its neighbours"));
                }
                if let Some(next) = node.values.get(i + 1).filter(|next| **next != below.right) {
                    return Err(wrong(*child, &format!("does not lead to {next}")));
                }
                children.push((*child, below));
            }
            waiting.extend(children.into_iter().rev());
        }
        Ok(shape)
    }

    fn look(&self, id: NodeId, node: &Node) -> Result<()> {
        if node.is_dead || node.split != 0 || node.absorb != 0 {
            return Err(wrong(id, "is in the middle of a change"));
        }
        if !node.keys.is_sorted_by(|a, b| a < b) {
            return Err(wrong(id, "is not in order"));
        }
        let is_within = |key: &Vec<u8>| !node.is_before(Some(key)) && !node.is_behind(Some(key));
        if !node.keys.iter().all(is_within) {
            return Err(wrong(id, "has keys outside of its bounds"));
        }
        Ok(())
    }

    async fn node(&self, id: NodeId) -> Result<Node> {
        let found = self.0.read(id).await?;
        found.map(|found| found.1).ok_or_else(|| wrong(id, "is missing"))
    }

    /// Finishes the first half-done change that it meets; tells whether there was one.
    async fn settle(&self) -> Result<bool> {
        let mut waiting = vec![ROOT];
        while let Some(id) = waiting.pop() {
            let node = self.node(id).await?;
            if node.split != 0 {
                self.0.finish_split(id).await?;
                return Ok(true);
            }
            if node.absorb != 0 {
                self.0.finish_merge(id, node.absorb).await?;
                return Ok(true);
            }
            if node.level > 0 {
                waiting.extend(&node.values);
            }
        }
        Ok(false)
    }
}

fn wrong(id: NodeId, what: &str) -> SharedError {
    SharedError::Corrupt(format!("node {id} {what}"))
}
