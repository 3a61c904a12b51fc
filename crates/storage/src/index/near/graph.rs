//! The graph of a near index: a hierarchy of navigable small worlds.
//!
//! ```text
//! level 2      a ----------------- f        a node has a random highest level, rarely a high one
//! level 1      a ----- c --------- f        links go both ways, at most `links` on each level
//! level 0      a - b - c - d - e - f - g    twice as many, all nodes
//! ```
//! Invariants: links are of both nodes, and of nodes that are there; a node whose only link it
//! would be is never cut off; each node has TIDs, ascending; equal vectors are one node.
//! Source: Malkov 2016, "Efficient and robust approximate nearest neighbor search using HNSW",
//! algorithms 1, 4 and 5. Departures: links always go both ways, so that a node that is removed is
//! known by all that lead to it, and its neighbours are linked to each other in its place; nodes
//! that are pruned fill the room that is left.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use types::Result;
use types::packed::distance::{Metric, NearForm};

use super::rows::Rows;
use super::search::{Near, Visited, Wanted};
use crate::memory::{BufferPool, MemoryCategory, Reservation};
use crate::tid::Tid;

/// The highest level there is.
const LEVEL_MAX: usize = 15;
/// Nodes at most.
const NODES_MAX: usize = u32::MAX as usize - 1;
/// No node.
const NONE: u32 = u32::MAX;
/// Bytes of a node beside its rows of numbers: itself, one TID, its place in the map of hashes.
const NODE_BYTES: usize = size_of::<Node>() + 8 + 24;

/// A vector, and what leads on from it.
#[derive(Default)]
struct Node {
    /// Rows that have it, ascending; none in a node that is free.
    tids: Vec<Tid>,
    /// Links above the lowest level: for each level their count and room for as many as there are.
    upper: Vec<u32>,
    level: u8,
    /// The next node whose vector has the same hash.
    next: u32,
}

pub(super) struct Graph {
    metric: Metric,
    dimensions: usize,
    links: usize,
    vectors: Rows<f32>,
    /// Links on the lowest level, behind their count.
    lowest: Rows<u32>,
    nodes: Vec<Node>,
    free: Vec<u32>,
    hasher: foldhash::fast::FixedState,
    by_hash: HashMap<u64, u32, foldhash::fast::FixedState>,
    /// Nodes on the levels above the lowest.
    levels: Vec<BTreeSet<u32>>,
    /// Where searches begin: a node of the highest level.
    entry: Option<u32>,
    entries: u64,
    /// Nodes ever made, of which levels come.
    made: u64,
    /// Nodes ever removed, so that who searched knows that what was found is still there.
    removed: u64,
    memory: Reservation,
}

/// Where a vector belongs: the neighbours on each level that it may get links to, nearest first.
pub(super) struct Place {
    level: usize,
    around: Vec<Vec<Near>>,
    removed: u64,
}

impl Graph {
    pub(super) fn new(pool: &Arc<BufferPool>, form: NearForm, dimensions: usize) -> Self {
        let links = usize::from(form.links);
        Self {
            metric: form.metric,
            dimensions,
            links,
            vectors: Rows::new(dimensions),
            lowest: Rows::new(2 * links + 1),
            nodes: Vec::new(),
            free: Vec::new(),
            hasher: foldhash::fast::FixedState::default(),
            by_hash: HashMap::default(),
            levels: Vec::new(),
            entry: None,
            entries: 0,
            made: 0,
            removed: 0,
            memory: Reservation::empty(pool, MemoryCategory::Indexes),
        }
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Nodes, free ones included.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn entry(&self) -> Option<(u32, usize)> {
        self.entry.map(|entry| (entry, self.level(entry)))
    }

    #[inline]
    pub(super) fn vector(&self, node: u32) -> &[f32] {
        self.vectors.get(node as usize)
    }

    /// Rows that have the vector of a node; none when it is free.
    pub(super) fn tids(&self, node: u32) -> &[Tid] {
        &self.nodes[node as usize].tids
    }

    fn level(&self, node: u32) -> usize {
        usize::from(self.nodes[node as usize].level)
    }

    /// How far vectors are apart, in an order that is that of the metric.
    #[inline]
    pub(super) fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
        match self.metric {
            Metric::L2 => kernels::distance::squared_l2(a, b),
            Metric::L1 => kernels::distance::l1(a, b),
            // Where angles count all vectors have length 1.
            Metric::InnerProduct | Metric::Cosine => -kernels::distance::inner_product(a, b),
        }
    }

