//! Variables and fields by name. Most tables have a few entries and a short life: those are looked through one by one, and
//! cost no more memory than they need.

use std::rc::Rc;

use foldhash::HashMap;

/// More entries than this are found by a hash.
const FEW: usize = 16;

/// Entries in the order in which they came.
#[derive(Debug, Clone)]
pub(crate) struct Table<V> {
    entries: Vec<(Rc<str>, V)>,
    /// Where each entry is; empty while there are few.
    places: Option<Box<HashMap<Rc<str>, usize>>>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: None }
    }
}

impl<V> Table<V> {
    fn place(&self, name: &str) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(name).copied(),
            None => self.entries.iter().position(|(known, _)| **known == *name),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.place(name).and_then(|place| self.entries.get(place)).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let place = self.place(name)?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// The entry with its own name, which need not be made again.
    pub(crate) fn entry(&mut self, name: &str) -> Option<(&Rc<str>, &mut V)> {
        let place = self.place(name)?;
        self.entries.get_mut(place).map(|(name, value)| (&*name, value))
    }

    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What was there under this name.
    pub(crate) fn insert(&mut self, name: Rc<str>, value: V) -> Option<V> {
        if let Some(old) = self.get_mut(&name) {
            return Some(std::mem::replace(old, value));
        }
        if let Some(places) = &mut self.places {
            places.insert(Rc::clone(&name), self.entries.len());
        }
        self.entries.push((name, value));
        if self.places.is_none() && self.entries.len() > FEW {
            self.index();
        }
        None
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<V> {
        let place = self.place(name)?;
        let (_, value) = self.entries.remove(place);
        if self.places.is_some() {
            self.index();
        }
        Some(value)
    }

    fn index(&mut self) {
        let places = self.entries.iter().enumerate().map(|(place, (name, _))| (Rc::clone(name), place));
        self.places = Some(Box::new(places.collect()));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Rc<str>, &V)> {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Rc<str>> {
        self.entries.iter().map(|(name, _)| name)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }
}

impl<V> IntoIterator for Table<V> {
    type Item = (Rc<str>, V);
    type IntoIter = std::vec::IntoIter<(Rc<str>, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<V> Extend<(Rc<str>, V)> for Table<V> {
    fn extend<I: IntoIterator<Item = (Rc<str>, V)>>(&mut self, entries: I) {
        for (name, value) in entries {
            self.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn few_and_many_entries_are_found_replaced_and_removed_alike() {
        let (mut table, mut plain) = (Table::default(), BTreeMap::new());
        for step in 0..400_usize {
            let name = format!("{}", step * 7 % 40);
            if step % 5 == 4 {
                assert_eq!(table.remove(&name), plain.remove(&name));
            } else {
                assert_eq!(table.insert(name.as_str().into(), step), plain.insert(name, step));
            }
            for (name, value) in &plain {
                assert_eq!(table.get(name), Some(value));
            }
            let names: BTreeMap<_, _> = table.iter().map(|(name, value)| (name.to_string(), *value)).collect();
            assert_eq!(names, plain);
            assert_eq!((table.keys().count(), table.is_empty()), (plain.len(), plain.is_empty()));
        }
        assert!(table.values().count() > FEW, "void: there were few only");
    }

    #[test]
    fn entries_stay_in_the_order_in_which_they_came() {
        let mut table = Table::default();
        table.extend((0..30).rev().map(|n| (Rc::from(format!("{n}")), n)));
        table.insert("7".into(), 100);
        let values: Vec<i32> = table.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values.iter().position(|value| *value == 100), Some(22));
    }
}
