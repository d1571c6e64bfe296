//! Which store for what. `docs/choosing.md` has the same rows, and a test compares them.

use comfy_table::{Table, presets};
use stanchion_stores::BACKENDS;

use crate::exit::print;

/// A need, the stores for it, and why.
type Row = (&'static str, &'static str, &'static str);

const START: &[Row] = &[
    (
        "one machine, nothing to install",
        "sqlite:",
        "the default: one file, no server, kernel locks that end with their process",
    ),
    ("one machine, locks for scripts only", "file:", "a folder of lock files, and no database"),
    (
        "several machines, Redis or Valkey is there",
        "redis:",
        "one round trip from memory; turn on AOF to make it durable",
    ),
    (
        "several machines, PostgreSQL is there",
        "postgres:",
        "on disk at the answer; locks, records and your data in one database",
    ),
    (
        "several machines, the strongest promise",
        "etcd:",
        "a majority of machines has every write; no single one can lose it",
    ),
];

const NEEDS: &[Row] = &[
    (
        "contention: many wait for one lock",
        "redis: postgres: mysql: etcd: zookeeper: consul:",
        "a queue in order of arrival, handed on by notification",
    ),
    ("latency: the fastest lock", "file: sqlite:", "no network; between machines redis:"),
    (
        "safety: a power cut loses nothing",
        "postgres: sqlite: redis:",
        "postgres: always for records; the others with durability=power",
    ),
    (
        "safety: a machine may die for good",
        "etcd: zookeeper: consul: nats: dynamodb:",
        "a majority has every acknowledged write; nats: with replicas=3",
    ),
    (
        "safety: a paused holder must not write",
        "any but file:",
        "hand its fence to what you protect; with kernel locks it keeps the lock instead",
    ),
    (
        "several Redis that do not know each other",
        "redlock:",
        "to save double work; where a double effect does harm, use another",
    ),
    ("MySQL or MariaDB is there", "mysql:", "lease rows beside your data"),
    ("ZooKeeper is there", "zookeeper:", "ephemeral nodes in a queue; a lost session is a lost lock"),
    ("Consul is there", "consul:", "sessions; takeover takes its session ttl and lock-delay"),
    ("NATS is there", "nats:", "JetStream key-value buckets"),
    ("only AWS is there", "dynamodb:", "conditional writes; waiters poll, and takeover takes a whole ttl of watching"),
    ("tests inside one process", "memory:", "nothing stays"),
];

pub(super) fn run() {
    print("A store is chosen with --store URL. Without one, the embedded store of this machine is used.");
    print("`stanchion doctor --store URL` says what weakens the promises of the one you have.\n");
    print(&table("START HERE", START));
    print("");
    print(&table("BY NEED", NEEDS));
    print("");
    for backend in BACKENDS {
        print(&format!("{}\n", backend.help()));
    }
    let missing = missing();
    if !missing.is_empty() {
        print(&format!(
            "Not in this build: {}. Install with --features NAME, or with --features full.",
            missing.join(" ")
        ));
    }
}

fn table(heading: &str, rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([heading, "USE", "BECAUSE"]);
    for (need, stores, because) in rows {
        table.add_row([*need, *stores, *because]);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Stores of the tables that this build cannot open.
fn missing() -> Vec<&'static str> {
    let named = START.iter().chain(NEEDS).flat_map(|(_, stores, _)| stores.split(' '));
    let mut missing: Vec<_> = named.filter(|word| word.ends_with(':') && !is_here(word)).collect();
    missing.retain(|word| *word != "file:");
    missing.sort_unstable();
    missing.dedup();
    missing
}

fn is_here(scheme: &str) -> bool {
    BACKENDS.iter().any(|backend| backend.schemes().contains(&scheme.trim_end_matches(':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_same_rows() {
        let document = include_str!("../../../../docs/choosing.md");
        for (need, stores, because) in START.iter().chain(NEEDS) {
            let quoted = |word: &str| if word.ends_with(':') { format!("`{word}`") } else { word.to_owned() };
            let stores = stores.split(' ').map(quoted).collect::<Vec<_>>().join(" ");
            let because = because.split(' ').map(quoted).collect::<Vec<_>>().join(" ");
            let row = format!("| {need} | {stores} | {because} |");
            assert!(document.contains(&row), "docs/choosing.md lacks {row}");
        }
        for backend in BACKENDS {
            let scheme = format!("`{}:`", backend.schemes()[0]);
            assert!(document.contains(&format!("| {scheme} |")), "docs/choosing.md has no row for {scheme}");
        }
    }
}
