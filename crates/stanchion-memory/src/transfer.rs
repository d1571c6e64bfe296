//! A graph as a file, and back.

use std::collections::{HashMap, HashSet};

use crate::{
    Added, Addition, Damaged, Entity, Memory, MemoryError, Mutation, Notice, Outcome, Query, Relation, from_jsonl,
    to_jsonl,
};

/// So many entities or relations are one mutation.
const CHUNK: usize = 500;
/// How often an entity may be deleted by somebody else while we add to it.
const TRIES: usize = 5;

/// What an import came to.
///
/// ```
/// assert_eq!(stanchion_memory::Imported::default().entities_created, 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Imported {
    /// Entities that were new.
    pub entities_created: usize,
    /// Entities that were there and got observations that they lacked.
    pub entities_merged: usize,
    /// Entities that were there with all their observations.
    pub entities_skipped: usize,
    /// Entities that were there, or were met in the file before, with another type. The first type was kept.
    pub types_kept: usize,
    /// Relations that were new.
    pub relations_created: usize,
    /// Relations that were there.
    pub relations_skipped: usize,
    /// What could not be understood, and is not in the graph.
    pub damaged: Vec<Damaged>,
    /// What was said on the way.
    pub notices: Vec<Notice>,
}

/// The whole graph as the official server's file: entities, then relations, each in the order of the graph.
///
/// # If it fails
/// The graph cannot be read.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_memory::{SharedMemory, export};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let memory = SharedMemory::new(Arc::new(stanchion_core::MemoryStore::new()), "memory")?;
/// assert_eq!(export(&memory).await?, b"");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub async fn export(memory: &dyn Memory) -> Result<Vec<u8>, MemoryError> {
    let (graph, notices) = memory.read(Query::All).await?;
    for notice in notices {
        tracing::warn!(kind = notice.kind, "{notice}");
    }
    Ok(to_jsonl(&graph))
}

/// Adds what is in a file (lines, or one document) and not in the graph: entities, observations of entities that are there, and
/// relations. Nothing is removed. Done twice, it changes nothing more; if it was interrupted, do it again.
///
/// A name that is twice in the file is one entity, with the observations of both.
///
/// # If it fails
/// As [`Memory::change`]. What was added before that stays.
///
/// ```
/// # use std::sync::Arc;
/// # use stanchion_memory::{SharedMemory, import};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let memory = SharedMemory::new(Arc::new(stanchion_core::MemoryStore::new()), "memory")?;
/// let file = br#"{"type":"entity","name":"Ada","entityType":"person","observations":[]}"#;
/// assert_eq!(import(&memory, file).await?.entities_created, 1);
/// assert_eq!(import(&memory, file).await?.entities_skipped, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub async fn import(memory: &dyn Memory, bytes: &[u8]) -> Result<Imported, MemoryError> {
    let (graph, damaged) = from_jsonl(bytes);
    let mut imported = Imported { damaged, ..Imported::default() };
    for entities in one_of_each_name(graph.entities, &mut imported.types_kept).chunks(CHUNK) {
        import_entities(memory, entities, &mut imported).await?;
    }
    let mut known = HashSet::new();
    let all = graph.relations.len();
    let relations: Vec<Relation> = graph.relations.into_iter().filter(|one| known.insert(one.clone())).collect();
    for relations in relations.chunks(CHUNK) {
        let changed = memory.change(Mutation::CreateRelations(relations.to_vec())).await?;
        imported.notices.extend(changed.notices);
        if let Outcome::Relations(created) = changed.outcome {
            imported.relations_created += created.len();
        }
    }
    imported.relations_skipped = all - imported.relations_created;
    Ok(imported)
}

/// A call that names an entity twice would create it twice.
fn one_of_each_name(all: Vec<Entity>, types_kept: &mut usize) -> Vec<Entity> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Entity> = Vec::with_capacity(all.len());
    for entity in all {
        let at = *places.entry(entity.name.clone()).or_insert(kept.len());
        match kept.get_mut(at) {
            Some(first) => {
                let more = missing(&first.observations, &entity.observations);
                first.observations.extend(more);
                *types_kept += usize::from(first.entity_type != entity.entity_type);
            }
            None => kept.push(entity),
        }
    }
    kept
}

/// What is in `wanted` and not in `known`, once.
fn missing(known: &[String], wanted: &[String]) -> Vec<String> {
    let mut known: HashSet<&str> = known.iter().map(String::as_str).collect();
    wanted.iter().filter(|text| known.insert(text)).cloned().collect()
}

async fn import_entities(memory: &dyn Memory, entities: &[Entity], imported: &mut Imported) -> Result<(), MemoryError> {
    let mut created: HashSet<String> = HashSet::new();
    for nth in 1.. {
        let changed = memory.change(Mutation::CreateEntities(entities.to_vec())).await?;
        imported.notices.extend(changed.notices);
        if let Outcome::Entities(new) = changed.outcome {
            created.extend(new.into_iter().map(|one| one.name));
        }
        let there: Vec<&Entity> = entities.iter().filter(|one| !created.contains(&one.name)).collect();
        match merge(memory, &there, imported).await {
            // Somebody deleted it in between: then it is a new one.
            Err(MemoryError::NotFound(_)) if nth < TRIES => {}
            merged => {
                let (merged, types_kept) = merged?;
                imported.entities_created += created.len();
                imported.entities_merged += merged;
                imported.entities_skipped += there.len() - merged;
                imported.types_kept += types_kept;
                break;
            }
        }
    }
    Ok(())
}

/// Adds what the entities that are there lack. How many lacked anything, and how many have another type.
async fn merge(memory: &dyn Memory, there: &[&Entity], imported: &mut Imported) -> Result<(usize, usize), MemoryError> {
    if there.is_empty() {
        return Ok((0, 0));
    }
    let (graph, notices) = memory.read(Query::Open(there.iter().map(|one| one.name.clone()).collect())).await?;
    imported.notices.extend(notices);
    let mut known: HashMap<&str, &Entity> = HashMap::new();
    for entity in &graph.entities {
        known.entry(&entity.name).or_insert(entity);
    }
    let mut types_kept = 0;
    let mut additions = Vec::new();
    for entity in there {
        let known = known.get(&*entity.name);
        types_kept += usize::from(known.is_some_and(|known| known.entity_type != entity.entity_type));
        // One that is not there any more is asked for all the same, so that we hear of it.
        let contents = missing(known.map_or(&[], |known| &known.observations), &entity.observations);
        if known.is_none() || !contents.is_empty() {
            additions.push(Addition { entity_name: entity.name.clone(), contents });
        }
    }
    if additions.is_empty() {
        return Ok((0, types_kept));
    }
    let changed = memory.change(Mutation::AddObservations(additions)).await?;
    imported.notices.extend(changed.notices);
    let Outcome::Observations(added) = changed.outcome else { return Ok((0, types_kept)) };
    let got = |one: &&Added| !one.added_observations.is_empty();
    Ok((added.iter().filter(got).count(), types_kept))
}
