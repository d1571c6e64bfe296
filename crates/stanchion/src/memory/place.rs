//! Which graph: a file, or a name in a store.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use stanchion_core::{Error, ErrorKind, Result};
use stanchion_memory::SharedMemory;

use super::args::PlaceArgs;
use crate::cli::StoreArgs;
use crate::exit::say;
use crate::store;

/// The official server's variable.
const VARIABLE: &str = "MEMORY_FILE_PATH";
/// The file's name since the official server writes lines, and before.
const FILE: &str = "memory.jsonl";
const OLD_FILE: &str = "memory.json";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    File(PathBuf),
    /// In the chosen store, under this name.
    Store(String),
}

/// What was said about the place, and by whom.
#[derive(Debug, Default)]
struct Said<'a> {
    file: Option<&'a Path>,
    name: Option<&'a str>,
    /// `MEMORY_FILE_PATH`.
    variable: Option<OsString>,
    /// `--store`.
    store: bool,
    /// `STANCHION_STORE`.
    store_variable: bool,
}

/// The place, first hit wins: `--file` or `--store`, `MEMORY_FILE_PATH`, `STANCHION_STORE`, the default file.
///
/// # If it fails
/// `Invalid`: what was said contradicts itself.
pub(super) fn find(store: &StoreArgs, args: &PlaceArgs) -> Result<Place> {
    let store_variable = std::env::var("STANCHION_STORE").ok();
    let from_variable = store.store.is_some() && store.store == store_variable;
    let said = Said {
        file: args.file.as_deref(),
        name: args.name.as_deref(),
        // Empty is unset, as the official server has it.
        variable: std::env::var_os(VARIABLE).filter(|path| !path.is_empty()),
        store: store.store.is_some() && !from_variable,
        store_variable: from_variable,
    };
    if said.store && said.variable.is_some() {
        say(&format!("stanchion: warning: {VARIABLE} is set and not used, because of --store"));
    }
    said.place(|| store::home(store))
}

impl Said<'_> {
    fn place(&self, folder: impl Fn() -> Result<PathBuf>) -> Result<Place> {
        let in_store = || Place::Store(self.name.unwrap_or(SharedMemory::DEFAULT_NAME).to_owned());
        let place = match (self.file, &self.variable) {
            (Some(_), _) if self.store => {
                return Err(Error::new(ErrorKind::Invalid, "--file and --store are two places for one memory")
                    .hint("leave one of them out; `stanchion memory import` copies a file into a store"));
            }
            (Some(file), _) => Place::File(file.to_owned()),
            _ if self.store => in_store(),
            // Relative to the default file's folder, as the official server's is: its clients start it anywhere.
            (None, Some(path)) => Place::File(folder()?.join(path)),
            _ if self.store_variable => in_store(),
            _ => Place::File(migrated(&folder()?)?),
        };
        if let (Place::File(_), Some(name)) = (&place, self.name) {
            return Err(Error::new(ErrorKind::Invalid, "--name is a graph in a store, and the memory is a file")
                .with("name", name)
                .hint("give --store URL as well, or choose the file with --file"));
        }
        Ok(place)
    }
}

/// The default file; an older one takes its name.
fn migrated(folder: &Path) -> Result<PathBuf> {
    let (old, new) = (folder.join(OLD_FILE), folder.join(FILE));
    if !old.exists() || new.exists() {
        return Ok(new);
    }
    say(&format!("stanchion: found {OLD_FILE} of an older version, renaming it to {FILE}"));
    // A link never replaces what is there: another process may make the new file at this very moment.
    match std::fs::hard_link(&old, &new) {
        Ok(()) => {
            std::fs::remove_file(&old).or_else(gone).map_err(|e| failed(&old, e))?;
            say(&format!("stanchion: renamed to {}", new.display()));
            Ok(new)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(new),
        // Another process was faster.
        Err(e) if e.kind() == io::ErrorKind::NotFound && new.exists() => Ok(new),
        Err(e) => Err(failed(&old, e)),
    }
}

fn gone(e: io::Error) -> io::Result<()> {
    if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) }
}

fn failed(old: &Path, e: io::Error) -> Error {
    Error::new(ErrorKind::Denied, "the old memory file cannot be renamed")
        .with("file", old.display())
        .because(e)
        .hint(format!("nothing was lost; rename it to {FILE}, or name it with --file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(said: &Said<'_>) -> Result<Place> {
        said.place(|| Ok(PathBuf::from("/state")))
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let file = Some(Path::new("notes.jsonl"));
        let variable = || Some(OsString::from("from-variable.jsonl"));
        let said = Said { file, variable: variable(), store_variable: true, ..Said::default() };
        assert_eq!(place(&said).unwrap(), Place::File("notes.jsonl".into()));
        let said = Said { store: true, variable: variable(), ..Said::default() };
        assert_eq!(place(&said).unwrap(), Place::Store("memory".into()));
        let said = Said { store_variable: true, name: Some("team"), ..Said::default() };
        assert_eq!(place(&said).unwrap(), Place::Store("team".into()));
    }

    #[test]
    fn a_relative_variable_is_meant_from_the_default_folder_and_wins_over_the_stores() {
        let said = Said { variable: Some("a/notes.jsonl".into()), store_variable: true, ..Said::default() };
        assert_eq!(place(&said).unwrap(), Place::File("/state/a/notes.jsonl".into()));
        let said = Said { variable: Some("/data/notes.jsonl".into()), ..Said::default() };
        assert_eq!(place(&said).unwrap(), Place::File("/data/notes.jsonl".into()));
        assert_eq!(place(&Said::default()).unwrap(), Place::File("/state/memory.jsonl".into()));
    }

    #[test]
    fn two_places_and_a_name_without_a_store_are_refused() {
        let file = Some(Path::new("notes.jsonl"));
        assert_eq!(place(&Said { file, store: true, ..Said::default() }).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(place(&Said { name: Some("a"), ..Said::default() }).unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn an_old_file_takes_the_new_name_and_never_replaces_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join(OLD_FILE), folder.path().join(FILE));
        std::fs::write(&old, "old").unwrap();
        assert_eq!(migrated(folder.path()).unwrap(), new);
        assert_eq!((std::fs::read_to_string(&new).unwrap().as_str(), old.exists()), ("old", false));
        std::fs::write(&old, "older still").unwrap();
        assert_eq!(migrated(folder.path()).unwrap(), new);
        assert_eq!((std::fs::read_to_string(&new).unwrap().as_str(), old.exists()), ("old", true));
    }
}
