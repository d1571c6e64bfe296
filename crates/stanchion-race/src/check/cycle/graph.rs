//! Knots (strongly connected components, by Tarjan) and the shortest cycle in one.

use std::collections::{HashMap, HashSet, VecDeque};

use super::calls::Edge;

pub(super) struct Graph {
    /// By their start.
    edges: Vec<Edge>,
    /// The first edge of each node; one more than there are nodes.
    starts: Vec<usize>,
    /// Nodes below this are calls, the others are points in time.
    calls: u32,
}

/// Nodes of a knot from which the shortest cycle is looked for; of all of them would take for ever in a large knot.
const TRIED: usize = 200;

/// What Tarjan's algorithm keeps for a node.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    /// When it was met, from 1; 0 if it was not.
    met: u32,
    /// The earliest node that it leads back to.
    low: u32,
    open: bool,
}

impl Graph {
    pub(super) fn new(mut edges: Vec<Edge>, calls: usize) -> Self {
        edges.sort_unstable();
        let nodes = edges.iter().map(|(from, to, _)| (*from).max(*to) as usize + 1).max().unwrap_or(0);
        let starts = (0..=nodes).map(|node| edges.partition_point(|(from, ..)| (*from as usize) < node)).collect();
        Self { edges, starts, calls: u32::try_from(calls).unwrap_or(u32::MAX) }
    }

    fn from(&self, node: u32) -> &[Edge] {
        let start = |node: usize| self.starts.get(node).copied();
        let range = start(node as usize).zip(start(node as usize + 1));
        range.and_then(|(start, end)| self.edges.get(start..end)).unwrap_or_default()
    }

    /// All groups of two nodes or more of which each leads to each, by their lowest node.
    pub(super) fn knots(&self) -> Vec<Vec<u32>> {
        let nodes = self.starts.len().saturating_sub(1);
        let mut marks = vec![Mark::default(); nodes];
        let (mut knots, mut stack, mut clock) = (Vec::new(), Vec::new(), 0);
        for root in 0..u32::try_from(nodes).unwrap_or(u32::MAX) {
            if marks.get(root as usize).is_some_and(|mark| mark.met == 0) {
                self.visit(root, &mut marks, &mut stack, &mut clock, &mut knots);
            }
        }
        knots.sort_unstable();
        knots
    }

    /// Without recursion: a chain of a million calls is usual.
    fn visit(&self, root: u32, marks: &mut [Mark], stack: &mut Vec<u32>, clock: &mut u32, knots: &mut Vec<Vec<u32>>) {
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let (node, edge) = (*node, *next);
            *next += 1;
            let Some(mark) = marks.get_mut(node as usize) else { break };
            if edge == 0 {
                *clock = clock.saturating_add(1);
                *mark = Mark { met: *clock, low: *clock, open: true };
                stack.push(node);
            }
            if let Some((_, to, _)) = self.from(node).get(edge) {
                let other = marks.get(*to as usize).copied().unwrap_or_default();
                if other.met == 0 {
                    path.push((*to, 0));
                } else if other.open {
                    lower(marks, node, other.met);
                }
                continue;
            }
            path.pop();
            let mark = marks.get(node as usize).copied().unwrap_or_default();
            if let Some((parent, _)) = path.last() {
                lower(marks, *parent, mark.low);
            }
            if mark.low == mark.met {
                let start = stack.iter().rposition(|one| *one == node).unwrap_or(0);
                let mut knot = stack.split_off(start);
                for one in &knot {
                    if let Some(mark) = marks.get_mut(*one as usize) {
                        mark.open = false;
                    }
                }
                if knot.len() > 1 {
                    knot.sort_unstable();
                    knots.push(knot);
                }
            }
        }
    }

    /// A cycle in a knot with the fewest edges; those that start at a point in time are free.
    pub(super) fn shortest(&self, knot: &[u32]) -> Vec<Edge> {
        let inside: HashSet<u32> = knot.iter().copied().collect();
        let mut best: Option<(usize, Vec<Edge>)> = None;
        for root in knot.iter().take(TRIED) {
            let limit = best.as_ref().map_or(usize::MAX, |(length, _)| *length);
            if let Some(found) = self.back_to(*root, &inside, limit) {
                best = Some(found);
            }
        }
        best.map(|(_, way)| way).unwrap_or_default()
    }

    /// The shortest way from a node back to it, if it is shorter than `limit`.
    fn back_to(&self, root: u32, inside: &HashSet<u32>, limit: usize) -> Option<(usize, Vec<Edge>)> {
        let mut came: HashMap<u32, (usize, Edge)> = HashMap::new();
        let mut queue = VecDeque::from([(root, 0usize)]);
        while let Some((node, length)) = queue.pop_front() {
            if length >= limit || came.get(&node).is_some_and(|(known, _)| *known < length) {
                continue;
            }
            if node == root && length > 0 {
                break;
            }
            for edge in self.from(node).iter().filter(|(_, to, _)| inside.contains(to)) {
                // Of a step of time only the edge counts that leads to the chain.
                let free = edge.0 >= self.calls;
                let length = length.saturating_add(usize::from(!free));
                if came.get(&edge.1).is_none_or(|(known, _)| length < *known) {
                    came.insert(edge.1, (length, *edge));
                    if free { queue.push_front((edge.1, length)) } else { queue.push_back((edge.1, length)) }
                }
            }
        }
        let (length, mut edge) = came.get(&root).copied().filter(|(length, _)| *length < limit)?;
        let mut way = vec![edge];
        while edge.0 != root {
            edge = came.get(&edge.0)?.1;
            way.push(edge);
        }
        way.reverse();
        Some((length, way))
    }
}

fn lower(marks: &mut [Mark], node: u32, low: u32) {
    if let Some(mark) = marks.get_mut(node as usize) {
        mark.low = mark.low.min(low);
    }
}
