//! The nine tools, as the official server lists them.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::shape::{Member, Shape};

/// How a tool meets the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Adds,
    Deletes,
    Reads,
}

/// One tool.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    pub(super) access: Access,
    pub(super) input: &'static [Member],
    output: &'static [Member],
}

const ENTITY: Shape = Shape::Object(&[
    Member::about("name", Shape::Text, "The name of the entity"),
    Member::about("entityType", Shape::Text, "The type of the entity"),
    Member::about("observations", TEXTS, "An array of observation contents associated with the entity"),
]);
const RELATION: Shape = Shape::Object(&[
    Member::about("from", Shape::Text, "The name of the entity where the relation starts"),
    Member::about("to", Shape::Text, "The name of the entity where the relation ends"),
    Member::about("relationType", Shape::Text, "The type of the relation"),
]);
const ADDITION: Shape = Shape::Object(&[
    Member::about("entityName", Shape::Text, "The name of the entity to add the observations to"),
    Member::about("contents", TEXTS, "An array of observation contents to add"),
]);
const ADDED: Shape = Shape::Object(&[Member::new("entityName", Shape::Text), Member::new("addedObservations", TEXTS)]);
const DELETION: Shape = Shape::Object(&[
    Member::about("entityName", Shape::Text, "The name of the entity containing the observations"),
    Member::about("observations", TEXTS, "An array of observations to delete"),
]);
const TEXTS: Shape = Shape::List(&Shape::Text);
const GRAPH: &[Member] =
    &[Member::new("entities", Shape::List(&ENTITY)), Member::new("relations", Shape::List(&RELATION))];
const DELETED: &[Member] = &[Member::new("success", Shape::Flag), Member::new("message", Shape::Text)];

/// In the order of the list.
pub(super) static TOOLS: [Spec; 9] = [
    Spec {
        name: "create_entities",
        title: "Create Entities",
        about: "Create multiple new entities in the knowledge graph",
        access: Access::Adds,
        input: &[Member::new("entities", Shape::List(&ENTITY))],
        output: &[Member::new("entities", Shape::List(&ENTITY))],
    },
    Spec {
        name: "create_relations",
        title: "Create Relations",
        about: "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
        access: Access::Adds,
        input: &[Member::new("relations", Shape::List(&RELATION))],
        output: &[Member::new("relations", Shape::List(&RELATION))],
    },
    Spec {
        name: "add_observations",
        title: "Add Observations",
        about: "Add new observations to existing entities in the knowledge graph",
        access: Access::Adds,
        input: &[Member::new("observations", Shape::List(&ADDITION))],
        output: &[Member::new("results", Shape::List(&ADDED))],
    },
    Spec {
        name: "delete_entities",
        title: "Delete Entities",
        about: "Delete multiple entities and their associated relations from the knowledge graph",
        access: Access::Deletes,
        input: &[Member::about("entityNames", TEXTS, "An array of entity names to delete")],
        output: DELETED,
    },
    Spec {
        name: "delete_observations",
        title: "Delete Observations",
        about: "Delete specific observations from entities in the knowledge graph",
        access: Access::Deletes,
        input: &[Member::new("deletions", Shape::List(&DELETION))],
        output: DELETED,
    },
    Spec {
        name: "delete_relations",
        title: "Delete Relations",
        about: "Delete multiple relations from the knowledge graph",
        access: Access::Deletes,
        input: &[Member::about("relations", Shape::List(&RELATION), "An array of relations to delete")],
        output: DELETED,
    },
    Spec {
        name: "read_graph",
        title: "Read Graph",
        about: "Read the entire knowledge graph",
        access: Access::Reads,
        input: &[],
        output: GRAPH,
    },
    Spec {
        name: "search_nodes",
        title: "Search Nodes",
        about: "Search for nodes in the knowledge graph based on a query",
        access: Access::Reads,
        input: &[Member::about(
            "query",
            Shape::Text,
            "The search query to match against entity names, types, and observation content",
        )],
        output: GRAPH,
    },
    Spec {
        name: "open_nodes",
        title: "Open Nodes",
        about: "Open specific nodes in the knowledge graph by their names",
        access: Access::Reads,
        input: &[Member::about("names", TEXTS, "An array of entity names to retrieve")],
        output: GRAPH,
    },
];

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static Spec> {
    TOOLS.iter().find(|tool| tool.name == name)
}

fn schema(members: &'static [Member], closed: bool) -> Arc<Map<String, Value>> {
    let mut schema = Shape::Object(members).schema(closed);
    schema.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    Arc::new(schema)
}

/// The list of tools.
pub(super) fn list() -> Vec<Tool> {
    let tool = |spec: &Spec| {
        let access = spec.access;
        let annotations = ToolAnnotations::new()
            .read_only(access == Access::Reads)
            .destructive(access == Access::Deletes)
            .idempotent(access != Access::Adds)
            .open_world(false);
        Tool::new(spec.name, spec.about, schema(spec.input, false))
            .with_title(spec.title)
            .with_raw_output_schema(schema(spec.output, true))
            .with_annotations(annotations)
    };
    TOOLS.iter().map(tool).collect()
}

/// What the list says besides, in the eras that know it: no tool runs as a task.
pub(super) fn without_tasks(list: &mut Value) {
    let tools = list.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten() {
        tool["execution"] = json!({"taskSupport": "forbidden"});
    }
}
