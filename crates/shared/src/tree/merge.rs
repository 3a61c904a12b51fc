//! Merges: a node goes into its left neighbour under the same parent when one of them is too small,
//! in steps that anybody finishes.

use super::access::{ATTEMPTS, Access, ROOT, Visit};
use super::node::{Node, NodeId};
use crate::error::{Result, SharedError};
use crate::records::{Records, Swap};

/// How far the neighbour of a dead node is.
enum Absorbed {
    /// The neighbour has the entries.
    Yes,
    /// Something changed, or was in the way: look again.
    Again,
}

impl<R: Records> Access<R> {
    /// Announces and finishes the merge of a node that became small; does nothing when its parent
    /// is busy with another one.
    pub(super) async fn merge(&self, small: &Visit) -> Result<()> {
        if small.id == ROOT {
            return Ok(());
        }
        let probe = small.node.high.as_deref();
        let mut parent = self.find_fresh(probe, small.node.level + 1).await?;
        if parent.node.absorb != 0 {
            return self.finish_merge(parent.id, parent.node.absorb).await;
        }
        let absorbed = match parent.node.position(small.id) {
            Some(0) if parent.node.values.len() > 1 => parent.node.values[1],
            Some(0) if parent.id != ROOT => return Ok(()),
            Some(_) => small.id,
            None => return Ok(()),
        };
        self.count(|counts| counts.merges += 1);
        parent.node.absorb = absorbed;
        if self.put(&parent).await? == Swap::Lost {
            return Ok(());
        }
        self.finish_merge(parent.id, absorbed).await
    }

    /// Brings the entries of `dead` into its neighbour under `parent`, which announced that.
    pub(super) async fn finish_merge(&self, parent: NodeId, dead: NodeId) -> Result<()> {
        self.count(|counts| counts.helps += 1);
        for _ in 0..ATTEMPTS {
            let Some((version, node)) = self.read(parent).await? else { return Ok(()) };
            if node.absorb != dead || dead == 0 {
                return Ok(());
            }
            let mut above = Visit { id: parent, version, node };
            let Some(i) = above.node.position(dead) else {
                return Err(SharedError::Corrupt(format!("node {dead} is not below {parent}")));
            };
            let Some((seen, mut node)) = self.read(dead).await? else { continue };
            if node.split != 0 {
                Box::pin(self.finish_split(dead)).await?;
                continue;
            }
            if !node.is_dead {
                if node.absorb != 0 {
                    Box::pin(self.finish_merge(dead, node.absorb)).await?;
                    continue;
                }
                if i == 0 && !self.is_only_child(&above).await? {
                    continue;
                }
                node.is_dead = true;
                // Whether it was lost is seen in the next round.
                self.write(dead, Some(seen), &node).await?;
                continue;
            }
            if above.node.values.len() == 1 {
                // The only child of the root: the root becomes what it was.
                above.node = Node { is_dead: false, low: None, high: None, right: 0, ..node };
            } else {
                if let Absorbed::Again = self.absorb(&above.node, i, &node).await? {
                    continue;
                }
                above.node.drop_child(i);
            }
            if self.put(&above).await? == Swap::Done {
                self.erase(dead, seen).await?;
                return self.merge_if_small(above).await;
            }
        }
        Err(SharedError::Contended)
    }

    /// True when the root, as it was read, still has one child alone, now that the child was read;
    /// when it has more, the announcement is taken back.
    async fn is_only_child(&self, root: &Visit) -> Result<bool> {
        if root.node.values.len() > 1 {
            let node = Node { absorb: 0, ..root.node.clone() };
            self.write(root.id, Some(root.version), &node).await?;
            return Ok(false);
        }
        let now = self.read(root.id).await?;
        Ok(now.is_some_and(|now| now.0 == root.version))
    }

    /// Makes child `i - 1` of `parent` have the entries of child `i`.
    async fn absorb(&self, parent: &Node, i: usize, dead: &Node) -> Result<Absorbed> {
        let id = parent.values[i - 1];
        let Some((version, mut left)) = self.read(id).await? else { return Ok(Absorbed::Again) };
        if left.is_dead {
            return Ok(Absorbed::Again);
        }
        if left.split != 0 {
            // Its upper half is the dead node, ends where that begins, or has its entries already.
            let Some((_, upper)) = self.read(left.split).await? else {
                return Ok(Absorbed::Again);
            };
            if left.split == parent.values[i] || upper.high == dead.low {
                Box::pin(self.finish_split(id)).await?;
                return Ok(Absorbed::Again);
            }
            return Ok(Absorbed::Yes);
        }
        if left.right != parent.values[i] {
            return Ok(Absorbed::Yes);
        }
        left.append(dead);
        self.write(id, Some(version), &left).await?;
        Ok(Absorbed::Again)
    }

    /// Goes on above: an inner node that lost a child may be small, too.
    async fn merge_if_small(&self, above: Visit) -> Result<()> {
        if above.id == ROOT {
            let is_chain = above.node.level > 0 && above.node.values.len() == 1;
            return if is_chain { Box::pin(self.collapse()).await } else { Ok(()) };
        }
        if self.is_small(&above.node) { Box::pin(self.merge(&above)).await } else { Ok(()) }
    }

    /// Announces that the root's only child goes.
    async fn collapse(&self) -> Result<()> {
        let Some((version, mut node)) = self.read(ROOT).await? else { return Ok(()) };
        if node.level == 0 || node.values.len() != 1 || node.absorb != 0 {
            return Ok(());
        }
        let child = node.values[0];
        node.absorb = child;
        if self.write(ROOT, Some(version), &node).await? == Swap::Lost {
            return Ok(());
        }
        self.finish_merge(ROOT, child).await
    }
}
