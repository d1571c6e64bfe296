//! Mutations that are written together, each with its own outcome.

use stanchion_core::{Error, ErrorKind, VALUE_MAX_BYTES};

use crate::jsonl::{write_entity, write_relation};
use crate::{Entity, Graph, MemoryError, Mutation, Outcome, Plan, Relation};

/// What a graph may take: a record, less what is in front of each value.
pub(super) const GRAPH_MAX_BYTES: usize = VALUE_MAX_BYTES - 1024;

/// What a group came to.
pub(super) struct Applied {
    /// In the order of the mutations.
    pub(super) answers: Vec<Result<Outcome, MemoryError>>,
    /// The graph with all of them, as it is to be written; `None` if nothing is.
    pub(super) changed: Option<(Graph, Vec<u8>)>,
}

/// Works out the mutations one after the other. `size` is that of `base` when it is written.
pub(super) fn apply(base: &Graph, mut size: usize, mutations: &[Mutation]) -> Applied {
    let mut changed: Option<Graph> = None;
    let mut answers = Vec::with_capacity(mutations.len());
    for mutation in mutations {
        let graph = changed.as_ref().unwrap_or(base);
        let (plan, outcome) = match graph.plan(mutation) {
            Ok(planned) => planned,
            Err(error) => {
                answers.push(Err(error.into()));
                continue;
            }
        };
        let (more, less) = (grows_by(&plan), shrinks_by(graph, &plan));
        let after = (size + more).saturating_sub(less);
        // What makes a graph smaller is never refused.
        if after > GRAPH_MAX_BYTES && more > less {
            answers.push(Err(too_large(after).into()));
            continue;
        }
        if !plan.is_empty() {
            size = after;
            changed.get_or_insert_with(|| copy(base)).apply(plan);
        }
        answers.push(Ok(outcome));
    }
    let changed = changed.map(|graph| {
        let bytes = bytes(&graph, size);
        (graph, bytes)
    });
    Applied { answers, changed }
}

fn too_large(size: usize) -> Error {
    Error::new(
        ErrorKind::Invalid,
        "the knowledge graph would not fit into one record of the store; nothing was changed",
    )
    .with("bytes", size)
    .with("limit", GRAPH_MAX_BYTES)
    .hint("delete what is not needed any more, keep a second graph under another name, or keep it in a file")
}

fn copy(graph: &Graph) -> Graph {
    Graph::new(graph.entities().to_vec(), graph.relations().to_vec())
}

fn bytes(graph: &Graph, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size);
    graph.entities().iter().for_each(|one| push_entity(&mut out, one));
    graph.relations().iter().for_each(|one| push_relation(&mut out, one));
    out
}

fn push_entity(out: &mut Vec<u8>, entity: &Entity) {
    write_entity(out, entity, false);
    out.push(b'\n');
}

fn push_relation(out: &mut Vec<u8>, relation: &Relation) {
    write_relation(out, relation, false);
    out.push(b'\n');
}

/// The bytes of every line that the plan adds, and of the observations that it sets.
fn grows_by(plan: &Plan) -> usize {
    let mut lines = Vec::new();
    plan.new_entities.iter().for_each(|one| push_entity(&mut lines, one));
    plan.new_relations.iter().for_each(|one| push_relation(&mut lines, one));
    lines.len() + plan.observations.values().map(|observations| length(observations)).sum::<usize>()
}

/// The bytes of every line that the plan removes, and of the observations that it replaces.
fn shrinks_by(graph: &Graph, plan: &Plan) -> usize {
    let (entities, relations) = (graph.entities(), graph.relations());
    let mut lines = Vec::new();
    plan.gone_entities.iter().filter_map(|at| entities.get(*at)).for_each(|one| push_entity(&mut lines, one));
    plan.gone_relations.iter().filter_map(|at| relations.get(*at)).for_each(|one| push_relation(&mut lines, one));
    let replaced = plan.observations.keys().filter_map(|at| entities.get(*at));
    lines.len() + replaced.map(|one| length(&one.observations)).sum::<usize>()
}

fn length(observations: &[String]) -> usize {
    // Texts into memory: that cannot fail.
    serde_json::to_vec(observations).map_or(0, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{entity, relation};
    use crate::{Addition, Deletion, Query, to_jsonl};

    #[test]
    fn the_size_is_known_to_the_byte_before_anything_is_written() {
        let base =
            Graph::new(vec![entity("a", &["1\n\"ü"]), entity("b", &[])], vec![relation("a", "b"), relation("c", "d")]);
        let size = to_jsonl(&base.select(&Query::All)).len();
        let add = |name: &str, text: &str| Addition { entity_name: name.into(), contents: vec![text.into()] };
        let group = [
            Mutation::CreateEntities(vec![entity("c", &["x", "y"]), entity("a", &[])]),
            Mutation::AddObservations(vec![add("b", "first\t"), add("c", "z")]),
            Mutation::DeleteObservations(vec![Deletion { entity_name: "c".into(), observations: vec!["x".into()] }]),
            Mutation::CreateRelations(vec![relation("a", "c")]),
            Mutation::DeleteRelations(vec![relation("c", "d")]),
            Mutation::DeleteEntities(vec!["a".into()]),
        ];
        for many in 1..=group.len() {
            let Applied { answers, changed } = apply(&base, size, &group[..many]);
            assert!(answers.iter().all(Result::is_ok));
            let (graph, bytes) = changed.unwrap();
            assert_eq!(bytes, to_jsonl(&graph.select(&Query::All)));
            assert_eq!(bytes.capacity(), bytes.len(), "{many} mutations: the size was worked out wrongly");
        }
    }

    #[test]
    fn one_that_cannot_be_leaves_the_others_alone() {
        let missing = Mutation::AddObservations(vec![Addition { entity_name: "b".into(), contents: vec!["x".into()] }]);
        let group = [
            Mutation::CreateEntities(vec![entity("a", &[])]),
            missing,
            Mutation::CreateEntities(vec![entity("b", &[])]),
        ];
        let Applied { answers, changed } = apply(&Graph::default(), 0, &group);
        assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(changed.unwrap().0.entities(), [entity("a", &[]), entity("b", &[])]);
    }

    #[test]
    fn what_would_not_fit_is_refused_and_what_shrinks_never_is() {
        let large = "x".repeat(GRAPH_MAX_BYTES);
        let group = [
            Mutation::CreateEntities(vec![entity("a", &[])]),
            Mutation::CreateEntities(vec![entity("b", &[&large])]),
            Mutation::CreateEntities(vec![entity("c", &[])]),
        ];
        let Applied { answers, changed } = apply(&Graph::default(), 0, &group);
        let Err(MemoryError::Kept(error)) = &answers[1] else { panic!("{:?}", answers[1].is_ok()) };
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(&GRAPH_MAX_BYTES.to_string()), "{error}");
        assert_eq!(changed.unwrap().0.entities(), [entity("a", &[]), entity("c", &[])]);

        let base = Graph::new(vec![entity("a", &[&large]), entity("b", &[&large])], vec![]);
        let size = to_jsonl(&base.select(&Query::All)).len();
        let Applied { answers, changed } = apply(&base, size, &[Mutation::DeleteEntities(vec!["a".into()])]);
        assert!(answers[0].is_ok() && changed.unwrap().1.len() > GRAPH_MAX_BYTES);
    }
}
