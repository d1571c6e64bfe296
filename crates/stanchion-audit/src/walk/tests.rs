use std::{fs, io::Write, path::PathBuf};

use super::*;

fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn walk_all(folder: &tempfile::TempDir) -> Walked {
    walk(folder.path(), &[folder.path().to_owned()], Limits::default())
}

fn paths(walked: &Walked) -> Vec<&str> {
    walked.files.iter().map(|file| file.path.as_str()).collect()
}

fn note<'a>(walked: &'a Walked, path: &str) -> &'a str {
    walked.notes.iter().find(|note| note.path == path).map_or("", |note| &note.text)
}

#[test]
fn finds_code_and_configuration_sorted_and_leaves_the_rest() {
    let folder = tree(&[
        ("src/b.ts", b"b"),
        ("src/a.py", b"a"),
        ("src/types.d.ts", b"t"),
        ("package.json", b"{}"),
        ("README.md", b"r"),
        ("LICENSE", b"l"),
        (".mcp.json", b"{}"),
        (".hidden/a.ts", b"h"),
        (".eslintrc.js", b"h"),
        (".gitignore", b"/ignored.ts\nout/\n"),
        ("ignored.ts", b"i"),
        ("out/a.js", b"o"),
        ("node_modules/x/index.js", b"n"),
        ("dist/index.js", b"d"),
        ("bin/serve", b"#!/usr/bin/env node\nmain()"),
        ("bin/other", b"#!/bin/sh\nmain"),
    ]);
    let walked = walk_all(&folder);
    assert_eq!(paths(&walked), [".mcp.json", "bin/serve", "package.json", "src/a.py", "src/b.ts"]);
    assert_eq!(walked.files.get(1).and_then(|file| file.dialect), Some(Dialect::JavaScript));
    assert_eq!(walked.files.get(2).map(|file| (file.dialect, file.text.len())), Some((None, 2)));
    assert!(note(&walked, "dist").contains("name it"), "{:?}", walked.notes);
    assert_eq!(walked.notes.len(), 1);
}

#[test]
fn a_published_package_has_its_code_in_a_folder_for_output() {
    let published =
        tree(&[("package.json", b"{}"), ("dist/index.js", b"d"), ("dist/vendor/x.js", b"v"), ("scripts/a.js", b"s")]);
    let walked = walk_all(&published);
    assert_eq!(paths(&walked), ["dist/index.js", "package.json", "scripts/a.js"]);
    assert!(note(&walked, "dist/vendor").contains("name it"), "{:?}", walked.notes);
    let no_package = tree(&[("dist/index.js", b"d")]);
    assert!(note(&walk_all(&no_package), "dist").contains("name it"));
    let with_source = tree(&[("package.json", b"{}"), ("dist/index.js", b"d"), ("lib/index.js", b"l")]);
    assert!(note(&walk_all(&with_source), "dist").contains("name it"));
}

#[test]
fn what_starts_a_folder_for_output_is_no_source_of_it() {
    let package = ("package.json", &b"{}"[..]);
    let code = ("dist/index.js", &b"d"[..]);
    let of = |files: &[(&str, &[u8])]| {
        let mut all = vec![package, code];
        all.extend(files);
        paths(&walk_all(&tree(&all))).contains(&"dist/index.js")
    };
    for launcher in ["require('../dist/index.js').run()", "import(\"../dist/index\")", "import '../dist'"] {
        assert!(of(&[("bin/index.js", launcher.as_bytes())]), "{launcher}");
    }
    assert!(!of(&[("bin/index.js", b"import '../dist/index.js'"), ("src/index.ts", b"s")]));
    assert!(!of(&[("src/main.ts", b"import '../dist/index.js'")]));
    assert!(!of(&[("bin/index.js", b"import '../other/dist/index.js'")]));
    assert!(!of(&[("server.js", b"app.use(express.static('./dist'))")]));
    assert!(!of(&[("server.js", b"open('./dist/none.js')")]));
}

