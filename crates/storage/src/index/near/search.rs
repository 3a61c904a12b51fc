//! Searches of the graph of a near index.
//!
//! ```text
//! entry -> nearest on each level above the lowest -> the `breadth` nearest found on the lowest
//!   nodes that were seen and are not among them wait -> the next `breadth` nearest -> ...
//! ```
//! Source: Malkov 2016, algorithms 2 and 5. Departure: a search goes on where it ended, from the
//! nodes that wait, until every node that can be reached was given; pgvector calls it iterative.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::graph::Graph;
use crate::tid::Tid;

/// A node and how far it is from what is searched for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub(super) distance: f32,
    pub(super) node: u32,
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Near {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Near {}

/// The aim of a search on one level.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'v> {
    pub(super) vector: &'v [f32],
    /// Nodes that are wanted.
    pub(super) breadth: usize,
    pub(super) level: usize,
}

/// One bit for each node: those that a search has seen.
#[derive(Default)]
pub(super) struct Visited(Vec<u64>);

impl Visited {
    pub(super) fn new(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)])
    }

    /// True when `node` was not there.
    fn insert(&mut self, node: u32) -> bool {
        let (word, bit) = (node as usize / 64, 1 << (node % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let was_there = self.0[word] & bit != 0;
        self.0[word] |= bit;
        !was_there
    }
}

/// Nodes that wait, the nearest first.
type Waiting = BinaryHeap<Reverse<Near>>;

impl Graph {
    /// The nearest node that steps from `at` on a level lead to, each nearer than the one before.
    pub(super) fn nearest(&self, vector: &[f32], mut at: Near, level: usize) -> Near {
        loop {
            let near =
                |&node: &u32| Near { distance: self.distance(vector, self.vector(node)), node };
            let next = self.linked(at.node, level).iter().map(near).min();
            match next.filter(|next| next.distance < at.distance) {
                Some(next) => at = next,
                None => return at,
            }
        }
    }

    /// The nearest nodes that a search on a level finds from `starts`, nearest first. Others that
    /// it saw are put to those that wait.
    pub(super) fn search(
        &self,
        wanted: Wanted<'_>,
        starts: &[Near],
        visited: &mut Visited,
        mut waiting: Option<&mut Waiting>,
    ) -> Vec<Near> {
        let Wanted { vector, breadth, level } = wanted;
        let mut wait = |near: Near| {
            if let Some(waiting) = &mut waiting {
                waiting.push(Reverse(near));
            }
        };
        let (mut open, mut best) = (Waiting::new(), BinaryHeap::with_capacity(breadth + 1));
        for &start in starts {
            visited.insert(start.node);
            open.push(Reverse(start));
            best.push(start);
            if best.len() > breadth {
                best.pop().into_iter().for_each(&mut wait);
            }
        }
        while let Some(Reverse(at)) = open.pop() {
            let worst = best.peek().map_or(f32::INFINITY, |near: &Near| near.distance);
            if best.len() >= breadth && at.distance > worst {
                break;
            }
            for &node in self.linked(at.node, level) {
                if !visited.insert(node) {
                    continue;
                }
                let near = Near { distance: self.distance(vector, self.vector(node)), node };
                if best.len() >= breadth && best.peek().is_some_and(|worst| near >= *worst) {
                    wait(near);
                    continue;
                }
                open.push(Reverse(near));
                best.push(near);
                if best.len() > breadth {
                    best.pop().into_iter().for_each(&mut wait);
                }
            }
        }
        best.into_sorted_vec()
    }
}

/// A search that goes on: see [`crate::TableIndex::near`].
pub struct NearCursor {
    vector: Vec<f32>,
    breadth: usize,
    visited: Visited,
    waiting: Waiting,
    has_begun: bool,
    /// The keys of the entries read last, one behind the other, and their rows.
    keys: Vec<u8>,
    tids: Vec<(usize, Tid)>,
}

impl NearCursor {
    pub(super) fn new(vector: Vec<f32>, breadth: usize) -> Self {
        Self {
            vector,
            breadth: breadth.max(1),
            visited: Visited::default(),
            waiting: Waiting::new(),
            has_begun: false,
            keys: Vec::new(),
            tids: Vec::new(),
        }
    }

    /// The entries read last, nearest first: keys and TIDs.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], Tid)> {
        let bytes = self.vector.len() * super::FLOAT_BYTES;
        self.tids.iter().map(move |(at, tid)| (&self.keys[at * bytes..(at + 1) * bytes], *tid))
    }

    /// How many entries were read last.
    pub fn count(&self) -> usize {
        self.tids.len()
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.visited.0.len() * size_of::<u64>()
            + self.waiting.len() * size_of::<Near>()
            + self.keys.len()
            + self.tids.len() * size_of::<(usize, Tid)>()
    }

    /// Reads the next entries; false when there are none left.
    pub(super) fn fill(&mut self, graph: &Graph) -> bool {
        self.keys.clear();
        self.tids.clear();
        while self.tids.is_empty() {
            let starts = self.starts(graph);
            if starts.is_empty() {
                return false;
            }
            let wanted = Wanted { vector: &self.vector, breadth: self.breadth, level: 0 };
            let found = graph.search(wanted, &starts, &mut self.visited, Some(&mut self.waiting));
            for (at, near) in found.iter().enumerate() {
                let key = graph.vector(near.node).iter().flat_map(|float| float.to_le_bytes());
                self.keys.extend(key);
                self.tids.extend(graph.tids(near.node).iter().map(|tid| (at, *tid)));
            }
        }
        true
    }

    /// Where the search begins, or goes on.
    fn starts(&mut self, graph: &Graph) -> Vec<Near> {
        if !self.has_begun {
            self.has_begun = true;
            let Some((entry, top)) = graph.entry() else { return Vec::new() };
            let distance = graph.distance(&self.vector, graph.vector(entry));
            let mut at = Near { distance, node: entry };
            for level in (1..=top).rev() {
                at = graph.nearest(&self.vector, at, level);
            }
            return vec![at];
        }
        let mut starts = Vec::new();
        while starts.len() < self.breadth
            && let Some(Reverse(near)) = self.waiting.pop()
        {
            // Nodes may have gone meanwhile.
            if !graph.tids(near.node).is_empty() {
                starts.push(near);
            }
        }
        starts
    }
}