    fn between(&self, a: u32, b: u32) -> f32 {
        self.distance(self.vector(a), self.vector(b))
    }

    /// Links that a node has at most on a level.
    fn most(&self, level: usize) -> usize {
        if level == 0 { 2 * self.links } else { self.links }
    }

    /// The count of the links of a node on a level, and room for all.
    fn room(&self, node: u32, level: usize) -> &[u32] {
        if level == 0 {
            return self.lowest.get(node as usize);
        }
        let start = (level - 1) * (self.links + 1);
        &self.nodes[node as usize].upper[start..=start + self.links]
    }

    fn room_mut(&mut self, node: u32, level: usize) -> &mut [u32] {
        if level == 0 {
            return self.lowest.get_mut(node as usize);
        }
        let start = (level - 1) * (self.links + 1);
        &mut self.nodes[node as usize].upper[start..=start + self.links]
    }

    #[inline]
    pub(super) fn linked(&self, node: u32, level: usize) -> &[u32] {
        let room = self.room(node, level);
        &room[1..=room[0] as usize]
    }

    fn add_link(&mut self, from: u32, to: u32, level: usize) {
        let room = self.room_mut(from, level);
        room[0] += 1;
        room[room[0] as usize] = to;
    }

    fn remove_link(&mut self, from: u32, to: u32, level: usize) {
        let room = self.room_mut(from, level);
        let count = room[0] as usize;
        if let Some(at) = room[1..=count].iter().position(|&known| known == to) {
            room[1 + at] = room[count];
            room[0] -= 1;
        }
    }

    fn hash(&self, vector: &[f32]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        vector.iter().for_each(|float| hasher.write_u32(float.to_bits()));
        hasher.finish()
    }

    /// The node of a vector.
    pub(super) fn node_of(&self, vector: &[f32]) -> Option<u32> {
        let mut node = self.by_hash.get(&self.hash(vector)).copied().unwrap_or(NONE);
        while node != NONE && self.vector(node) != vector {
            node = self.nodes[node as usize].next;
        }
        (node != NONE).then_some(node)
    }

    /// Rows that have a vector.
    pub(super) fn tids_of(&self, vector: &[f32]) -> &[Tid] {
        self.node_of(vector).map_or(&[], |node| self.tids(node))
    }

    /// Adds a row that has the vector of `node`; false when it was there.
    ///
    /// # Errors
    /// 53200.
    pub(super) fn add_tid(&mut self, node: u32, tid: Tid) -> Result<bool> {
        let Err(at) = self.nodes[node as usize].tids.binary_search(&tid) else { return Ok(false) };
        self.memory.resize(self.memory.bytes() + size_of::<Tid>() as u64)?;
        self.nodes[node as usize].tids.insert(at, tid);
        self.entries += 1;
        Ok(true)
    }

    /// The level of the node that is made next.
    fn next_level(&self) -> usize {
        // A number between 0 and 1, as far from the one before as any.
        let random = self.hasher.hash_one(self.made) >> 11;
        let unit = (random as f64 + 1.0) / (1_u64 << 53) as f64;
        let level = -unit.ln() / (self.links as f64).ln();
        (level as usize).min(LEVEL_MAX)
    }

    /// Where a vector belongs that no node has.
    pub(super) fn place_of(&self, vector: &[f32], breadth: usize) -> Place {
        let level = self.next_level();
        let mut around = Vec::new();
        if let Some((entry, top)) = self.entry() {
            let mut at = Near { distance: self.distance(vector, self.vector(entry)), node: entry };
            for above in (level + 1..=top).rev() {
                at = self.nearest(vector, at, above);
            }
            let mut starts = vec![at];
            for level in (0..=level.min(top)).rev() {
                let mut visited = Visited::new(self.node_count());
                let found =
                    self.search(Wanted { vector, breadth, level }, &starts, &mut visited, None);
                starts.clone_from(&found);
                around.push(found);
            }
        }
        around.reverse();
        Place { level, around, removed: self.removed }
    }

