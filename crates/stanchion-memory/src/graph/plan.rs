//! What a mutation changes, worked out before anything is written.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Added, Addition, Deletion, Entity, EntityNotFound, Graph, Mutation, Outcome, Relation};

/// The difference between the graph before and after. Places are those of [`Graph::entities`] and [`Graph::relations`]
/// before it is applied.
///
/// ```
/// use stanchion_memory::{Entity, Graph, Mutation};
/// let ada = Entity { name: "Ada".into(), entity_type: "person".into(), observations: vec![] };
/// let (plan, _) = Graph::default().plan(&Mutation::CreateEntities(vec![ada]))?;
/// assert!(plan.only_adds());
/// # Ok::<(), stanchion_memory::EntityNotFound>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// To be added at the end.
    pub new_entities: Vec<Entity>,
    /// To be added at the end.
    pub new_relations: Vec<Relation>,
    /// Which entities have these observations now.
    pub observations: BTreeMap<usize, Vec<String>>,
    /// Which entities go.
    pub gone_entities: BTreeSet<usize>,
    /// Which relations go.
    pub gone_relations: BTreeSet<usize>,
}

impl Plan {
    /// Nothing has to be written.
    ///
    /// ```
    /// assert!(stanchion_memory::Plan::default().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is there stays as it is.
    ///
    /// ```
    /// assert!(stanchion_memory::Plan::default().only_adds());
    /// ```
    #[must_use]
    pub fn only_adds(&self) -> bool {
        self.observations.is_empty() && self.gone_entities.is_empty() && self.gone_relations.is_empty()
    }
}

impl Graph {
    /// What the mutation would change, and what its caller is told. Changes nothing.
    ///
    /// # If it fails
    /// Observations are only added to entities that are there.
    ///
    /// ```
    /// use stanchion_memory::{Addition, Graph, Mutation};
    /// let additions = vec![Addition { entity_name: "Ada".into(), contents: vec!["likes looms".into()] }];
    /// let error = Graph::default().plan(&Mutation::AddObservations(additions)).unwrap_err();
    /// assert_eq!(error.to_string(), "Entity with name Ada not found");
    /// ```
    pub fn plan(&self, mutation: &Mutation) -> Result<(Plan, Outcome), EntityNotFound> {
        let mut plan = Plan::default();
        let outcome = match mutation {
            // Compared with what is there, not with each other: the official server does the same.
            Mutation::CreateEntities(entities) => {
                plan.new_entities = entities.iter().filter(|one| self.find(&one.name).is_none()).cloned().collect();
                Outcome::Entities(plan.new_entities.clone())
            }
            Mutation::CreateRelations(relations) => {
                plan.new_relations = relations.iter().filter(|one| !self.has(one)).cloned().collect();
                Outcome::Relations(plan.new_relations.clone())
            }
            Mutation::AddObservations(additions) => Outcome::Observations(self.plan_additions(additions, &mut plan)?),
            Mutation::DeleteEntities(names) => {
                self.plan_removal(names, &mut plan);
                Outcome::Deleted
            }
            Mutation::DeleteObservations(deletions) => {
                self.plan_deletions(deletions, &mut plan);
                Outcome::Deleted
            }
            Mutation::DeleteRelations(relations) => {
                let gone: HashSet<&Relation> = relations.iter().filter(|one| self.has(one)).collect();
                if !gone.is_empty() {
                    plan.gone_relations = places(&self.relations, |one| gone.contains(one));
                }
                Outcome::Deleted
            }
        };
        Ok((plan, outcome))
    }

    fn plan_additions(&self, additions: &[Addition], plan: &mut Plan) -> Result<Vec<Added>, EntityNotFound> {
        let mut results = Vec::with_capacity(additions.len());
        for Addition { entity_name, contents } in additions {
            let at = self.find(entity_name).ok_or_else(|| EntityNotFound(entity_name.clone()))?;
            // An entity that is named twice has what the first added.
            let known = plan.observations.get(&at).unwrap_or(&self.entities[at].observations);
            let new: Vec<String> = contents.iter().filter(|content| !known.contains(content)).cloned().collect();
            if !new.is_empty() {
                let observations =
                    plan.observations.entry(at).or_insert_with(|| self.entities[at].observations.clone());
                observations.extend(new.iter().cloned());
            }
            results.push(Added { entity_name: entity_name.clone(), added_observations: new });
        }
        Ok(results)
    }

    fn plan_removal(&self, names: &[String], plan: &mut Plan) {
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        plan.gone_entities = places(&self.entities, |one| names.contains(&*one.name));
        plan.gone_relations = places(&self.relations, |one| names.contains(&*one.from) || names.contains(&*one.to));
    }