#[test]
fn of_two_forms_of_a_bundle_one_is_read() {
    let folder = tree(&[
        ("package.json", b"{}"),
        ("dist/a.cjs", b"aaaaaaaa"),
        ("dist/a.js", b"aaaaaaaaa"),
        ("dist/a.mjs", b"aaaaaaaaaa"),
        ("dist/b.js", b"bbbbbbbb"),
        ("dist/b.mjs", b"b"),
        ("dist/c.mjs", b"c"),
    ]);
    let walked = walk_all(&folder);
    assert_eq!(paths(&walked), ["dist/a.js", "dist/b.js", "dist/b.mjs", "dist/c.mjs", "package.json"]);
    assert!(note(&walked, "dist/a.mjs").contains("another form"), "{:?}", walked.notes);
    let source = tree(&[("package.json", b"{}"), ("lib/a.js", b"a"), ("lib/a.mjs", b"a")]);
    assert_eq!(paths(&walk_all(&source)), ["lib/a.js", "lib/a.mjs", "package.json"]);
    let named = walk(folder.path(), &[folder.path().to_owned(), folder.path().join("dist/a.mjs")], Limits::default());
    assert!(paths(&named).contains(&"dist/a.mjs"));
}

#[test]
fn named_files_are_taken_whatever_they_are_and_once() {
    let folder =
        tree(&[(".gitignore", b"*.ts"), ("a.ts", b"a"), ("dist/x.js", b"x"), ("notes.txt", b"n"), ("b.py", b"b")]);
    let at = |path: &str| folder.path().join(path);
    let roots = [at("a.ts"), folder.path().to_owned(), at("notes.txt"), at("dist"), at("b.py"), at("b.py")];
    let walked = walk(folder.path(), &roots, Limits::default());
    assert_eq!(paths(&walked), ["a.ts", "b.py", "dist/x.js", "notes.txt"]);
    assert!(walked.notes.is_empty(), "{:?}", walked.notes);
}

#[test]
fn a_named_folder_called_tests_holds_product_code() {
    let folder = tree(&[("tests/app/server.ts", b"a"), ("tests/app/tests/a.ts", b"a"), ("package.json", b"{}")]);
    let walked = walk(folder.path(), &[folder.path().join("tests/app")], Limits::default());
    let surfaces: Vec<_> = walked.files.iter().map(|file| (file.path.as_str(), file.surface)).collect();
    let expected = [
        ("package.json", Surface::Product),
        ("tests/app/server.ts", Surface::Product),
        ("tests/app/tests/a.ts", Surface::Test),
    ];
    assert_eq!(surfaces, expected);
}

#[test]
fn what_is_not_text_becomes_a_note() {
    let folder = tree(&[
        ("utf16.ts", b"\xff\xfea\0b\0"),
        ("binary.js", b"a\0b"),
        ("latin.py", b"x = 1\ny = '\xe4'\n"),
        ("bom.ts", b"\xef\xbb\xbfconst a = 1;"),
        ("empty.ts", b""),
    ]);
    let walked = walk_all(&folder);
    assert_eq!(paths(&walked), ["bom.ts", "empty.ts"]);
    assert_eq!(walked.files.first().map(|file| file.text.as_str()), Some("const a = 1;"));
    assert!(note(&walked, "utf16.ts").contains("UTF-16"));
    assert!(note(&walked, "binary.js").contains("binary"));
    assert!(note(&walked, "latin.py").contains("line 2"), "{}", note(&walked, "latin.py"));
}

