//! What is not shown: a diff is copied into chats and logs, and configurations are full of keys.

use std::collections::HashMap;

use super::server::Launch;
use super::splice::{Splice, quoted};
use super::tree::{Node, Word};

const MASK: &str = "…";

/// Members whose text is plain everywhere.
const PLAIN: [&str; 4] = ["type", "transport", "name", "source"];

const TELLING: [&str; 9] = ["key", "token", "secret", "passw", "auth", "credential", "bearer", "cookie", "session"];

const PREFIXES: [&str; 8] = ["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xox", "AKIA", "eyJ"];

/// Every text of the file but commands, and those arguments that look harmless.
pub(super) fn hidden(root: &Node, launches: &[&Launch], source: &str) -> Vec<Splice> {
    let mut shown = HashMap::new();
    for launch in launches {
        let masked = masked(&launch.words);
        shown.extend(launch.words.iter().map(|word| word.span.start).zip(masked));
    }
    let mut out = Vec::new();
    collect(root, false, &shown, source, &mut out);
    out
}

fn collect(node: &Node, plain: bool, shown: &HashMap<usize, String>, source: &str, out: &mut Vec<Splice>) {
    match node {
        Node::Text(word) => {
            let text = match shown.get(&word.span.start) {
                Some(text) if *text == word.value => return,
                Some(text) => text.as_str(),
                None if plain => return,
                None => MASK,
            };
            // As many lines as before, so that the numbers of lines stay right.
            let lines = source[word.span.clone()].matches('\n').count();
            out.push(Splice { span: word.span.clone(), text: quoted(text) + &"\n".repeat(lines) });
        }
        Node::List(list) => list.items.iter().for_each(|item| collect(item, plain, shown, source, out)),
        Node::Map(map) => {
            for member in &map.members {
                collect(&member.value, PLAIN.contains(&member.name.as_str()), shown, source, out);
            }
        }
        Node::Other => {}
    }
}

/// A command line for a person.
pub(super) fn masked(words: &[Word]) -> Vec<String> {
    // The word before decides too: `--token abc`.
    let before = std::iter::once("").chain(words.iter().map(|word| word.value.as_str()));
    words.iter().zip(before).map(|(word, before)| mask(&word.value, before)).collect()
}

fn telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|part| name.contains(part))
}

fn mask(word: &str, before: &str) -> String {
    if before.starts_with('-') && !before.contains('=') && telling(before) && !word.starts_with('-') {
        return MASK.to_owned();
    }
    if PREFIXES.iter().any(|prefix| word.starts_with(prefix)) || word.to_ascii_lowercase().contains("bearer ") {
        return MASK.to_owned();
    }
    if let Some((scheme, rest)) = word.split_once("://") {
        let rest = match rest.split_once('@') {
            Some((user, host)) if !user.contains('/') => format!("{MASK}@{host}"),
            _ => rest.to_owned(),
        };
        let rest = rest.split_once('?').map_or(rest.clone(), |(path, _)| format!("{path}?{MASK}"));
        return format!("{scheme}://{rest}");
    }
    match word.split_once(['=', ':']) {
        Some((name, value)) if telling(name) && !value.is_empty() => format!("{}{MASK}", &word[..=name.len()]),
        _ => word.to_owned(),
    }
}
