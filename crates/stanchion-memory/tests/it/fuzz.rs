//! Mutated memory files: nothing is dropped in silence, what is sound is read, and what is read can be written.

use serde_json::Value;
use stanchion_memory::{
    Entity, FileMemory, FileOptions, Memory as _, Mutation, Query, Selection, check, from_jsonl, to_jsonl,
};
use stanchion_testkit::fuzz::Target;

const SEEDS: &[&str] = &[
    "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"likes looms\",\"\\u00e9\\ud83d\\ude00\"]}\n{\"type\":\"entity\",\"name\":\"Bob\",\"entityType\":\"person\",\"observations\":[]}\n{\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Bob\",\"relationType\":\"knows\"}\n",
    "\u{feff}{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"t\",\"observations\":[\"1\"],\"dev.stanchion/continues\":true}\r\n{\"type\":\"entity\",\"name\":\"B\",\"entityType\":\"t\",\"observations\":[\"2\"]}\r\n",
    "{\"entities\":[{\"name\":\"A\",\"entityType\":\"t\",\"observations\":[\"x\"]}],\n\"relations\":[{\"from\":\"A\",\"to\":\"B\",\"relationType\":\"r\"}]}",
    "[{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"t\",\"observations\":[]},\n{\"type\":\"relation\",\"from\":\"A\",\"to\":\"B\",\"relationType\":\"r\"}]",
    "{\"type\":\"note\",\"text\":\"kept\"}\noops\n{\"type\":\"entity\",\"name\":\"half",
];

/// Whether the official server reads the line as a part of the graph.
fn is_sound(line: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return false };
    let text = |name: &str| value[name].is_string();
    let texts = |name: &str| value[name].as_array().is_some_and(|all| all.iter().all(Value::is_string));
    match value["type"].as_str() {
        Some("entity") => text("name") && text("entityType") && texts("observations"),
        Some("relation") => text("from") && text("to") && text("relationType"),
        _ => false,
    }
}

fn look(bytes: &[u8]) -> Result<(), String> {
    let (graph, damaged) = from_jsonl(bytes);
    let again = from_jsonl(&to_jsonl(&graph));
    if again != (graph.clone(), Vec::new()) {
        return Err(format!("read, written and read again it is {again:?}"));
    }
    let lines = bytes.split(|byte| *byte == b'\n').count();
    if let Some(out) = damaged
        .iter()
        .find(|one| one.line == 0 || one.line > lines.max(graph.entities.len() + damaged.len() + graph.relations.len()))
    {
        return Err(format!("line {} of {lines}: {}", out.line, out.reason));
    }
    let is_document = matches!(bytes.trim_ascii_start().first(), Some(b'[')) || bytes.starts_with(b"\xef\xbb\xbf") || {
        let first = bytes.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
        first.starts_with(b"{") && serde_json::from_slice::<Value>(first).map_or(true, |value| value["type"].is_null())
    };
    if is_document {
        return Ok(());
    }
    let sound = bytes.split(|byte| *byte == b'\n').filter(|line| is_sound(line.trim_ascii())).count();
    let read = graph.entities.len() + graph.relations.len();
    // A call of several lines whose last one is missing belongs to nobody.
    let unfinished = damaged.iter().any(|one| one.bytes.windows(9).any(|part| part == b"continues"));
    if read < sound && !unfinished {
        return Err(format!("{sound} lines are sound, {read} are read"));
    }
    Ok(())
}

#[test]
fn mutated_files_are_read_without_silence() {
    Target::text("jsonl", SEEDS.iter().copied()).run(look);
}

fn sorted(mut graph: Selection) -> Vec<String> {
    let mut all: Vec<String> = graph.entities.drain(..).map(|one| format!("{one:?}")).collect();
    all.extend(graph.relations.drain(..).map(|one| format!("{one:?}")));
    all.sort();
    all
}

/// What is read of a file is in it after the next write, together with what was written, and the file is sound then.
#[test]
fn mutated_files_are_written_without_loss() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    Target::text("jsonl-file", SEEDS.iter().copied()).run(|input| {
        // Each has a file of its own: nothing that is known of one is true of the next.
        count.set(count.get() + 1);
        if std::env::var_os("STANCHION_FUZZ_SECONDS").is_none() && count.get() % 10 != 0 {
            return Ok(());
        }
        let home = folder.path().join(count.get().to_string());
        std::fs::create_dir(&home).unwrap();
        let path = home.join("memory.jsonl");
        std::fs::write(&path, input).unwrap();
        let looked = runtime.block_on(async {
            let memory = FileMemory::open(&path, FileOptions::default()).map_err(|e| e.to_string())?;
            let (before, _) = memory.read(Query::All).await.map_err(|e| e.to_string())?;
            let new = Entity { name: "new \u{1f9f5}".into(), entity_type: "t".into(), observations: vec![] };
            memory.change(Mutation::CreateEntities(vec![new.clone()])).await.map_err(|e| e.to_string())?;
            let mut expected = before;
            expected.entities.push(new);
            let (after, _) = memory.read(Query::All).await.map_err(|e| e.to_string())?;
            let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
            let (expected, after, alone) = (sorted(expected), sorted(after), sorted(from_jsonl(&bytes).0));
            if expected != after || after != alone {
                return Err(format!("{expected:?} were expected, {after:?} are told, {alone:?} are in the file"));
            }
            match check(&path) {
                Ok(checked) if checked.is_sound() => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
        std::fs::remove_dir_all(&home).unwrap();
        looked
    });
}