    fn plan_deletions(&self, deletions: &[Deletion], plan: &mut Plan) {
        for Deletion { entity_name, observations: gone } in deletions {
            let Some(at) = self.find(entity_name) else { continue };
            let known = plan.observations.get(&at).unwrap_or(&self.entities[at].observations);
            let left: Vec<String> = known.iter().filter(|one| !gone.contains(one)).cloned().collect();
            if left.len() != known.len() {
                plan.observations.insert(at, left);
            }
        }
    }

    /// Changes the graph as planned. The plan must be one of this graph as it is now.
    ///
    /// ```
    /// let mut graph = stanchion_memory::Graph::default();
    /// graph.apply(stanchion_memory::Plan::default());
    /// assert!(graph.entities().is_empty());
    /// ```
    pub fn apply(&mut self, plan: Plan) {
        let Plan { new_entities, new_relations, observations, gone_entities, gone_relations } = plan;
        for (at, observations) in observations {
            if let Some(entity) = self.entities.get_mut(at) {
                entity.observations = observations;
            }
        }
        if !gone_entities.is_empty() {
            drop_places(&mut self.entities, &gone_entities);
            self.index_entities();
        }
        if !gone_relations.is_empty() {
            drop_places(&mut self.relations, &gone_relations);
            self.index_relations();
        }
        new_entities.into_iter().for_each(|entity| self.push_entity(entity));
        new_relations.into_iter().for_each(|relation| self.push_relation(relation));
    }
}

fn places<T>(all: &[T], is_meant: impl Fn(&T) -> bool) -> BTreeSet<usize> {
    all.iter().enumerate().filter(|(_, one)| is_meant(one)).map(|(at, _)| at).collect()
}

fn drop_places<T>(all: &mut Vec<T>, gone: &BTreeSet<usize>) {
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{entity, relation};

    fn done(graph: &mut Graph, mutation: Mutation) -> Outcome {
        let (plan, outcome) = graph.plan(&mutation).unwrap();
        graph.apply(plan);
        outcome
    }

    #[test]
    fn a_name_given_twice_in_one_call_is_created_twice_and_the_first_is_meant() {
        let mut graph = Graph::default();
        done(&mut graph, Mutation::CreateEntities(vec![entity("a", &["1"]), entity("a", &["2"])]));
        let again = done(&mut graph, Mutation::CreateEntities(vec![entity("a", &["3"]), entity("b", &[])]));
        assert_eq!(again, Outcome::Entities(vec![entity("b", &[])]));
        let more = vec![Addition { entity_name: "a".into(), contents: vec!["x".into()] }];
        done(&mut graph, Mutation::AddObservations(more));
        assert_eq!(graph.entities(), [entity("a", &["1", "x"]), entity("a", &["2"]), entity("b", &[])]);
        done(&mut graph, Mutation::DeleteEntities(vec!["a".into()]));
        assert_eq!(graph.entities(), [entity("b", &[])]);
    }

    #[test]
    fn additions_to_one_entity_see_each_other_and_one_missing_name_changes_nothing() {
        let mut graph = Graph::new(vec![entity("a", &["1"])], vec![]);
        let add = |name: &str, contents: &[&str]| Addition {
            entity_name: name.into(),
            contents: contents.iter().map(|&text| text.into()).collect(),
        };
        let missing = Mutation::AddObservations(vec![add("a", &["2"]), add("b", &["2"])]);
        assert_eq!(graph.plan(&missing), Err(EntityNotFound("b".into())));
        let outcome =
            done(&mut graph, Mutation::AddObservations(vec![add("a", &["1", "2", "2"]), add("a", &["2", "3"])]));
        let added = |contents: &[&str]| Added {
            entity_name: "a".into(),
            added_observations: contents.iter().map(|&text| text.into()).collect(),
        };
        assert_eq!(outcome, Outcome::Observations(vec![added(&["2", "2"]), added(&["3"])]));
        assert_eq!(graph.entities(), [entity("a", &["1", "2", "2", "3"])]);
        let gone = Deletion { entity_name: "a".into(), observations: vec!["2".into()] };
        done(&mut graph, Mutation::DeleteObservations(vec![gone]));
        assert_eq!(graph.entities(), [entity("a", &["1", "3"])]);
    }

    #[test]
    fn an_entity_goes_with_its_relations_and_can_come_back() {
        let relations = vec![relation("a", "b"), relation("b", "c"), relation("c", "d")];
        let mut graph = Graph::new(vec![entity("a", &[]), entity("b", &[])], relations);
        done(&mut graph, Mutation::DeleteEntities(vec!["b".into(), "nobody".into()]));
        assert_eq!((graph.entities().len(), graph.relations()), (1, &[relation("c", "d")][..]));
        let back = done(&mut graph, Mutation::CreateRelations(vec![relation("a", "b"), relation("c", "d")]));
        assert_eq!(back, Outcome::Relations(vec![relation("a", "b")]));
        let (plan, _) = graph.plan(&Mutation::DeleteRelations(vec![relation("x", "y")])).unwrap();
        assert!(plan.is_empty());
    }
}
