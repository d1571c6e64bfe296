//! The calls of the first life: every kind of mutation, several at once, keyed ones and their repetitions, small and large.

use serde_json::json;
use stanchion_memory::{Addition, Deletion, Entity, Mutation, Relation, Selection};

use super::super::rpc::{Ask, Client, Told};
use super::graph_in;

/// Calls that are sent together.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) mutations: Vec<Mutation>,
    pub(super) key: Option<&'static str>,
    repeats: bool,
}

impl Step {
    pub(super) fn new(mutation: Mutation) -> Self {
        Self { mutations: vec![mutation], key: None, repeats: false }
    }

    fn keyed(key: &'static str, repeats: bool, mutation: Mutation) -> Self {
        Self { mutations: vec![mutation], key: Some(key), repeats }
    }

    pub(super) fn is_first_of_its_key(&self) -> bool {
        self.key.is_some() && !self.repeats
    }

    pub(super) fn asks(&self) -> Vec<Ask> {
        self.mutations.iter().map(|one| Ask { tool: one.tool(), arguments: arguments(one), key: self.key }).collect()
    }
}

fn arguments(mutation: &Mutation) -> serde_json::Value {
    match mutation {
        Mutation::CreateEntities(entities) => json!({"entities": entities}),
        Mutation::CreateRelations(relations) | Mutation::DeleteRelations(relations) => json!({"relations": relations}),
        Mutation::AddObservations(additions) => json!({"observations": additions}),
        Mutation::DeleteEntities(names) => json!({"entityNames": names}),
        Mutation::DeleteObservations(deletions) => json!({"deletions": deletions}),
    }
}

fn one(name: &str, observation: &str) -> Entity {
    Entity { name: name.to_owned(), entity_type: "t".to_owned(), observations: vec![observation.to_owned()] }
}

pub(super) fn entity(name: &str, observation: &str) -> Mutation {
    Mutation::CreateEntities(vec![one(name, observation)])
}

fn relation() -> Vec<Relation> {
    vec![Relation { from: "a".to_owned(), to: "b".to_owned(), relation_type: "r".to_owned() }]
}

fn add(name: &str, observation: &str) -> Mutation {
    Mutation::AddObservations(vec![Addition { entity_name: name.to_owned(), contents: vec![observation.to_owned()] }])
}

fn take(name: &str, observation: &str) -> Mutation {
    let observations = vec![observation.to_owned()];
    Mutation::DeleteObservations(vec![Deletion { entity_name: name.to_owned(), observations }])
}

pub(super) fn script() -> Vec<Step> {
    let together = |mutations: Vec<Mutation>| Step { mutations, key: None, repeats: false };
    vec![
        Step::new(Mutation::CreateEntities(vec![one("a", "first"), one("b", "second")])),
        Step::new(Mutation::CreateRelations(relation())),
        Step::new(add("a", "more of a")),
        together(vec![entity("c", "3"), entity("d", "4"), entity("e", "5")]),
        Step::keyed("k1", false, add("b", "under a key")),
        Step::new(take("b", "under a key")),
        Step::keyed("k1", true, add("b", "under a key")),
        // Larger than a page.
        Step::new(entity("large", &"x".repeat(9_000))),
        Step::new(Mutation::DeleteRelations(relation())),
        Step::keyed("k2", false, entity("f", "under another key")),
        Step::new(Mutation::DeleteEntities(vec!["c".to_owned()])),
    ]
}

/// For whoever damages files.
pub fn mutation_of_all_kinds() -> Vec<Mutation> {
    script().into_iter().flat_map(|step| step.mutations).collect()
}

/// The whole graph, or what was said instead.
pub(super) fn read(client: &mut Client) -> Result<Selection, String> {
    match client.call(Ask { tool: "read_graph", arguments: json!({}), key: None }) {
        Told::Done { content, .. } => graph_in(&content),
        Told::Failed(said) | Told::Unknown(said) => Err(said),
    }
}
