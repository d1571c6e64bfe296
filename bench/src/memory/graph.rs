//! The graph that a server finds when it starts, and the names in it.

use std::fmt::Write as _;

/// A graph of so many entities; every fifth has a relation to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Graph {
    pub(super) size: u64,
}

/// Far from every size, so that calls in a row touch entities which are far from each other in the file.
const STRIDE: u64 = 7919;

impl Graph {
    /// The file as the official server writes it: entities, relations, no newline at the end.
    pub(super) fn text(self) -> String {
        let mut text = String::new();
        for n in 0..self.size {
            let name = seeded(n);
            let third = if n % 2 == 0 { r#","seen in the review""# } else { "" };
            writeln!(
                text,
                r#"{{"type":"entity","name":"{name}","entityType":"component","observations":["{}","depends on the release of week {}"{third}]}}"#,
                marker(&name),
                n % 52,
            )
            .ok();
        }
        for n in (0..self.size).step_by(5) {
            let (from, to) = (seeded(n), seeded((n + 1) % self.size));
            writeln!(text, r#"{{"type":"relation","from":"{from}","to":"{to}","relationType":"is built before"}}"#)
                .ok();
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// An entity that is there: of the file, or, where that was empty, one of `made` that the run has created.
    pub(super) fn known(self, n: u64, made: u64) -> String {
        match self.size {
            0 => created(0, n % made.max(1)),
            size => seeded(n.wrapping_mul(STRIDE) % size),
        }
    }
}

fn seeded(n: u64) -> String {
    format!("component-{n:06}")
}

/// What call `n` of a process creates.
pub(super) fn created(process: u64, n: u64) -> String {
    format!("created-{process}-{n:06}")
}

/// An observation that only this entity has: a search for its last word finds one.
pub(super) fn marker(name: &str) -> String {
    format!("is listed in the register as reg:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_size_of_real_ones_and_parse() {
        let text = Graph { size: 1000 }.text();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines.len(), lines[0]["observations"].as_array().unwrap().len()), (1200, 3));
        let entity = text.lines().next().unwrap();
        assert!((140..200).contains(&entity.len()), "{}", entity.len());
        assert!(!text.ends_with('\n') && Graph { size: 0 }.text().is_empty());
    }

    #[test]
    fn known_entities_are_in_the_file_and_differ() {
        let graph = Graph { size: 1000 };
        let (text, names) = (graph.text(), [0, 1, 2].map(|n| graph.known(n, 0)));
        assert!(names.iter().all(|name| text.contains(&format!("\"name\":\"{name}\""))), "{names:?}");
        assert!(names[0] != names[1] && names[1] != names[2]);
        assert_eq!(Graph { size: 0 }.known(7, 3), created(0, 1));
    }
}