    /// Adds a node of a vector that none has, at a place that was looked for before.
    ///
    /// # Errors
    /// 53200; nothing was changed.
    pub(super) fn add_node(
        &mut self,
        vector: &[f32],
        tid: Tid,
        place: Place,
        breadth: usize,
    ) -> Result<()> {
        assert_eq!(vector.len(), self.dimensions, "vectors of an index have equal dimensions");
        let is_current = place.removed == self.removed;
        let place = if is_current { place } else { self.place_of(vector, breadth) };
        let level = place.level;
        let node = self.take_node(level)?;
        self.vectors.get_mut(node as usize).copy_from_slice(vector);
        self.lowest.get_mut(node as usize)[0] = 0;
        let hash = self.hash(vector);
        let next = self.by_hash.insert(hash, node).unwrap_or(NONE);
        let upper = vec![0; level * (self.links + 1)];
        // No level is above 15.
        self.nodes[node as usize] = Node { tids: vec![tid], upper, level: level as u8, next };
        self.entries += 1;
        self.made += 1;
        if self.levels.len() < level {
            self.levels.resize_with(level, BTreeSet::new);
        }
        for known in &mut self.levels[..level] {
            known.insert(node);
        }
        for (level, around) in place.around.iter().enumerate() {
            for other in self.chosen(around, self.most(level)) {
                self.link(node, other, level);
            }
            // Those may have kept the links that they had.
            let mut others = around.iter();
            while self.linked(node, level).is_empty()
                && let Some(other) = others.next()
            {
                self.link(node, other.node, level);
            }
        }
        if self.entry().is_none_or(|(_, top)| top < level) {
            self.entry = Some(node);
        }
        Ok(())
    }

    /// A node without anything, with memory for what it gets.
    fn take_node(&mut self, level: usize) -> Result<u32> {
        let upper = level * (self.links + 1) * size_of::<u32>();
        if let Some(&node) = self.free.last() {
            self.memory.resize(self.memory.bytes() + upper as u64)?;
            self.free.pop();
            return Ok(node);
        }
        let at = self.nodes.len();
        assert!(at < NODES_MAX, "a graph has less than 2^32 nodes");
        let rows = self.vectors.missing_bytes(at) + self.lowest.missing_bytes(at);
        let bytes = (NODE_BYTES + upper + rows) as u64;
        self.memory.resize(self.memory.bytes() + bytes)?;
        self.vectors.ensure(at);
        self.lowest.ensure(at);
        self.nodes.push(Node { next: NONE, ..Node::default() });
        Ok(at as u32)
    }

    /// The candidates, nearest first, that are linked to: such that lead in different
    /// directions, then the nearest others.
    fn chosen(&self, candidates: &[Near], most: usize) -> Vec<u32> {
        let (mut kept, mut others): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for candidate in candidates {
            if kept.len() == most {
                return kept;
            }
            let is_apart = |&known: &u32| self.between(candidate.node, known) > candidate.distance;
            let list = if kept.iter().all(is_apart) { &mut kept } else { &mut others };
            list.push(candidate.node);
        }
        let left = most - kept.len();
        kept.extend(others.into_iter().take(left));
        kept
    }

    /// Links two nodes on a level; nodes that have too many links then lose another one.
    fn link(&mut self, a: u32, b: u32, level: usize) {
        if a == b || self.linked(a, level).contains(&b) {
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            if self.linked(from, level).len() == self.most(level) {
                self.cut_one(from, to, level);
            }
        }
        // One of them may have had no other link that it can lose.
        if [a, b].iter().all(|&node| self.linked(node, level).len() < self.most(level)) {
            self.add_link(a, b, level);
            self.add_link(b, a, level);
        }
    }

    /// Takes a link from a node that has too many when it is linked to `new`, too.
    fn cut_one(&mut self, node: u32, new: u32, level: usize) {
        let near = |other: &u32| Near { distance: self.between(node, *other), node: *other };
        let mut all: Vec<Near> = self.linked(node, level).iter().chain([&new]).map(near).collect();
        all.sort_unstable();
        let kept = self.chosen(&all, self.most(level));
        let is_only = |other: u32| self.linked(other, level).len() < 2;
        let left_out = all.iter().rev().map(|near| near.node).filter(|other| *other != new);
        let mut left_out: Vec<u32> = left_out.filter(|&other| !is_only(other)).collect();
        left_out.sort_by_key(|other| kept.contains(other));
        // A new node that nothing else leads to goes before one that has other links.
        let new_goes = !kept.contains(&new) && !self.linked(new, level).is_empty();
        if let Some(&other) = left_out.first().filter(|_| !new_goes) {
            self.remove_link(node, other, level);
            self.remove_link(other, node, level);
        }
    }

    /// Removes an entry; false when it was not there.
    pub(super) fn remove(&mut self, vector: &[f32], tid: Tid) -> bool {
        let Some(node) = self.node_of(vector) else { return false };
        let tids = &mut self.nodes[node as usize].tids;
        let Ok(at) = tids.binary_search(&tid) else { return false };
        tids.remove(at);
        self.entries -= 1;
        if tids.is_empty() {
            self.remove_node(node);
        } else {
            self.give_back(size_of::<Tid>());
        }
        true
    }

