//! What a graph is asked for.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::{Entity, Graph, Relation};

/// What somebody wants to see.
///
/// ```
/// use stanchion_memory::{Graph, Query};
/// assert!(Graph::default().select(&Query::All).entities.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Everything.
    All,
    /// Entities with this text in name, type or an observation, whatever the case, and their relations.
    Search(String),
    /// The entities of these names, and their relations.
    Open(Vec<String>),
}

/// A part of a graph.
///
/// ```
/// use stanchion_memory::{Graph, Query};
/// let graph = Graph::default();
/// assert_eq!(serde_json::to_string(&graph.select(&Query::All))?, r#"{"entities":[],"relations":[]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Selection {
    /// In the order of the graph.
    pub entities: Vec<Entity>,
    /// In the order of the graph.
    pub relations: Vec<Relation>,
}

impl Graph {
    /// The part that was asked for, in the order of the graph.
    ///
    /// ```
    /// use stanchion_memory::{Entity, Graph, Query};
    /// let entity = |name: &str| Entity { name: name.into(), entity_type: "person".into(), observations: vec![] };
    /// let graph = Graph::new(vec![entity("Ada"), entity("Charles")], vec![]);
    /// assert_eq!(graph.select(&Query::Open(vec!["Charles".into(), "nobody".into()])).entities, [entity("Charles")]);
    /// ```
    #[must_use]
    pub fn select(&self, query: &Query) -> Selection {
        let entities: Vec<&Entity> = match query {
            Query::All => return Selection { entities: self.entities.clone(), relations: self.relations.clone() },
            Query::Search(text) => {
                let wanted = Needle::new(text);
                let is_wanted = |one: &&Entity| {
                    wanted.is_in(&one.name)
                        || wanted.is_in(&one.entity_type)
                        || one.observations.iter().any(|text| wanted.is_in(text))
                };
                self.entities.iter().filter(is_wanted).collect()
            }
            Query::Open(names) => self.open(names),
        };
        let relations = match &entities[..] {
            [] => Vec::new(),
            // To compare with a few is quicker than to hash every relation.
            few if few.len() <= FEW => self.relations_of(|end| few.iter().any(|one| one.name == *end)),
            many => {
                let names: HashSet<&str> = many.iter().map(|one| &*one.name).collect();
                self.relations_of(|end| names.contains(end))
            }
        };
        Selection { entities: entities.into_iter().cloned().collect(), relations }
    }

    fn open(&self, names: &[String]) -> Vec<&Entity> {
        // With no name twice, each is where it is looked up.
        if self.names.len() == self.entities.len() {
            let places: BTreeSet<usize> = names.iter().filter_map(|name| self.find(name)).collect();
            return places.into_iter().map(|at| &self.entities[at]).collect();
        }
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        self.entities.iter().filter(|one| names.contains(&*one.name)).collect()
    }

    fn relations_of(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Relation> {
        self.relations.iter().filter(|one| is_meant(&one.from) || is_meant(&one.to)).cloned().collect()
    }
}

const FEW: usize = 8;

/// A text that is looked for whatever the case.
struct Needle {
    lower: String,
    /// Its first byte in both cases, if it is plain ASCII.
    first: Option<(u8, u8)>,
}

impl Needle {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let first = match lower.is_ascii() {
            true => lower.bytes().next().map(|byte| (byte, byte.to_ascii_uppercase())),
            false => None,
        };
        Self { lower, first }
    }

    fn is_in(&self, text: &str) -> bool {
        // Beyond ASCII, lower case may have another length, and may make ASCII out of what was none.
        let Some((lower, upper)) = self.first.filter(|_| text.is_ascii()) else {
            return text.to_lowercase().contains(&self.lower);
        };
        let (text, wanted) = (text.as_bytes(), self.lower.as_bytes());
        let Some(last) = text.len().checked_sub(wanted.len()) else { return false };
        memchr::memchr2_iter(lower, upper, &text[..=last])
            .any(|at| text[at..at + wanted.len()].eq_ignore_ascii_case(wanted))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_search_is_blind_to_case_in_names_types_and_observations() {
        let entity = |name: &str, kind: &str, seen: &str| Entity {
            name: name.into(),
            entity_type: kind.into(),
            observations: vec![seen.into()],
        };
        let graph = Graph::new(
            vec![entity("Ada", "x", "y"), entity("b", "PERSON", "y"), entity("c", "x", "Größe"), entity("d", "x", "y")],
            vec![
                Relation { from: "Ada".into(), to: "d".into(), relation_type: "knows".into() },
                Relation { from: "d".into(), to: "c".into(), relation_type: "knows".into() },
            ],
        );
        let found = |text: &str| {
            let part = graph.select(&Query::Search(text.into()));
            (part.entities.into_iter().map(|one| one.name).collect::<Vec<_>>(), part.relations.len())
        };
        assert_eq!(found("aDA"), (vec!["Ada".into()], 1));
        assert_eq!(found("erso"), (vec!["b".into()], 0));
        assert_eq!(found("GRÖSSE"), (vec![], 0));
        assert_eq!(found("GRÖß"), (vec!["c".into()], 1));
        assert_eq!(found("").0.len(), 4);
    }

    proptest! {
        #[test]
        fn the_quick_way_finds_what_lower_case_finds(text in "[ -~]{0,40}|\\PC{0,12}", wanted in "[a-cA-C ]{0,3}|\\PC{0,2}") {
            prop_assert_eq!(Needle::new(&wanted).is_in(&text), text.to_lowercase().contains(&wanted.to_lowercase()));
        }
    }
}
