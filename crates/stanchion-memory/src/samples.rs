//! Small things for tests.

use crate::{Entity, Relation};

pub(crate) fn entity(name: &str, observations: &[&str]) -> Entity {
    let observations = observations.iter().map(|&text| text.into()).collect();
    Entity { name: name.into(), entity_type: "t".into(), observations }
}

pub(crate) fn relation(from: &str, to: &str) -> Relation {
    Relation { from: from.into(), to: to.into(), relation_type: "r".into() }
}
