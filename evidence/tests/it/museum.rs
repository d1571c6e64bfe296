//! Planted bugs: every one of the list is planted somewhere, every planted one is on the list, and none is in an ordinary build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stanchion_evidence::museum::exhibit::Finder;
use stanchion_evidence::museum::{exhibits, find};

/// Not a call but the word: else this would not compile.
#[cfg(not(stanchion_museum))]
const _: () = assert!(!stanchion_core::planted!("del-without-token"), "a bug is planted in an ordinary build");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Names in `planted!("…")`, with the file that each stands in.
fn planted() -> BTreeSet<(String, String)> {
    let (root, mut files) = (root(), Vec::new());
    for folder in ["crates", "evidence/src/museum/exhibits"] {
        sources(&root.join(folder), &mut files);
    }
    let mut names = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let shown = file.strip_prefix(&root).expect("below the root").display().to_string();
        for rest in text.split("planted!(\"").skip(1) {
            let (name, _) = rest.split_once('"').expect("a name that ends");
            names.insert((name.to_owned(), shown.clone()));
        }
    }
    names
}

#[test]
fn every_exhibit_is_planted_where_it_says_and_every_planted_bug_is_an_exhibit() {
    let (planted, exhibits) = (planted(), exhibits());
    for exhibit in &exhibits {
        let place = (exhibit.name.to_owned(), exhibit.place.to_owned());
        assert!(planted.contains(&place), "{} is not planted in {}", exhibit.name, exhibit.place);
    }
    for (name, file) in &planted {
        assert!(exhibits.iter().any(|exhibit| exhibit.name == name), "{file} plants {name}, which is no exhibit");
    }
    let names: BTreeSet<_> = exhibits.iter().map(|exhibit| exhibit.name).collect();
    assert_eq!(names.len(), exhibits.len(), "two exhibits have one name");
    assert!(names.len() >= 40, "only {} bugs are planted", names.len());
}

#[test]
fn explorations_find_nothing_while_nothing_is_planted() {
    for exhibit in exhibits().iter().filter(|exhibit| matches!(exhibit.finder, Finder::Explore(..))) {
        let found = find(&exhibit.finder, Duration::from_millis(50));
        assert_eq!(found.broken, None, "{}: {}", exhibit.name, found.steps.join("; "));
    }
}
