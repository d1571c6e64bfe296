//! The graphs that may be there: what was acknowledged, and any choice of what is unknown.

use std::collections::HashMap;

use serde_json::Value;
use stanchion_memory::{Graph, Mutation, Selection};

use super::super::rpc::Told;
use super::script::Step;

/// Never empty.
#[derive(Clone, Debug)]
pub(super) struct Possible(Vec<Selection>);

impl Possible {
    pub(super) fn after<'a>(lived: impl Iterator<Item = (&'a Step, &'a [Told])>) -> Self {
        let mut possible = Self(vec![sorted(Selection::default())]);
        let mut keys: HashMap<&str, &Told> = HashMap::new();
        for (step, told) in lived {
            for (mutation, told) in step.mutations.iter().zip(told) {
                let before = step.key.and_then(|key| keys.insert(key, told));
                match (told, before) {
                    // Whatever became of the first one, this one is not run.
                    (_, Some(Told::Done { .. } | Told::Unknown(_))) => {}
                    (Told::Done { replayed: false, .. }, _) => possible.happened(mutation),
                    (Told::Unknown(_), _) => possible.may_have_happened(mutation),
                    (Told::Done { .. } | Told::Failed(_), _) => {}
                }
            }
        }
        possible
    }

    pub(super) fn happened(&mut self, mutation: &Mutation) {
        self.0.iter_mut().for_each(|state| *state = changed(state, mutation));
    }

    fn may_have_happened(&mut self, mutation: &Mutation) {
        let with: Vec<_> = self.0.iter().map(|state| changed(state, mutation)).collect();
        self.0.extend(with);
        self.0.dedup();
    }

    /// Whether it asks for what cannot be, such as observations of nobody.
    pub(super) fn refuses(&self, mutation: &Mutation) -> bool {
        let graph = |state: &Selection| Graph::new(state.entities.clone(), state.relations.clone());
        self.0.iter().any(|state| graph(state).plan(mutation).is_err())
    }

    /// Whether it would change nothing.
    pub(super) fn all_have(&self, mutation: &Mutation) -> bool {
        self.0.iter().all(|state| changed(state, mutation) == *state)
    }

    /// This is what is there; an error if it cannot be.
    pub(super) fn narrow(&mut self, found: &Selection) -> Result<(), String> {
        let found = sorted(found.clone());
        if !self.0.contains(&found) {
            let near = self.0.last().map(|state| first_difference(state, &found)).unwrap_or_default();
            return Err(format!("none of {} possible graphs is there: {near}", self.0.len()));
        }
        self.0 = vec![found];
        Ok(())
    }
}

fn changed(state: &Selection, mutation: &Mutation) -> Selection {
    let mut graph = Graph::new(state.entities.clone(), state.relations.clone());
    // What is refused changes nothing.
    if let Ok((plan, _)) = graph.plan(mutation) {
        graph.apply(plan);
    }
    sorted(graph.into_selection())
}

/// Calls that were sent together happen in any order.
pub(super) fn sorted(mut graph: Selection) -> Selection {
    graph.entities.sort_by(|a, b| a.name.cmp(&b.name));
    graph.relations.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    graph
}

fn first_difference(expected: &Selection, found: &Selection) -> String {
    let names = |graph: &Selection| {
        let entity = |one: &stanchion_memory::Entity| format!("{}:{}", one.name, one.observations.len());
        let entities = graph.entities.iter().map(entity).collect::<Vec<_>>().join(" ");
        format!("[{entities}] and {} relations", graph.relations.len())
    };
    format!("for example {}, found {}", names(expected), names(found))
}

/// As the official server reads it: one line that it cannot read makes all of it unreadable.
pub(super) fn strict(bytes: &[u8]) -> Result<Selection, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
    let mut graph = Selection::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|e| format!("{e}: {line}"))?;
        let wrong = |e: serde_json::Error| format!("{e}: {line}");
        match value["type"].as_str() {
            Some("entity") => graph.entities.push(serde_json::from_value(value).map_err(wrong)?),
            Some("relation") => graph.relations.push(serde_json::from_value(value).map_err(wrong)?),
            _ => {}
        }
    }
    Ok(sorted(graph))
}
