//! Words that mean something wherever a library's calls are given them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `[words]` of a model file. Names of constants, texts and keywords of arguments, unless said otherwise.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Words {
    /// A lock is let go and not taken.
    pub(crate) unlocks: Vec<String>,
    /// The rows of a query are locked.
    pub(crate) locks: Vec<String>,
    /// A file is written only if it is not there.
    pub(crate) creates: Vec<String>,
    /// A file is written at its end.
    pub(crate) appends: Vec<String>,
    /// A key is set only if it is not there.
    pub(crate) only_new: Vec<String>,
    /// A key goes away by itself.
    pub(crate) expires: Vec<String>,
    /// A transaction is serializable.
    pub(crate) serializable: Vec<String>,
    /// A transaction takes the write lock when it begins.
    pub(crate) immediate: Vec<String>,
    /// Calls whose names end so are done when they return.
    pub(crate) at_once: Vec<String>,
    /// Conditions with this in them look at a column by its number.
    pub(crate) cells: Vec<String>,
    /// Constants of packages that no other process has, such as its number.
    pub(crate) unique: Vec<String>,
    /// Units of time, in seconds.
    pub(crate) units: BTreeMap<String, f64>,
}

impl Words {
    /// With those of another file.
    pub(super) fn add(&mut self, more: &Self) {
        let lists = [
            (&mut self.unlocks, &more.unlocks),
            (&mut self.locks, &more.locks),
            (&mut self.creates, &more.creates),
            (&mut self.appends, &more.appends),
            (&mut self.only_new, &more.only_new),
            (&mut self.expires, &more.expires),
            (&mut self.serializable, &more.serializable),
            (&mut self.immediate, &more.immediate),
            (&mut self.at_once, &more.at_once),
            (&mut self.cells, &more.cells),
            (&mut self.unique, &more.unique),
        ];
        for (own, more) in lists {
            own.extend(more.iter().cloned());
        }
        self.units.extend(more.units.iter().map(|(name, seconds)| (name.clone(), *seconds)));
    }

    /// Whether the text has one of these in it.
    pub(crate) fn is_in(words: &[String], text: &str) -> bool {
        words.iter().any(|word| text.contains(word.as_str()))
    }
}
