//! What a server says of its tools, and which of them create and which show.

use std::collections::BTreeSet;

use serde_json::Value;

/// Verbs of tools that make something new.
const CREATES: [&str; 16] = [
    "create", "add", "insert", "append", "new", "save", "store", "remember", "record", "register", "put", "push",
    "write", "upsert", "set", "log",
];
/// So many of them make something new, whatever there is.
const MAKES_NEW: usize = 5;
/// Verbs of tools that show; the better ones for a whole listing first.
const SHOWS: [&str; 14] = [
    "list", "read", "all", "dump", "export", "show", "view", "get", "browse", "recall", "search", "find", "query",
    "open",
];
/// Whoever has one of these in its name is left alone.
const LEFT_ALONE: [&str; 20] = [
    "delete", "remove", "clear", "reset", "drop", "purge", "kill", "exec", "execute", "run", "eval", "send", "pay",
    "transfer", "move", "rename", "update", "edit", "shutdown", "cancel",
];

/// A tool, as `tools/list` tells it.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) schema: Value,
    words: Vec<String>,
    reads_only: Option<bool>,
    destroys: Option<bool>,
    reaches_outside: bool,
}

/// A tool that creates, and one that may show what it has created.
#[derive(Debug, Clone)]
pub(super) struct Pair<'t> {
    pub(super) create: &'t Tool,
    pub(super) show: &'t Tool,
}

impl Tool {
    pub(super) fn new(told: &Value) -> Option<Self> {
        let name = told.get("name")?.as_str()?.to_owned();
        let hint = |name: &str| told.get("annotations").and_then(|it| it.get(name)).and_then(Value::as_bool);
        let schema = told.get("inputSchema").filter(|it| it.is_object()).cloned().unwrap_or_default();
        Some(Self {
            words: words(&name),
            schema,
            reads_only: hint("readOnlyHint"),
            destroys: hint("destructiveHint"),
            reaches_outside: hint("openWorldHint") == Some(true),
            name,
        })
    }

    fn verb(&self, known: &[&str]) -> Option<usize> {
        self.words.iter().find_map(|word| known.iter().position(|it| it == word))
    }

    fn is_left_alone(&self) -> bool {
        self.verb(&LEFT_ALONE).is_some()
    }

    /// The better its verb, the less; `None` if it does not create.
    fn creates(&self) -> Option<usize> {
        let at = |known: &[&str]| self.words.iter().position(|word| known.contains(&word.as_str()));
        let says = at(&CREATES)? < at(&SHOWS).unwrap_or(usize::MAX);
        let verb = self.verb(&CREATES)?;
        // One that overwrites is only raced if its name says that it makes something new.
        let overwrites = self.destroys == Some(true) && verb >= MAKES_NEW;
        let may = self.reads_only != Some(true) && !self.is_left_alone() && !self.reaches_outside && !overwrites;
        (says && may).then_some(verb)
    }

    /// The better it lists, the less; `None` if it does not show.
    fn shows(&self) -> Option<usize> {
        if self.reads_only == Some(false) || self.is_left_alone() || self.creates().is_some() || self.reaches_outside {
            return None;
        }
        self.verb(&SHOWS).or_else(|| (self.reads_only == Some(true)).then_some(SHOWS.len()))
    }

    fn nouns(&self) -> BTreeSet<String> {
        let is_verb = |word: &str| CREATES.contains(&word) || SHOWS.contains(&word);
        self.words.iter().filter(|word| !is_verb(word)).map(|word| singular(word)).collect()
    }

    fn needs(&self) -> usize {
        self.schema.get("required").and_then(Value::as_array).map_or(0, Vec::len)
    }
}

/// Every pair, the likeliest first: they speak of the same, the one lists and needs little, the other creates.
pub(super) fn pairs(tools: &[Tool]) -> Vec<Pair<'_>> {
    let mut ranked = Vec::new();
    for create in tools {
        let Some(verb) = create.creates() else { continue };
        let nouns = create.nouns();
        for show in tools.iter().filter(|it| it.name != create.name) {
            let Some(lists) = show.shows() else { continue };
            let strange = usize::from(nouns.is_disjoint(&show.nouns()));
            ranked.push(((strange * 3 + show.needs() * 2 + lists / 3, verb, lists), Pair { create, show }));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, pair)| pair).collect()
}

/// Why there is no pair.
pub(super) fn why_none(tools: &[Tool]) -> String {
    if tools.is_empty() {
        return "it has no tools".into();
    }
    let names = tools.iter().take(12).map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ");
    let creates = tools.iter().any(|tool| tool.creates().is_some());
    let outside = tools.iter().find(|tool| tool.reaches_outside).map_or(String::new(), |tool| {
        format!("; {} and others that reach outside of the server (openWorldHint) are left alone", tool.name)
    });
    let missing = if creates { "no tool that lists what is created" } else { "no tool that creates something" };
    format!("{missing} was found among {} tools: {names}{outside}", tools.len())
}

/// `createEntities`, `create-entities`, `create_entities`: create, entities.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let starts = c.is_uppercase() && was_small;
        was_small = c.is_lowercase() || c.is_numeric();
        if starts || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn singular(word: &str) -> String {
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> Vec<Tool> {
        names.iter().filter_map(|name| Tool::new(&json!({"name": name}))).collect()
    }

    fn first(names: &[&str]) -> Option<(String, String)> {
        pairs(&tools(names)).first().map(|pair| (pair.create.name.clone(), pair.show.name.clone()))
    }

    fn named(create: &str, show: &str) -> Option<(String, String)> {
        Some((create.into(), show.into()))
    }

    #[test]
    fn names_are_read_as_people_write_them() {
        assert_eq!(words("createEntities"), ["create", "entities"]);
        assert_eq!(words("memory-store_v2"), ["memory", "store", "v2"]);
        assert_eq!(
            (singular("entities"), singular("notes"), singular("bus")),
            ("entity".into(), "note".into(), "bus".into())
        );
    }

    #[test]
    fn the_likeliest_pair_comes_first() {
        let memory =
            ["create_entities", "create_relations", "delete_entities", "read_graph", "search_nodes", "open_nodes"];
        assert_eq!(first(&memory), named("create_entities", "read_graph"));
        assert_eq!(first(&["list_users", "list_notes", "add_note"]), named("add_note", "list_notes"));
        assert_eq!(first(&["getNotes", "saveNote", "searchNotes"]), named("saveNote", "getNotes"));
    }

    #[test]
    fn what_destroys_sends_or_reaches_outside_is_left_alone() {
        assert_eq!(first(&["delete_note", "send_note", "list_notes", "run_insert"]), None);
        let outside = json!({"name": "create_issue", "annotations": {"openWorldHint": true}});
        let overwrites = json!({"name": "write_file", "annotations": {"destructiveHint": true}});
        let read = json!({"name": "list_all"});
        let tools: Vec<Tool> = [outside, overwrites, read].iter().filter_map(Tool::new).collect();
        assert!(pairs(&tools).is_empty());
        assert!(why_none(&tools).contains("create_issue and others that reach outside"), "{}", why_none(&tools));
    }

    #[test]
    fn a_tool_that_says_that_it_only_reads_never_creates() {
        let told = json!({"name": "add_up", "annotations": {"readOnlyHint": true}});
        let tools: Vec<Tool> = [told, json!({"name": "list_all"})].iter().filter_map(Tool::new).collect();
        assert!(pairs(&tools).is_empty());
        assert!(why_none(&tools).starts_with("no tool that creates"));
    }
}
