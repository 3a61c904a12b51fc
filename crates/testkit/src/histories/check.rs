//! Cycles of dependencies, by what they consist of.
//!
//! ```text
//! ww                     G0
//! ww, wr                 G1c
//! ww, wr, one rw         G-single
//! no rw behind a rw      G-nonadjacent: cycles of (node, came by rw?), rw only from "no"
//! any                    G2
//! ```
//! Real-time edges count as ww or wr: they say the same about the order.

use super::graph::{self, Graph};
use super::infer::{Edge, Inferred, Why, infer};
use super::{Anomaly, Finding, History, Level, RealTime};

/// Findings that `level` forbids, among all [`findings`].
pub fn check(history: &History, level: Level, real_time: RealTime) -> Vec<Finding> {
    let mut found = findings(history, real_time);
    found.retain(|finding| finding.anomaly.forbidden_from() <= level);
    found
}

/// All anomalies, the worst first. A cycle is reported once, as the worst it is.
pub fn findings(history: &History, real_time: RealTime) -> Vec<Finding> {
    let Inferred { edges, mut findings } = infer(history, real_time);
    let search = Cycles { nodes: history.txns.len(), edges: &edges };
    search.plain(&[Why::Ww], Anomaly::G0, &mut findings);
    search.plain(&[Why::Ww, Why::Wr, Why::Rt], Anomaly::G1c, &mut findings);
    search.single(&mut findings);
    search.nonadjacent(&mut findings);
    search.plain(&[Why::Ww, Why::Wr, Why::Rt, Why::Rw], Anomaly::G2, &mut findings);
    findings.sort_by_key(|finding| finding.anomaly);
    findings
}

struct Cycles<'a> {
    nodes: usize,
    edges: &'a [Edge],
}

impl Cycles<'_> {
    fn graph(&self, kinds: &[Why]) -> Graph {
        let mut graph = vec![Vec::new(); self.nodes];
        for edge in self.edges.iter().filter(|edge| kinds.contains(&edge.why)) {
            graph[edge.from].push(edge.to);
        }
        graph
    }

    /// Cycles of edges of some kinds that are not worse than `anomaly`.
    fn plain(&self, kinds: &[Why], anomaly: Anomaly, findings: &mut Vec<Finding>) {
        let graph = self.graph(kinds);
        for component in graph::cyclic_components(&graph) {
            let cycle = graph::cycle(&graph, &component);
            self.report(anomaly, &cycle, findings);
        }
    }

    /// Cycles with exactly one rw: the way back needs none.
    fn single(&self, findings: &mut Vec<Finding>) {
        let rest = self.graph(&[Why::Ww, Why::Wr, Why::Rt]);
        for edge in self.edges.iter().filter(|edge| edge.why == Why::Rw) {
            if let Some(mut cycle) = graph::way(&rest, edge.to, edge.from) {
                cycle.insert(0, edge.from);
                return self.report(Anomaly::GSingle, &cycle, findings);
            }
        }
    }

    /// Cycles without two rw in a row. Node `2 n` is `n` reached by another edge, `2 n + 1` by rw.
    fn nonadjacent(&self, findings: &mut Vec<Finding>) {
        let mut graph = vec![Vec::new(); 2 * self.nodes];
        for edge in self.edges {
            match edge.why {
                Why::Rw => graph[2 * edge.from].push(2 * edge.to + 1),
                _ => {
                    graph[2 * edge.from].push(2 * edge.to);
                    graph[2 * edge.from + 1].push(2 * edge.to);
                }
            }
        }
        for component in graph::cyclic_components(&graph) {
            let cycle = graph::cycle(&graph, &component);
            let cycle: Vec<usize> = cycle.into_iter().map(|node| node / 2).collect();
            self.report(Anomaly::GNonadjacent, &cycle, findings);
        }
    }

    /// Adds the cycle unless a worse anomaly has been found in it.
    fn report(&self, anomaly: Anomaly, cycle: &[usize], findings: &mut Vec<Finding>) {
        let kinds_of = |from: usize, to: usize| {
            let between = self.edges.iter().filter(move |e| (e.from, e.to) == (from, to));
            between.map(|edge| edge.why).collect::<Vec<_>>()
        };
        let mut evidence = String::new();
        for pair in cycle.windows(2) {
            evidence += &format!("T{} {:?} ", pair[0], kinds_of(pair[0], pair[1]));
        }
        evidence += &format!("T{}", cycle.last().copied().unwrap_or_default());
        let worse = [Anomaly::G0, Anomaly::G1c, Anomaly::GSingle, Anomaly::GNonadjacent];
        let known = findings.iter().any(|f| worse.contains(&f.anomaly) && f.anomaly < anomaly);
        if !known {
            findings.push(Finding { anomaly, evidence });
        }
    }
}