    fn give_back(&mut self, bytes: usize) {
        let left = self.memory.bytes().saturating_sub(bytes as u64);
        self.memory.resize(left).expect("less memory is always there");
    }

    fn remove_node(&mut self, node: u32) {
        self.removed += 1;
        self.forget_hash(node);
        let top = self.level(node);
        for level in 0..=top {
            let around = self.linked(node, level).to_vec();
            around.iter().for_each(|&other| self.remove_link(other, node, level));
            self.room_mut(node, level)[0] = 0;
            self.mend(&around, level);
        }
        for known in &mut self.levels[..top] {
            known.remove(&node);
        }
        let upper = std::mem::take(&mut self.nodes[node as usize].upper);
        self.give_back(upper.len() * size_of::<u32>());
        self.nodes[node as usize] = Node { next: NONE, ..Node::default() };
        self.free.push(node);
        if self.entry == Some(node) {
            self.entry = self.highest();
        }
    }

    /// Takes a node out of the nodes of its hash.
    fn forget_hash(&mut self, node: u32) {
        let hash = self.hash(self.vector(node));
        let next = self.nodes[node as usize].next;
        let mut before = self.by_hash.get(&hash).copied().unwrap_or(NONE);
        if before == node {
            match next {
                NONE => self.by_hash.remove(&hash),
                next => self.by_hash.insert(hash, next),
            };
            return;
        }
        while before != NONE && self.nodes[before as usize].next != node {
            before = self.nodes[before as usize].next;
        }
        if before != NONE {
            self.nodes[before as usize].next = next;
        }
    }

    /// Links nodes to each other that had a link to one that is gone.
    fn mend(&mut self, around: &[u32], level: usize) {
        for &node in around {
            let others = around.iter().copied().filter(|&other| other != node);
            let near = |other| Near { distance: self.between(node, other), node: other };
            let mut others: Vec<Near> = others.map(near).collect();
            others.sort_unstable();
            let new = others.iter().find(|near| !self.linked(node, level).contains(&near.node));
            let Some(new) = new.map(|near| near.node) else { continue };
            let has_room = |at: u32| self.linked(at, level).len() < self.most(level);
            if has_room(node) && has_room(new) || self.linked(node, level).is_empty() {
                self.link(node, new, level);
            }
        }
    }

    /// A node of the highest level that there is.
    fn highest(&self) -> Option<u32> {
        let above = self.levels.iter().rev().find_map(|nodes| nodes.first().copied());
        let any = || self.nodes.iter().position(|node| !node.tids.is_empty()).map(|at| at as u32);
        above.or_else(any)
    }

    /// Tests links, levels, hashes and counts.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        let mut entries = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            let at = at as u32;
            entries += node.tids.len() as u64;
            if node.tids.is_empty() {
                continue;
            }
            if !node.tids.is_sorted_by(|a, b| a < b) {
                return Err(format!("the TIDs of node {at} do not ascend"));
            }
            if self.node_of(self.vector(at)) != Some(at) {
                return Err(format!("node {at} is not found by its vector"));
            }
            for level in 0..=self.level(at) {
                self.check_links(at, level)?;
            }
        }
        if entries != self.entries {
            return Err(format!("{entries} entries, counted as {}", self.entries));
        }
        match self.entry {
            None if entries > 0 => Err("no search can begin".to_owned()),
            Some(entry) if self.tids(entry).is_empty() => Err("searches begin nowhere".to_owned()),
            Some(entry) if self.highest().is_some_and(|h| self.level(h) > self.level(entry)) => {
                Err(format!("searches begin at level {}", self.level(entry)))
            }
            _ => Ok(()),
        }
    }

    fn check_links(&self, node: u32, level: usize) -> std::result::Result<(), String> {
        if level > 0 && !self.levels[level - 1].contains(&node) {
            return Err(format!("node {node} is not known on level {level}"));
        }
        let linked = self.linked(node, level);
        for (i, &other) in linked.iter().enumerate() {
            let is_there = other != node
                && !self.tids(other).is_empty()
                && self.level(other) >= level
                && !linked[..i].contains(&other);
            if !is_there || !self.linked(other, level).contains(&node) {
                return Err(format!("link {i} of node {node} on level {level} leads astray"));
            }
        }
        Ok(())
    }
}
