//! The calls: what is sent, and what a good answer has in it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::graph::{Graph, created, marker};
use crate::Outcome;

/// What is called, in the order in which it is measured: writes first, because an empty graph has nothing to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    CreateEntities,
    CreateRelations,
    AddObservations,
    SearchNodes,
    OpenNodes,
    ReadGraph,
}

/// Larger graphs are not read as a whole: nobody does, and the answer is mostly the client's work.
const WHOLE_MAX: u64 = 10_000;

impl Call {
    pub(super) const ALL: [Self; 6] = [
        Self::CreateEntities,
        Self::CreateRelations,
        Self::AddObservations,
        Self::SearchNodes,
        Self::OpenNodes,
        Self::ReadGraph,
    ];

    pub(super) fn tool(self) -> &'static str {
        match self {
            Self::CreateEntities => "create_entities",
            Self::CreateRelations => "create_relations",
            Self::AddObservations => "add_observations",
            Self::SearchNodes => "search_nodes",
            Self::OpenNodes => "open_nodes",
            Self::ReadGraph => "read_graph",
        }
    }

    /// How often it is called before and while it is measured. Few: writes must not change the size that is measured.
    pub(super) fn times(self, graph: Graph) -> (u64, u64) {
        match self {
            Self::ReadGraph if graph.size > WHOLE_MAX => (0, 0),
            Self::ReadGraph => (2, 20),
            Self::SearchNodes | Self::OpenNodes => (50, 400),
            _ => (50, 200),
        }
    }
}

/// Call `n` of one process, when `made` entities have been created by this run.
pub(super) struct Request {
    pub(super) call: Call,
    pub(super) graph: Graph,
    pub(super) process: u64,
    pub(super) n: u64,
    pub(super) made: u64,
}

impl Request {
    fn known(&self, offset: u64) -> String {
        self.graph.known(self.n + offset, self.made)
    }

    pub(super) fn arguments(&self) -> Value {
        let n = self.n;
        match self.call {
            Call::CreateEntities => {
                let name = created(self.process, n);
                let observations = [marker(&name), "was created by a call".to_owned()];
                json!({ "entities": [{ "name": name, "entityType": "component", "observations": observations }] })
            }
            Call::CreateRelations => {
                json!({ "relations": [{ "from": self.known(0), "to": self.known(1), "relationType": self.proof() }] })
            }
            Call::AddObservations => {
                json!({ "observations": [{ "entityName": self.known(0), "contents": [self.proof()] }] })
            }
            Call::SearchNodes => json!({ "query": format!("REG:{}", self.known(0)) }),
            Call::OpenNodes => {
                json!({ "names": (0..=n % 3).map(|offset| self.known(offset)).collect::<Vec<_>>() })
            }
            Call::ReadGraph => json!({}),
        }
    }

    /// What must be in the answer.
    fn proof(&self) -> String {
        match self.call {
            Call::CreateEntities => created(self.process, self.n),
            Call::CreateRelations => format!("was named in call {} of the run", self.n),
            Call::AddObservations => format!("was noted in call {} of the run", self.n),
            Call::SearchNodes | Call::OpenNodes | Call::ReadGraph => self.known(0),
        }
    }

    /// A server that refuses, or answers with something else, is not fast, it is broken.
    pub(super) fn check(&self, result: &str) -> Outcome {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(rename = "isError", default)]
            is_error: bool,
        }
        let (read, proof): (Answer, _) = (serde_json::from_str(result)?, self.proof());
        if read.is_error || !result.contains(&proof) {
            let start: String = result.chars().take(300).collect();
            return Err(format!("error: {} answered without {proof:?}: {start}", self.call.tool()).into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_calls_answer_and_an_error_are_noticed() {
        let request = Request { call: Call::CreateEntities, graph: Graph { size: 0 }, process: 2, n: 5, made: 0 };
        let name = request.arguments()["entities"][0]["name"].as_str().unwrap().to_owned();
        request.check(&json!({ "content": [{ "type": "text", "text": name }] }).to_string()).unwrap();
        request
            .check(&json!({ "content": [{ "type": "text", "text": name }], "isError": true }).to_string())
            .unwrap_err();
        request.check(&json!({ "content": [{ "type": "text", "text": "created-2-000006" }] }).to_string()).unwrap_err();
    }

    #[test]
    fn a_search_asks_for_what_one_entity_has_in_another_case() {
        let graph = Graph { size: 1000 };
        let request = Request { call: Call::SearchNodes, graph, process: 0, n: 3, made: 0 };
        let query = request.arguments()["query"].as_str().unwrap().to_lowercase();
        assert_eq!(graph.text().lines().filter(|line| line.contains(&query)).count(), 1);
    }
}
