//! What a graph is made of.

use serde::{Deserialize, Serialize};

/// Something that is remembered.
///
/// ```
/// let text = r#"{"name":"Ada","entityType":"person","observations":["likes looms"]}"#;
/// let ada: stanchion_memory::Entity = serde_json::from_str(text)?;
/// assert_eq!(serde_json::to_string(&ada)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// What it is found by.
    pub name: String,
    /// What it is.
    pub entity_type: String,
    /// What is known of it.
    pub observations: Vec<String>,
}

/// A directed connection. Its ends need not exist.
///
/// ```
/// let text = r#"{"from":"Ada","to":"Charles","relationType":"knows"}"#;
/// let knows: stanchion_memory::Relation = serde_json::from_str(text)?;
/// assert_eq!(serde_json::to_string(&knows)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// Where it starts.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What it says, in active voice.
    pub relation_type: String,
}
