//! What can be asked of a graph, and what comes back.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Entity, Relation};

/// One call of a tool that writes: it happens as a whole or not at all.
///
/// ```
/// use stanchion_memory::Mutation;
/// assert_eq!(Mutation::DeleteEntities(vec!["Ada".into()]).tool(), "delete_entities");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// Adds those whose name is new.
    CreateEntities(Vec<Entity>),
    /// Adds those that are new.
    CreateRelations(Vec<Relation>),
    /// Adds what is new to entities that are there.
    AddObservations(Vec<Addition>),
    /// Removes entities and every relation that they are in.
    DeleteEntities(Vec<String>),
    /// Removes observations; what is not there is not missed.
    DeleteObservations(Vec<Deletion>),
    /// Removes relations; what is not there is not missed.
    DeleteRelations(Vec<Relation>),
}

impl Mutation {
    /// The tool that asks for it.
    ///
    /// ```
    /// assert_eq!(stanchion_memory::Mutation::CreateEntities(vec![]).tool(), "create_entities");
    /// ```
    #[must_use]
    pub const fn tool(&self) -> &'static str {
        match self {
            Self::CreateEntities(_) => "create_entities",
            Self::CreateRelations(_) => "create_relations",
            Self::AddObservations(_) => "add_observations",
            Self::DeleteEntities(_) => "delete_entities",
            Self::DeleteObservations(_) => "delete_observations",
            Self::DeleteRelations(_) => "delete_relations",
        }
    }
}

/// Observations for one entity.
///
/// ```
/// let text = r#"{"entityName":"Ada","contents":["likes looms"]}"#;
/// let addition: stanchion_memory::Addition = serde_json::from_str(text)?;
/// assert_eq!(addition.contents, ["likes looms"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Addition {
    /// Whose they are.
    pub entity_name: String,
    /// What is to be added.
    pub contents: Vec<String>,
}

/// Observations of one entity that are to go.
///
/// ```
/// let text = r#"{"entityName":"Ada","observations":["likes looms"]}"#;
/// let deletion: stanchion_memory::Deletion = serde_json::from_str(text)?;
/// assert_eq!(deletion.observations, ["likes looms"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Whose they are.
    pub entity_name: String,
    /// What is to go.
    pub observations: Vec<String>,
}

/// What was added to one entity.
///
/// ```
/// let added = stanchion_memory::Added { entity_name: "Ada".into(), added_observations: vec![] };
/// assert_eq!(serde_json::to_string(&added)?, r#"{"entityName":"Ada","addedObservations":[]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Added {
    /// Whose they are.
    pub entity_name: String,
    /// Those that were new.
    pub added_observations: Vec<String>,
}

/// What a mutation came to.
///
/// ```
/// use stanchion_memory::{Graph, Mutation, Outcome};
/// let (plan, outcome) = Graph::default().plan(&Mutation::DeleteEntities(vec!["nobody".into()]))?;
/// assert!(plan.is_empty());
/// assert_eq!(outcome, Outcome::Deleted);
/// # Ok::<(), stanchion_memory::EntityNotFound>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The entities that were new.
    Entities(Vec<Entity>),
    /// The relations that were new.
    Relations(Vec<Relation>),
    /// The observations that were new.
    Observations(Vec<Added>),
    /// What was to go is gone.
    Deleted,
}

/// Observations are added to what is there. Nothing was changed.
///
/// ```
/// let error = stanchion_memory::EntityNotFound("Ada".into());
/// assert_eq!(error.to_string(), "Entity with name Ada not found");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityNotFound(pub String);

impl fmt::Display for EntityNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The official server's words.
        write!(f, "Entity with name {} not found", self.0)
    }
}

impl std::error::Error for EntityNotFound {}
