//! The file: what every memory does, and who else touches it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stanchion_core::{Acquire, ErrorKind, Key, LockBackend as _, Owner};
use stanchion_memory::{Compat, FileMemory, FileOptions, Memory, MemoryError, Mutation, Outcome, check};
use stanchion_stores::{Durability, FileLocks};
use stanchion_testkit::eventually;
use tempfile::TempDir;

use crate::conformance::{addition, all, done, entity, relation};
use crate::memory_conformance;

fn options(durability: Durability, compat: Compat) -> FileOptions {
    let mut options = FileOptions::default();
    (options.durability, options.compat) = (durability, compat);
    options
}

async fn graph(options: FileOptions) -> Option<impl Fn() -> Arc<dyn Memory>> {
    let folder = tempfile::tempdir().unwrap();
    Some(move || Arc::new(FileMemory::open(folder.path().join("memory.jsonl"), options).unwrap()) as Arc<dyn Memory>)
}

memory_conformance!(append, || crate::file::graph(Default::default()));
memory_conformance!(power, || crate::file::graph(crate::file::options(
    super::Durability::Power,
    super::Compat::Append
)));
memory_conformance!(strict, || crate::file::graph(crate::file::options(
    super::Durability::Process,
    super::Compat::Strict
)));

pub(crate) struct Home {
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Home {
    pub(crate) fn with(bytes: impl AsRef<[u8]>) -> Self {
        let home = Self::empty();
        std::fs::write(&home.path, bytes).unwrap();
        home
    }

    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("memory.jsonl"), _folder: folder }
    }

    pub(crate) fn open(&self) -> FileMemory {
        FileMemory::open(&self.path, FileOptions::default()).unwrap()
    }

    fn beside(&self, behind: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(behind);
        name.into()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

fn line(name: &str) -> String {
    format!(r#"{{"type":"entity","name":"{name}","entityType":"t","observations":[]}}"#)
}

fn create(name: &str) -> Mutation {
    Mutation::CreateEntities(vec![entity(name, &[])])
}

async fn names(memory: &dyn Memory) -> Vec<String> {
    all(memory).await.entities.into_iter().map(|one| one.name).collect()
}

/// The official server reads it: every line that is not blank is JSON.
fn assert_official(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
}

#[tokio::test]
async fn a_damaged_line_is_left_out_reported_once_and_set_aside_by_the_next_write() {
    let home = Home::with(format!("{}\n{{\"type\":\"entity\",\"na\n{}\n", line("a"), line("b")));
    let memory = home.open();
    let (found, notices) = memory.read(stanchion_memory::Query::All).await.unwrap();
    assert_eq!(found.entities.len(), 2);
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0].kind, "file_damaged");
    assert!(notices[0].text.contains("line 2"), "{}", notices[0]);
    assert!(memory.read(stanchion_memory::Query::All).await.unwrap().1.is_empty());
    assert!(!home.beside(".damaged").exists(), "a reader leaves everything where it is");

    let changed = memory.change(create("c")).await.unwrap();
    assert_eq!(changed.notices.len(), 1, "{:?}", changed.notices);
    let aside = std::fs::read_to_string(home.beside(".damaged")).unwrap();
    assert!(aside.starts_with("# line 2: ") && aside.ends_with("\n{\"type\":\"entity\",\"na\n"), "{aside}");
    assert_eq!(home.text(), [line("a"), line("b"), line("c"), String::new()].join("\n"));
    assert!(memory.change(create("d")).await.unwrap().notices.is_empty());
    assert!(check(&home.path).unwrap().is_sound());
}

#[tokio::test]
async fn half_a_line_at_the_end_is_set_aside_and_what_is_before_it_stays() {
    let home = Home::with(format!("{}\n{{\"type\":\"entity\",\"name\":\"half", line("a")));
    let memory = home.open();
    let read = async || memory.read(stanchion_memory::Query::All).await.unwrap();
    assert!(read().await.1.is_empty(), "somebody may be writing it at this moment");
    // It is not.
    eventually(Duration::from_secs(20), "the half line is told", || async { !read().await.1.is_empty() }).await;
    let changed = memory.change(create("b")).await.unwrap();
    assert_eq!(changed.notices[0].kind, "file_damaged");
    assert_eq!(home.text(), [line("a"), line("b"), String::new()].join("\n"));
    assert!(std::fs::read_to_string(home.beside(".damaged")).unwrap().contains("\"name\":\"half"));
}

