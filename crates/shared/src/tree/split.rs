//! Splits: a node too large becomes two, in steps that anybody finishes.

use super::access::{ATTEMPTS, Access, ROOT, Visit};
use super::node::{Node, NodeId, is_inside};
use crate::error::{Result, SharedError};
use crate::records::{Records, Swap};

impl<R: Records> Access<R> {
    /// Begins and finishes a split; does nothing when somebody changed the node meanwhile.
    pub(super) async fn split(&self, mut visit: Visit) -> Result<()> {
        if visit.node.absorb != 0 {
            return Box::pin(self.finish_merge(visit.id, visit.node.absorb)).await;
        }
        self.count(|counts| counts.splits += 1);
        if visit.id == ROOT {
            return self.split_root(visit).await;
        }
        let upper = self.number().await?;
        let node = visit.node.cut(upper);
        self.write(upper, None, &node).await?;
        if self.put(&visit).await? == Swap::Lost {
            return self.erase(upper, FIRST).await;
        }
        self.finish_split(visit.id).await
    }

    /// The root stays where it is, above two new nodes.
    async fn split_root(&self, mut visit: Visit) -> Result<()> {
        let (left, right) = (self.number().await?, self.number().await?);
        let upper = visit.node.cut(right);
        let bound = visit.node.high.clone();
        let lower = Node { split: 0, ..visit.node };
        self.write(left, None, &lower).await?;
        self.write(right, None, &upper).await?;
        visit.node = Node {
            level: lower.level + 1,
            keys: bound.into_iter().collect(),
            values: vec![left, right],
            ..Node::default()
        };
        if self.put(&visit).await? == Swap::Lost {
            self.erase(left, FIRST).await?;
            self.erase(right, FIRST).await?;
        }
        Ok(())
    }

    /// Makes the parent of `id` know its upper half.
    pub(super) async fn finish_split(&self, id: NodeId) -> Result<()> {
        self.count(|counts| counts.helps += 1);
        for _ in 0..ATTEMPTS {
            let Some((_, node)) = self.read(id).await? else { return Ok(()) };
            if node.split == 0 || node.is_dead {
                return Ok(());
            }
            let bound = node.high.as_deref();
            let mut parent = Box::pin(self.find_fresh(bound, node.level + 1)).await?;
            // What was read behind the parent tells whether the parent lacks the upper half.
            let Some((version, now)) = self.read(id).await? else { return Ok(()) };
            if now.split != node.split {
                return Ok(());
            }
            let Some(i) = parent.node.position(id) else { continue };
            let is_known = match parent.node.values.get(i + 1) {
                Some(next) => *next == node.split,
                // The parent was cut between the two since.
                None => parent.node.high.as_deref() == bound,
            };
            if is_known {
                let now = Node { split: 0, ..now };
                if self.write(id, Some(version), &now).await? == Swap::Done {
                    return self.split_if_full(parent).await;
                }
                continue;
            }
            let Some(bound) = bound else {
                return Err(SharedError::Corrupt("a split node without a bound".into()));
            };
            if !is_inside(parent.node.lower(i), bound, parent.node.upper(i)) {
                // The bounds between children are those of before a merge that is under way.
                Box::pin(self.finish_merge(parent.id, parent.node.absorb)).await?;
                continue;
            }
            parent.node.keys.insert(i, bound.to_vec());
            parent.node.values.insert(i + 1, node.split);
            // Whether it was lost is seen in the next round.
            self.put(&parent).await?;
        }
        Err(SharedError::Contended)
    }

    async fn split_if_full(&self, parent: Visit) -> Result<()> {
        if self.is_full(&parent.node) { Box::pin(self.split(parent)).await } else { Ok(()) }
    }
}

/// Version of a node that was written once.
const FIRST: store::Version = store::Version(1);
