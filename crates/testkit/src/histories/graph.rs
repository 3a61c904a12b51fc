//! Directed graphs: strongly connected components and short ways.
//!
//! Source: Tarjan 1972, section 4; departure: a stack of our own instead of recursion.

use std::collections::VecDeque;

/// Edges of each node, by their ends.
pub(super) type Graph = Vec<Vec<usize>>;

/// A node without a component yet.
const NONE: usize = usize::MAX;

/// The state of the search.
struct Search<'a> {
    graph: &'a Graph,
    /// Order of the first visit.
    visited: Vec<usize>,
    /// The first visited node that can be reached.
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    components: Vec<Vec<usize>>,
}

/// Components with a cycle: those of several nodes, and nodes with an edge to themselves.
pub(super) fn cyclic_components(graph: &Graph) -> Vec<Vec<usize>> {
    let nodes = graph.len();
    let mut search = Search {
        graph,
        visited: vec![NONE; nodes],
        low: vec![NONE; nodes],
        on_stack: vec![false; nodes],
        stack: Vec::new(),
        count: 0,
        components: Vec::new(),
    };
    for node in 0..nodes {
        if search.visited[node] == NONE {
            search.from(node);
        }
    }
    let mut components = search.components;
    components.retain(|nodes| nodes.len() > 1 || graph[nodes[0]].contains(&nodes[0]));
    components
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        self.visited[node] = self.count;
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn from(&mut self, root: usize) {
        self.enter(root);
        let mut path = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = path.last_mut() {
            if let Some(&next) = self.graph[node].get(*edge) {
                *edge += 1;
                if self.visited[next] == NONE {
                    self.enter(next);
                    path.push((next, 0));
                } else if self.on_stack[next] {
                    self.low[node] = self.low[node].min(self.visited[next]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent] = self.low[parent].min(self.low[node]);
            }
            if self.low[node] == self.visited[node] {
                self.leave(node);
            }
        }
    }

    /// Takes the component of `node` off the stack.
    fn leave(&mut self, node: usize) {
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack[member] = false;
            component.push(member);
            if member == node {
                break;
            }
        }
        self.components.push(component);
    }
}

/// A shortest way from `start` over at least one edge to `goal`, both included.
pub(super) fn way(graph: &Graph, start: usize, goal: usize) -> Option<Vec<usize>> {
    let mut before = vec![NONE; graph.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in &graph[node] {
            if next == goal {
                let mut way = vec![goal, node];
                let mut at = node;
                while at != start {
                    at = before[at];
                    way.push(at);
                }
                way.reverse();
                return Some(way);
            }
            if next != start && before[next] == NONE {
                before[next] = node;
                queue.push_back(next);
            }
        }
    }
    None
}

/// A short cycle through some node of `component`, its first node repeated at the end.
pub(super) fn cycle(graph: &Graph, component: &[usize]) -> Vec<usize> {
    let ways = component.iter().take(16).filter_map(|&node| way(graph, node, node));
    ways.min_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// True when `goal` can be reached from `start` over at least one edge, by brute force.
    fn reachable(graph: &Graph, start: usize, goal: usize) -> bool {
        let mut seen = vec![false; graph.len()];
        let mut todo = graph[start].clone();
        while let Some(node) = todo.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                todo.extend(&graph[node]);
            }
        }
        seen[goal]
    }

    proptest! {
        #[test]
        fn components_are_what_reaches_itself(
            edges in prop::collection::vec((0usize..12, 0usize..12), 0..30),
        ) {
            let mut graph = vec![Vec::new(); 12];
            for (from, to) in edges {
                graph[from].push(to);
            }
            let mut cyclic: Vec<usize> = cyclic_components(&graph).concat();
            cyclic.sort();
            let expected: Vec<usize> = (0..12).filter(|&n| reachable(&graph, n, n)).collect();
            prop_assert_eq!(cyclic, expected);
            for component in cyclic_components(&graph) {
                for &a in &component {
                    prop_assert!(component.iter().all(|&b| reachable(&graph, a, b)));
                }
                let cycle = cycle(&graph, &component);
                prop_assert!(cycle.windows(2).all(|edge| graph[edge[0]].contains(&edge[1])));
                prop_assert_eq!(cycle.first(), cycle.last());
            }
        }
    }
}