#[tokio::test]
async fn files_of_other_programs_are_understood_and_left_in_a_form_that_the_official_server_reads() {
    let entities = r#"[{"name":"a","entityType":"t","observations":[]}]"#;
    let document = format!("{{\n  \"entities\": {entities},\n  \"relations\": []\n}}");
    let cases = [
        ("byte order mark", format!("\u{feff}{}\n{}", line("a"), line("b")), vec!["a", "b"]),
        ("carriage returns", format!("{}\r\n{}\r\n", line("a"), line("b")), vec!["a", "b"]),
        ("nothing", String::new(), vec![]),
        ("blank lines", format!("\n\n{}\n  \n", line("a")), vec!["a"]),
        ("no end", line("a"), vec!["a"]),
        ("document", document.clone(), vec!["a"]),
        ("array", format!("[{},\n {}]", line("a"), line("b")), vec!["a", "b"]),
    ];
    for (what, text, expected) in cases {
        let home = Home::with(&text);
        let memory = home.open();
        assert_eq!(names(&memory).await, expected, "{what}");
        memory.change(create("new")).await.unwrap();
        let expected: Vec<&str> = expected.into_iter().chain(["new"]).collect();
        assert_eq!(names(&home.open()).await, expected, "{what}");
        assert_official(&home.path);
        assert!(check(&home.path).unwrap().is_sound(), "{what}");
        if what == "document" {
            assert_eq!(std::fs::read_to_string(home.beside(".original")).unwrap(), document);
        }
    }
}