#[test]
fn large_files_are_noted_and_the_total_is_bounded() {
    let folder = tree(&[("a.ts", b"aaaa"), ("b.ts", b"bbbb"), ("c.ts", b"cccc")]);
    for name in ["huge.js", "program"] {
        fs::File::create(folder.path().join(name)).unwrap().set_len(50 << 20).unwrap();
    }
    let walked = walk(folder.path(), &[folder.path().to_owned()], Limits { total: 8, ..Limits::default() });
    assert_eq!(paths(&walked), ["a.ts", "b.ts"]);
    assert!(note(&walked, "huge.js").contains("52428800 bytes"));
    assert!(note(&walked, "").starts_with("1 files left out"));
    assert_eq!(note(&walked, "program"), ""); // most likely no source at all
    let named = walk(folder.path(), &[folder.path().join("huge.js")], Limits::default());
    assert_eq!((named.files.len(), named.notes.len()), (0, 1));
    let few = walk(folder.path(), &[folder.path().to_owned()], Limits { files: 1, ..Limits::default() });
    assert_eq!(paths(&few), ["a.ts"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_loops_end() {
    use std::os::unix::fs::symlink;
    let folder = tree(&[("src/a.ts", b"a")]);
    symlink(folder.path(), folder.path().join("src/loop")).unwrap();
    symlink(folder.path().join("src/a.ts"), folder.path().join("src/link.ts")).unwrap();
    symlink("nowhere.ts", folder.path().join("dangling.ts")).unwrap();
    assert_eq!(paths(&walk_all(&folder)), ["src/a.ts"]);
    // A link that is named is followed.
    let named = [folder.path().join("src/loop"), folder.path().join("dangling.ts")];
    let walked = walk(folder.path(), &named, Limits::default());
    assert_eq!(paths(&walked), ["src/loop/src/a.ts"]);
    assert!(note(&walked, "dangling.ts").starts_with("cannot be read"));
}

#[cfg(unix)]
#[test]
fn unreadable_things_are_noted_and_the_rest_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tree(&[("a.ts", b"a"), ("closed/b.ts", b"b"), ("c.ts", b"c")]);
    let closed = [folder.path().join("closed"), folder.path().join("c.ts")];
    for path in &closed {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let is_privileged = fs::read_dir(&closed[0]).is_ok(); // root reads everything
    let roots = [folder.path().to_owned(), PathBuf::from("/no/such/folder")];
    let walked = walk(folder.path(), &roots, Limits::default());
    for path in &closed {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert!(note(&walked, "/no/such/folder").contains("not found"), "{:?}", walked.notes);
    assert_eq!(paths(&walked).first(), Some(&"a.ts"));
    if !is_privileged {
        assert_eq!(paths(&walked), ["a.ts"]);
        assert!(note(&walked, "closed").contains("permission denied"), "{:?}", walked.notes);
        assert!(note(&walked, "c.ts").contains("permission denied"));
    }
}

#[test]
fn a_file_that_grew_after_it_was_found_is_not_read_to_its_end() {
    let mut file = tempfile::NamedTempFile::with_suffix(".ts").unwrap();
    file.write_all(&[b'a'; 100]).unwrap();
    let full = file.path().to_owned();
    let candidate = Candidate { full, path: "a.ts".into(), below: "a.ts".into(), named: false, size: 1 };
    let error = read(candidate, Limits { file: 10, ..Limits::default() }).unwrap_err();
    assert!(error.text.contains("11 bytes or more"), "{}", error.text);
}

#[test]
fn a_file_is_generated_by_its_text() {
    let folder = tree(&[("a.ts", b"// @generated\n"), ("b.ts", b"b")]);
    let surfaces: Vec<_> = walk_all(&folder).files.iter().map(|file| file.surface).collect();
    assert_eq!(surfaces, [Surface::Generated, Surface::Product]);
}

#[cfg(unix)]
#[test]
fn code_behind_a_link_to_somewhere_else_is_noted_and_not_followed() {
    use std::os::unix::fs::symlink;
    let elsewhere = tree(&[("a.ts", b"a")]);
    let folder = tree(&[("src/a.ts", b"a"), ("other/README.md", b"r")]);
    let at = |name: &str| folder.path().join(name);
    symlink(elsewhere.path(), at("lib")).unwrap();
    symlink(elsewhere.path().join("a.ts"), at("b.ts")).unwrap();
    symlink("nowhere.ts", at("c.ts")).unwrap();
    symlink(elsewhere.path().join("a.ts"), at("d.txt")).unwrap();
    symlink(at("src"), at("again")).unwrap();
    symlink(elsewhere.path(), at("node_modules")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("e.py")).status().unwrap().success());
    let walked = walk_all(&folder);
    assert_eq!(paths(&walked), ["src/a.ts"]);
    let noted: Vec<_> = walked.notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(noted, ["b.ts", "c.ts", "e.py", "lib"]);
    assert!(note(&walked, "lib").contains("name what it leads to") && note(&walked, "c.ts").ends_with("nowhere"));
    assert!(note(&walked, "e.py").ends_with("neither a file nor a folder"));
}
