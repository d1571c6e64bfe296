//! The graph in memory, with the official server's own rules. It knows nothing of files.

mod entity;
mod mutation;
mod plan;
mod search;

use std::hash::{BuildHasher as _, RandomState};

use hashbrown::HashTable;

pub use self::entity::{Entity, Relation};
pub use self::mutation::{Added, Addition, Deletion, EntityNotFound, Mutation, Outcome};
pub use self::plan::Plan;
pub use self::search::{Query, Selection};

/// Entities and relations, in the order of their file.
///
/// ```
/// use stanchion_memory::{Entity, Graph, Mutation, Query};
/// let mut graph = Graph::default();
/// let ada = Entity { name: "Ada".into(), entity_type: "person".into(), observations: vec!["likes looms".into()] };
/// let (plan, _) = graph.plan(&Mutation::CreateEntities(vec![ada]))?;
/// graph.apply(plan);
/// assert_eq!(graph.select(&Query::Search("LOOM".into())).entities[0].name, "Ada");
/// # Ok::<(), stanchion_memory::EntityNotFound>(())
/// ```
#[derive(Debug, Default)]
pub struct Graph {
    entities: Vec<Entity>,
    relations: Vec<Relation>,
    /// The first entity of each name. A file may hold a name twice: then the first is meant, as with the official server.
    names: HashTable<u32>,
    triples: HashTable<u32>,
    hasher: RandomState,
}

impl Graph {
    /// A graph of these, in this order.
    ///
    /// ```
    /// assert!(stanchion_memory::Graph::new(vec![], vec![]).entities().is_empty());
    /// ```
    #[must_use]
    pub fn new(entities: Vec<Entity>, relations: Vec<Relation>) -> Self {
        let mut graph = Self { entities, relations, ..Self::default() };
        graph.index_entities();
        graph.index_relations();
        graph
    }

    /// All entities, in the order of the file.
    ///
    /// ```
    /// assert!(stanchion_memory::Graph::default().entities().is_empty());
    /// ```
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// All relations, in the order of the file.
    ///
    /// ```
    /// assert!(stanchion_memory::Graph::default().relations().is_empty());
    /// ```
    #[must_use]
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Its parts, in the order of the file.
    ///
    /// ```
    /// assert!(stanchion_memory::Graph::default().into_selection().entities.is_empty());
    /// ```
    #[must_use]
    pub fn into_selection(self) -> Selection {
        Selection { entities: self.entities, relations: self.relations }
    }

    /// Adds one more entity at the end, also if there is one of this name.
    ///
    /// ```
    /// # use stanchion_memory::{Entity, Graph};
    /// let mut graph = Graph::default();
    /// graph.push_entity(Entity { name: "Ada".into(), entity_type: "person".into(), observations: vec![] });
    /// assert_eq!(graph.entities().len(), 1);
    /// ```
    pub fn push_entity(&mut self, entity: Entity) {
        let (at, hash) = (place(self.entities.len()), self.hasher.hash_one(&entity.name));
        self.entities.push(entity);
        let (entities, hasher) = (&self.entities, &self.hasher);
        let same = |other: &u32| entities[*other as usize].name == entities[at as usize].name;
        if self.names.find(hash, same).is_none() {
            self.names.insert_unique(hash, at, |other| hasher.hash_one(&entities[*other as usize].name));
        }
    }

    /// Adds one more relation at the end, also if it is there.
    ///
    /// ```
    /// # use stanchion_memory::{Graph, Relation};
    /// let mut graph = Graph::default();
    /// graph.push_relation(Relation { from: "Ada".into(), to: "Charles".into(), relation_type: "knows".into() });
    /// assert_eq!(graph.relations().len(), 1);
    /// ```
    pub fn push_relation(&mut self, relation: Relation) {
        let (at, hash) = (place(self.relations.len()), self.hasher.hash_one(&relation));
        self.relations.push(relation);
        let (relations, hasher) = (&self.relations, &self.hasher);
        let same = |other: &u32| relations[*other as usize] == relations[at as usize];
        if self.triples.find(hash, same).is_none() {
            self.triples.insert_unique(hash, at, |other| hasher.hash_one(&relations[*other as usize]));
        }
    }

    /// Where the (first) entity of this name is.
    fn find(&self, name: &str) -> Option<usize> {
        let same = |at: &u32| self.entities[*at as usize].name == name;
        self.names.find(self.hasher.hash_one(name), same).map(|at| *at as usize)
    }

    fn has(&self, relation: &Relation) -> bool {
        let same = |at: &u32| self.relations[*at as usize] == *relation;
        self.triples.find(self.hasher.hash_one(relation), same).is_some()
    }

    fn index_entities(&mut self) {
        self.names.clear();
        let entities = std::mem::take(&mut self.entities);
        self.entities.reserve(entities.len());
        entities.into_iter().for_each(|entity| self.push_entity(entity));
    }

    fn index_relations(&mut self) {
        self.triples.clear();
        let relations = std::mem::take(&mut self.relations);
        self.relations.reserve(relations.len());
        relations.into_iter().for_each(|relation| self.push_relation(relation));
    }
}

/// Places are kept small. A graph of four billion entities does not fit into memory anyway.
fn place(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