#[tokio::test]
async fn what_is_not_ours_stays_when_the_file_is_replaced() {
    let ours = r#"{"type":"entity","x":{"kept":1.50},"name":"a","entityType":"t","observations":[]}"#;
    let other = r#"{"type":"note","text":"not ours"}"#;
    let home = Home::with([ours, other, &line("b")].join("\n"));
    let memory = home.open();
    done(&memory, addition("a", &["new"])).await;
    done(&memory, Mutation::DeleteEntities(vec!["b".into()])).await;
    let changed = ours.replace("[]", r#"["new"]"#);
    assert_eq!(home.text(), format!("{changed}\n{other}\n"));
}

#[tokio::test]
async fn a_file_that_another_program_replaced_is_read_again_before_writing() {
    let home = Home::empty();
    let memory = home.open();
    done(&memory, create("a")).await;
    // As the official server does it.
    let temp = home.beside(".0123.tmp");
    std::fs::write(&temp, [line("a"), line("theirs")].join("\n")).unwrap();
    std::fs::rename(&temp, &home.path).unwrap();
    let changed = memory.change(create("b")).await.unwrap();
    assert_eq!(changed.notices.iter().map(|one| one.kind).collect::<Vec<_>>(), ["file_replaced"]);
    assert_eq!(names(&home.open()).await, ["a", "theirs", "b"]);
    // In place, as its older versions did; and it is said once.
    std::fs::write(&home.path, [line("a"), line("more"), line("b"), line("theirs")].join("\n")).unwrap();
    let changed = memory.change(Mutation::DeleteEntities(vec!["theirs".into()])).await.unwrap();
    assert!(changed.notices.is_empty(), "{:?}", changed.notices);
    assert_eq!(names(&home.open()).await, ["a", "more", "b"]);
    // What another process of ours does is no surprise.
    let other = home.open();
    done(&other, create("c")).await;
    done(&other, addition("a", &["x"])).await;
    assert!(memory.change(create("d")).await.unwrap().notices.is_empty());
    assert_eq!(names(&other).await, ["a", "more", "b", "c", "d"]);
}

#[tokio::test]
async fn a_deleted_file_is_an_empty_graph_and_that_is_said() {
    let home = Home::empty();
    let memory = home.open();
    done(&memory, create("a")).await;
    for name in ["b", "b again"] {
        std::fs::remove_file(&home.path).unwrap();
        let (found, notices) = memory.read(stanchion_memory::Query::All).await.unwrap();
        assert!(found.entities.is_empty());
        assert_eq!(notices.iter().map(|one| one.kind).collect::<Vec<_>>(), ["file_deleted"]);
        assert!(memory.change(create(name)).await.unwrap().notices.is_empty(), "it was said");
    }
    std::fs::remove_file(&home.path).unwrap();
    let changed = memory.change(create("b")).await.unwrap();
    assert_eq!(changed.notices.iter().map(|one| one.kind).collect::<Vec<_>>(), ["file_deleted"]);
    assert_eq!(names(&home.open()).await, ["b"]);
    let missing = memory.change(addition("a", &["x"])).await.unwrap_err();
    assert!(matches!(missing, MemoryError::NotFound(_)), "{missing:?}");
}

#[tokio::test]
async fn a_link_stays_a_link_and_permissions_stay() {
    let home = Home::with(line("a"));
    std::fs::set_permissions(&home.path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.path.with_file_name("link.jsonl");
    symlink("memory.jsonl", &link).unwrap();
    let memory = FileMemory::open(&link, FileOptions::default()).unwrap();
    let before = std::fs::metadata(&home.path).unwrap().ino();
    done(&memory, addition("a", &["x"])).await;
    let after = std::fs::metadata(&home.path).unwrap();
    assert_ne!(after.ino(), before, "void: it was not replaced");
    assert_eq!(after.permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    // Both names are one graph with one lock.
    assert_eq!(home.open().path(), memory.path());

    let dangling = home.path.with_file_name("dangling.jsonl");
    symlink("later.jsonl", &dangling).unwrap();
    let memory = FileMemory::open(&dangling, FileOptions::default()).unwrap();
    done(&memory, create("a")).await;
    assert!(std::fs::symlink_metadata(&dangling).unwrap().is_symlink());
    assert_official(&home.path.with_file_name("later.jsonl"));
}

#[tokio::test]
async fn a_busy_lock_is_told_apart_from_a_failed_call() {
    let home = Home::with(line("a"));
    let mut options = FileOptions::default();
    options.wait = Duration::from_millis(200);
    let memory = FileMemory::open(&home.path, options).unwrap();
    done(&memory, create("b")).await;
    let locks = FileLocks::open(home.path.with_file_name(".memory.jsonl.stanchion"), Durability::Process).unwrap();
    let request = Acquire::new(Key::new("memory").unwrap());
    let grant = locks.try_acquire(&request, Owner::random()).await.unwrap();
    let before = home.text();
    match memory.change(create("c")).await.unwrap_err() {
        MemoryError::Kept(error) => {
            assert_eq!(error.kind(), ErrorKind::Contended);
            assert_eq!(error.holder().unwrap().identity.pid, std::process::id());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(home.text(), before);
    // Reads wait for nobody.
    assert_eq!(names(&memory).await, ["a", "b"]);
    locks.release(&grant).await.unwrap();
    assert_eq!(done(&memory, create("c")).await, Outcome::Entities(vec![entity("c", &[])]));
}

#[tokio::test]
async fn a_folder_in_which_nothing_may_be_written_is_readable_and_says_no_to_writes() {
    // Not even root may create a file there.
    let memory = FileMemory::open("/sys/memory.jsonl", FileOptions::default()).unwrap();
    assert_eq!(names(&memory).await, Vec::<String>::new());
    match memory.change(create("a")).await.unwrap_err() {
        MemoryError::Kept(error) => assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}"),
        other => panic!("{other:?}"),
    }
    for wrong in ["/sys", "/no/such/folder/memory.jsonl"] {
        let error = FileMemory::open(wrong, FileOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{wrong}: {error}");
        assert!(error.next_step().is_some());
    }
}

#[tokio::test]
async fn what_damaged_lines_cannot_be_set_aside_stops_the_write_and_nothing_else() {
    let home = Home::with(format!("{}\noops\n{}\n", line("a"), line("b")));
    std::fs::create_dir(home.beside(".damaged")).unwrap();
    let memory = home.open();
    assert_eq!(names(&memory).await, ["a", "b"]);
    let before = home.text();
    match memory.change(create("c")).await.unwrap_err() {
        MemoryError::Kept(error) => assert_eq!(error.kind(), ErrorKind::Damaged, "{error:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(home.text(), before);
}

#[tokio::test]
async fn strict_always_replaces_and_append_never_rewrites_what_is_there() {
    let home = Home::with(line("a"));
    let inode = || std::fs::metadata(&home.path).unwrap().ino();
    let kept = std::fs::File::open(&home.path).unwrap();
    let first = inode();
    let memory = home.open();
    done(&memory, create("b")).await;
    done(&memory, Mutation::CreateRelations(vec![relation("a", "b")])).await;
    assert_eq!(inode(), first);
    let strict = FileMemory::open(&home.path, options(Durability::Process, Compat::Strict)).unwrap();
    done(&strict, create("c")).await;
    assert_ne!(inode(), first);
    drop(kept);
    assert_eq!(names(&memory).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn whoever_wants_to_know_is_told_when_another_process_has_written() {
    let home = Home::with(line("a"));
    let (memory, other) = (home.open(), home.open());
    let told = tokio::time::timeout(Duration::from_millis(600), memory.changed()).await;
    assert!(told.is_err(), "nothing has changed");
    done(&other, create("b")).await;
    tokio::time::timeout(Duration::from_secs(20), memory.changed()).await.unwrap();
}

#[tokio::test]
async fn a_file_that_comes_into_being_is_read_by_those_who_knew_it_absent() {
    let home = Home::empty();
    let (memory, other) = (home.open(), home.open());
    for memory in [&memory, &other] {
        done(memory, Mutation::DeleteEntities(vec!["nobody".into()])).await;
    }
    done(&memory, create("a")).await;
    assert_eq!(names(&other).await, ["a"]);
    done(&other, create("b")).await;
    assert_eq!(names(&memory).await, ["a", "b"]);
}

/// What a stranger leaves in a file that we have written is no reason to stop.
#[tokio::test]
async fn whatever_a_stranger_leaves_behind_is_set_right_by_the_next_write() {
    type Leave = fn(&str) -> String;
    let cases: [(&str, Leave); 5] = [
        ("a broken line", |before| format!("{before}oops\n")),
        ("half a line", |before| format!("{before}{{\"type\":\"ent")),
        ("a byte order mark", |before| format!("\u{feff}{before}")),
        ("a document", |_| format!("[{}]", line("a"))),
        ("a document with something else in it", |_| format!("{{\"entities\":[{},5]}}", line("a"))),
    ];
    for (what, leave) in cases {
        let home = Home::empty();
        let memory = home.open();
        done(&memory, create("a")).await;
        std::fs::write(&home.path, leave(&home.text())).unwrap();
        let kinds = |notices: &[stanchion_memory::Notice]| notices.iter().map(|one| one.kind).collect::<Vec<_>>();
        let told = kinds(&memory.read(stanchion_memory::Query::All).await.unwrap().1);
        let changed = memory.change(create("b")).await.unwrap_or_else(|e| panic!("{what}: {e:?}"));
        assert!(kinds(&changed.notices).contains(&"file_replaced"), "{what}: {told:?} {:?}", changed.notices);
        assert!(changed.notices.len() > 1, "{what}: {:?}", changed.notices);
        assert_eq!(names(&home.open()).await, ["a", "b"], "{what}");
        assert_eq!(done(&memory, create("c")).await, Outcome::Entities(vec![entity("c", &[])]), "{what}");
        assert_official(&home.path);
    }
}

#[tokio::test]
async fn a_second_damage_is_told_and_a_second_document_is_kept() {
    let home = Home::with(format!("{}\noops\n", line("a")));
    let memory = home.open();
    let told = async || memory.read(stanchion_memory::Query::All).await.unwrap().1.len();
    assert_eq!((told().await, told().await), (1, 0));
    std::fs::write(&home.path, format!("{}\n{}\nother\n", line("a"), line("b"))).unwrap();
    assert_eq!((told().await, told().await), (1, 0));

    for (nth, name) in [(1, ".original"), (2, ".original-2")] {
        let home_document = format!("{{\"entities\":[],\"note\":{nth}}}");
        std::fs::write(&home.path, &home_document).unwrap();
        let notices = memory.change(create("x")).await.unwrap().notices;
        let converted = notices.iter().find(|one| one.kind == "file_converted").unwrap();
        assert!(converted.text.ends_with(name), "{converted}");
        assert_eq!(std::fs::read_to_string(home.beside(name)).unwrap(), home_document);
    }
    // One object that is neither is no document.
    let other = Home::with("{\"note\":\"keep me\"}\n");
    done(&other.open(), create("x")).await;
    assert_eq!(other.text(), format!("{{\"note\":\"keep me\"}}\n{}\n", line("x")));
}

#[tokio::test]
async fn what_is_set_aside_from_a_private_file_is_private() {
    for (text, side) in [(format!("{}\noops\n", line("a")), ".damaged"), (format!("[{}]", line("a")), ".original")] {
        let home = Home::with(text);
        std::fs::set_permissions(&home.path, std::fs::Permissions::from_mode(0o600)).unwrap();
        done(&home.open(), create("b")).await;
        for path in [home.beside(side), home.path.clone()] {
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        }
    }
}

/// As a bad disk does it.
#[tokio::test]
async fn damage_that_leaves_size_and_times_as_they_were_is_told_and_set_aside() {
    let home = Home::empty();
    let memory = home.open();
    for name in ["a", "b"] {
        memory.change(Mutation::CreateEntities(vec![entity(name, &[])])).await.unwrap();
    }
    drop(memory);
    let modified = std::fs::metadata(&home.path).unwrap().modified().unwrap();
    let mut bytes = std::fs::read(&home.path).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&home.path, bytes).unwrap();
    std::fs::File::options().write(true).open(&home.path).unwrap().set_modified(modified).unwrap();
    let memory = home.open();
    memory.change(Mutation::CreateEntities(vec![entity("c", &[])])).await.unwrap();
    let kept = all(&memory).await.entities;
    assert_eq!(kept, [entity("b", &[]), entity("c", &[])]);
    assert!(check(&home.path).unwrap().is_sound(), "the damaged line is still there");
}
