//! Marks in the names of values: what is made from a value has its name inside of its own, and with it the mark.

use std::fmt::{Display, Formatter, Result};

/// What the name of a value, or of something that was made from it, tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It comes out differently for every call or process.
    Unique,
    /// And nobody can tell how.
    Random,
    /// It is made again for every try.
    Anew,
    /// The store computes it from what it holds then.
    Stored,
    /// It belongs to a process that was started here.
    Process,
}

/// Begins every mark, so that nothing that people write is taken for one.
const BEGIN: char = '\u{1}';

impl Mark {
    pub(crate) const ALL: [Self; 5] = [Self::Random, Self::Unique, Self::Anew, Self::Stored, Self::Process];

    const fn text(self) -> &'static str {
        match self {
            Self::Unique => "\u{1}unique:",
            Self::Random => "\u{1}unique:random-",
            Self::Anew => "\u{1}anew:",
            Self::Stored => "\u{1}stored:",
            Self::Process => "\u{1}process:",
        }
    }

    /// Whether something with this name has the mark, or is made from what has it. What is random is unique.
    pub(crate) fn is_in(self, name: &str) -> bool {
        name.contains(self.text())
    }

    /// Whether all of it is inside of what has the mark: a file in a folder.
    pub(crate) fn begins(self, name: &str) -> bool {
        let name = name.trim_start_matches('(');
        name.starts_with(self.text())
    }
}

impl Display for Mark {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.text())
    }
}

/// A name as people read it.
pub(crate) fn plain(name: &str) -> String {
    name.replace(BEGIN, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_what_is_made_from_it_and_not_in_what_people_write() {
        let name = format!("/tmp/${{{}getpid()}}.json", Mark::Unique);
        assert!(Mark::Unique.is_in(&name) && !Mark::Random.is_in(&name) && !Mark::Unique.begins(&name));
        assert!(Mark::Unique.is_in(&format!("{}uuid4", Mark::Random)));
        assert!(Mark::Unique.begins(&format!("({}mkdtemp/a)/b", Mark::Unique)));
        assert!(!Mark::Unique.is_in("unique:random-stored:"));
        assert_eq!(plain(&name), "/tmp/${unique:getpid()}.json");
    }
}
