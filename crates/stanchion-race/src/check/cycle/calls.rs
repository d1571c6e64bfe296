//! Calls, and which of them must come before which.

use crate::check::{History, Input, Value};

/// The operations of one client with the same times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who called.
    pub client: u32,
    /// When it was called.
    pub call: u64,
    /// When it returned.
    pub ret: u64,
    /// Its operations, by their places in the history.
    pub operations: Vec<usize>,
}

impl Call {
    pub(super) fn words(&self) -> String {
        format!("client {} [{}, {}]", self.client, self.call, self.ret)
    }
}

/// Why a call must come before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// It wrote what the other saw.
    Seen {
        /// The key.
        key: u32,
        /// The version that was written and seen.
        version: u64,
    },
    /// The other wrote the next version.
    Overwrote {
        /// The key.
        key: u32,
        /// The version of the other.
        version: u64,
    },
    /// It saw a version that the other replaced.
    Replaced {
        /// The key.
        key: u32,
        /// The version that it saw.
        version: u64,
        /// The version of the other.
        by: u64,
    },
    /// It returned before the other was called.
    Time,
}

impl Why {
    pub(super) fn words(&self, other: &str, history: &History) -> String {
        match self {
            Why::Seen { key, version } => {
                format!("wrote {:?} version {version}, which {other} saw", history.name(*key))
            }
            Why::Overwrote { key, version } => {
                format!("wrote {:?} before {other} wrote version {version}", history.name(*key))
            }
            Why::Replaced { key, version, by } => {
                format!("saw {:?} version {version}, which {other} replaced by version {by}", history.name(*key))
            }
            Why::Time => format!("returned before {other} was called"),
        }
    }
}

/// An edge: from, to, why. Calls are nodes by their numbers; above them are points in time.
pub(super) type Edge = (u32, u32, Why);

/// All calls that returned, and the number of operations that are not in them.
pub(super) fn calls(history: &History) -> (Vec<Call>, usize) {
    let all = history.operations();
    let mut places: Vec<(u32, u64, u64, usize)> = Vec::new();
    for (at, operation) in all.iter().enumerate() {
        let versioned = matches!(operation.input, Input::Store { .. } | Input::Load { .. });
        if versioned && version(operation.given()).is_some() {
            places.push((operation.client, operation.call, operation.ret, at));
        }
    }
    let left_out = all.len().saturating_sub(places.len());
    places.sort_unstable();
    let groups = places.chunk_by(|one, other| (one.0, one.1, one.2) == (other.0, other.1, other.2));
    let calls = groups.filter_map(|group| {
        let (client, call, ret, _) = *group.first()?;
        Some(Call { client, call, ret, operations: group.iter().map(|(.., at)| *at).collect() })
    });
    (calls.collect(), left_out)
}

fn version(given: Option<Value>) -> Option<u64> {
    if let Some(Value::Int(number)) = given { u64::try_from(number).ok() } else { None }
}

/// What versions say. A write that was based on a version has seen it.
pub(super) fn dependencies(history: &History, calls: &[Call]) -> Vec<Edge> {
    let mut writes: Vec<(u32, u64, u32)> = Vec::new();
    let mut reads: Vec<(u32, u64, u32)> = Vec::new();
    for (node, call) in (0u32..).zip(calls) {
        for operation in call.operations.iter().filter_map(|at| history.operations().get(*at)) {
            let Some(version) = version(operation.given()) else { continue };
            match operation.input {
                Input::Store { base, .. } => {
                    writes.push((operation.key, version, node));
                    reads.extend(base.map(|base| (operation.key, base, node)));
                }
                _ => reads.push((operation.key, version, node)),
            }
        }
    }
    writes.sort_unstable();
    reads.sort_unstable();
    reads.dedup();
    let mut edges = Vec::new();
    for pair in writes.windows(2) {
        if let [(key, before, first), (other, version, then)] = pair
            && key == other
            && first != then
        {
            let why = Why::Overwrote { key: *key, version: *version };
            edges.push((*first, *then, why));
            // A version that was given twice has no order at all.
            edges.extend((before == version).then_some((*then, *first, why)));
        }
    }
    for (key, version, node) in reads {
        // Its own later writes of the key do not replace what it saw; those of others after them do, by their order.
        let next = writes.partition_point(|(other, given, _)| (*other, *given) <= (key, version));
        if let Some((_, by, then)) = writes.get(next).filter(|(other, _, then)| *other == key && *then != node) {
            edges.push((node, *then, Why::Replaced { key, version, by: *by }));
        }
        let writer = next.checked_sub(1).and_then(|at| writes.get(at));
        if let Some((.., first)) =
            writer.filter(|(other, given, first)| (*other, *given) == (key, version) && *first != node)
        {
            edges.push((*first, node, Why::Seen { key, version }));
        }
    }
    edges
}

/// What real time says: a chain of all returns, each call before its return and after the last one before it. So there are
/// as many edges as calls, and not as many as pairs of them.
pub(super) fn real_time(calls: &[Call], edges: &mut Vec<Edge>) {
    let mut returns: Vec<(u64, u32)> = (0u32..).zip(calls).map(|(node, call)| (call.ret, node)).collect();
    returns.sort_unstable();
    let point = |at: usize| u32::try_from(calls.len().saturating_add(at)).ok();
    for (at, (_, node)) in returns.iter().enumerate() {
        edges.extend(point(at).map(|point| (*node, point, Why::Time)));
        edges.extend(point(at).zip(at.checked_sub(1).and_then(point)).map(|(this, before)| (before, this, Why::Time)));
    }
    for (node, call) in (0u32..).zip(calls) {
        let before = returns.partition_point(|(ret, _)| *ret < call.call);
        edges.extend(before.checked_sub(1).and_then(point).map(|point| (point, node, Why::Time)));
    }
}
