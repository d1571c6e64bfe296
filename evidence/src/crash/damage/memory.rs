//! The memory file has no checksums: a changed letter inside a text is another text. Whatever is no line any more is told, and no other line is touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use stanchion_memory::{
    Entity, FileMemory, FileOptions, Memory as _, Mutation, Notice, Query, Selection, check, from_jsonl,
};

use super::super::memory::mutation_of_all_kinds;
use super::{Damage, Effect, Tried, failed, try_all};

/// A file as our own writers leave it.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    async fn new() -> io::Result<Self> {
        let home = Self { folder: tempfile::tempdir()? };
        let memory = FileMemory::open(home.file(), FileOptions::default()).map_err(failed)?;
        // The large one would only take longer.
        let small = |mutation: &Mutation| !format!("{mutation:?}").contains("xxxx");
        for mutation in mutation_of_all_kinds().into_iter().filter(small) {
            memory.change(mutation).await.map_err(failed)?;
        }
        Ok(home)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("memory.jsonl")
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join(".memory.jsonl.stanchion/state")
    }
}

/// Everything that a new process says and leaves, which reads and then writes.
struct Seen {
    read: Selection,
    written: Selection,
    notices: Vec<Notice>,
}

async fn look(path: &Path) -> Result<Seen, String> {
    let memory = FileMemory::open(path, FileOptions::default()).map_err(|e| e.to_string())?;
    let (read, mut notices) = memory.read(Query::All).await.map_err(|e| e.to_string())?;
    let new = Entity { name: "new".into(), entity_type: "t".into(), observations: vec![] };
    let changed = memory.change(Mutation::CreateEntities(vec![new.clone()])).await.map_err(|e| e.to_string())?;
    notices.extend(changed.notices);
    let (mut written, more) = memory.read(Query::All).await.map_err(|e| e.to_string())?;
    notices.extend(more);
    written.entities.retain(|one| *one != new);
    match check(path).map_err(|e| e.to_string())?.is_sound() {
        true => Ok(Seen { read, written, notices }),
        false => Err("not sound after a write".to_owned()),
    }
}

/// Each line as what it stands for.
fn parts(graph: &Selection) -> Vec<String> {
    let entities = graph.entities.iter().map(|one| format!("{one:?}"));
    entities.chain(graph.relations.iter().map(|one| format!("{one:?}"))).collect()
}

fn judge(bytes: &[u8], damage: Damage, seen: &Seen) -> Result<Effect, String> {
    let (read, written) = (parts(&seen.read), parts(&seen.written));
    if read != written {
        return Err(format!("{read:?} were read, {written:?} are there after a write"));
    }
    let at = match damage {
        Damage::Cut(at) | Damage::Flip(at) => at,
    };
    // The lines that are as they were. A changed line end touches two.
    let (mut start, mut sound, mut all) = (0, Vec::new(), Vec::new());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        let joined_before = matches!(damage, Damage::Flip(at) if at + 1 == start);
        let is_sound = match damage {
            // Without its line end the last one is whole all the same.
            Damage::Cut(at) => end <= at + 1,
            Damage::Flip(at) => !(start..end).contains(&at) && !joined_before,
        };
        let part = parts(&from_jsonl(line).0);
        all.extend(part.clone());
        if is_sound {
            sound.extend(part);
        }
        start = end;
    }
    if let Some(missing) = sound.iter().find(|part| !read.contains(part)) {
        return Err(format!("{missing} is gone, and was not damaged"));
    }
    let told = seen.notices.iter().any(|notice| notice.kind == "file_damaged");
    let at_an_end = at == 0 || bytes.get(at - 1) == Some(&b'\n') || bytes.get(at) == Some(&b'\n');
    match (read == all, damage) {
        (true, _) => Ok(Effect::Same),
        (false, _) if told => Ok(Effect::Told),
        (false, Damage::Cut(_)) if at_an_end => Ok(Effect::Prefix),
        (false, Damage::Flip(_)) => Ok(Effect::Unseen),
        (false, Damage::Cut(_)) => Err("half a line is left out, and nobody is told".to_owned()),
    }
}

fn with(every: usize, until: Instant, file: fn(&Home) -> PathBuf) -> io::Result<Tried> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let size = fs::metadata(file(&runtime.block_on(Home::new())?))?.len();
    try_all(usize::try_from(size).map_err(failed)?, every, until, |damage| {
        let home = runtime.block_on(Home::new())?;
        let (path, bytes) = (home.file(), fs::read(home.file())?);
        damage.apply(&file(&home))?;
        let of_record = file(&home) == home.record();
        Ok(match runtime.block_on(look(&path)) {
            Err(said) => Err(format!("refused: {said}")),
            Ok(seen) if of_record => match parts(&seen.written) == parts(&from_jsonl(&bytes).0) {
                true => Ok(Effect::Same),
                false => Err("the graph is another".to_owned()),
            },
            Ok(seen) => judge(&bytes, damage, &seen),
        })
    })
}

pub(super) fn file(every: usize, until: Instant) -> io::Result<Tried> {
    with(every, until, Home::file)
}

pub(super) fn record(every: usize, until: Instant) -> io::Result<Tried> {
    with(every, until, Home::record)
}
