//! What `stanchion audit` makes of what it cannot read, and of what it is told wrongly.

use std::process::Stdio;

use super::{NOTES, Tree, codes};

#[test]
fn an_empty_folder_is_no_error_and_says_what_is_missing() {
    Tree::new(&[]).audit(&[]).exits(0).says("no findings in 0 files").says("warning: there is no code here");
}

#[test]
fn a_path_that_is_not_there_is_named_before_anything_is_read() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    let said = tree.audit(&["notes.py", "nots.py", "src"]).exits(2);
    let said = said.says("error: nots.py: there is no such file or folder").says("error: src: there is no such");
    assert_eq!(said.out, "");
    tree.audit(&["--formt", "json"]).exits(2).says("--formt");
    tree.audit(&["--format", "xml"]).exits(2).says("allowed: text, agent, json, sarif, github, junit");
    tree.audit(&["--write-baseline"]).exits(2).says("--baseline");
    tree.audit(&["--instances", "7"]).exits(2).says("one, many");
    tree.audit(&["--select", "RC9"]).exits(2).says("there is no rule `RC9`");
    tree.audit(&["--output", "no/such/folder.json"]).exits(2).says("no/such/folder.json");
}

#[test]
fn files_that_cannot_be_analysed_are_noted_and_the_others_are_analysed() {
    let tree = Tree::new(&[("notes.py", NOTES), ("dist/index.js", "")]);
    tree.write("binary.py", [b'a', 0, b'b']);
    tree.write("latin.py", b"x = '\xe4'\n");
    let large = std::fs::File::create(tree.path("large.ts")).expect("a file");
    large.set_len(50 << 20).expect("it has no content");
    tree.write("broken.ts", "export function f( {\n  const = ;\n}\n");
    #[cfg(unix)]
    for (link, to) in [("loop", "."), ("a", "b"), ("b", "a")] {
        std::os::unix::fs::symlink(to, tree.path(link)).expect("a link");
    }
    let report = tree.json(&[]);
    assert!(codes(&report).contains(&"RC101"), "{report:#}");
    let notes = report["notes"].as_array().expect("notes");
    let note = |path: &str| {
        let found = notes.iter().find(|note| note["path"] == path).unwrap_or_else(|| panic!("{path}: {report:#}"));
        found["text"].as_str().expect("a text").to_owned()
    };
    assert_eq!(note("binary.py"), "not analysed: binary");
    assert!(note("latin.py").starts_with("not analysed: not UTF-8"));
    assert!(note("large.ts").starts_with("not analysed: 52428800 bytes"));
    assert!(note("dist").contains("name it to have it analysed"));
    assert!(note("broken.ts").contains("syntax error"));
    assert_eq!((report["summary"]["left_out"].as_u64(), report["summary"]["partly"].as_u64()), (Some(4), Some(1)));
    tree.audit(&[]).exits(1).says("4 not analysed, 1 in part only");
}

#[test]
fn what_was_named_and_could_not_be_analysed_gives_3_unless_something_is_found() {
    let tree = Tree::new(&[("notes.py", NOTES), ("fine.py", "print('hello')\n")]);
    tree.write("binary.py", [b'a', 0, b'b']);
    tree.audit(&["binary.py"]).exits(3).says("error: binary.py: not analysed: binary");
    tree.audit(&["fine.py", "binary.py"]).exits(3).says("no findings in 1 file");
    tree.audit(&["notes.py", "binary.py"]).exits(1);
    tree.audit(&["fine.py"]).exits(0);
    let packed = Tree::new(&[("dist/index.js", "console.log(1)\n")]);
    packed.audit(&[]).exits(3).says("nothing could be analysed").says("stanchion audit dist");
    packed.audit(&["dist"]).exits(0).says("in 1 file");
}

#[test]
fn configuration_baseline_and_models_are_refused_with_place_and_next_step() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    tree.write("stanchion-audit.toml", "\nexlude = ['x']\nfail_on = 'hihg'\n");
    let said = tree.audit(&[]).exits(2);
    let said =
        said.says("error: stanchion-audit.toml:2: there is no such key: `exlude`").says("did you mean `exclude`?");
    said.says("allowed: include, exclude").says("error: stanchion-audit.toml:3: `hihg`");
    tree.write("stanchion-audit.toml", "models = ['m.toml']\n");
    tree.audit(&[]).exits(2).says("error: m.toml: the model file cannot be read");
    tree.write("m.toml", "language = ['python']\n[[call]]\non = ['a']\nnmae = ['b']\n");
    tree.audit(&[]).exits(2).says("error: m.toml:4: this is no model file").says("nmae").says("hint: ");
    tree.write("m.toml", "language = ['cobol']\n");
    tree.audit(&[]).exits(2).says("javascript, python, go or rust");
    std::fs::remove_file(tree.path("stanchion-audit.toml")).expect("it was there");
    tree.audit(&["--config", "nowhere.toml"]).exits(2).says("nowhere.toml: there is no such file");
    tree.audit(&["--baseline", "nowhere.json"]).exits(2).says("nowhere.json: the baseline cannot be read");
    tree.write("b.json", "{\n  \"hello\": 1\n}\n");
    tree.audit(&["--baseline", "b.json"]).exits(2).says("b.json:2: this baseline is damaged").says("hint: ");
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let tree = Tree::new(&[]);
    // More than a pipe holds.
    for number in 0..200 {
        tree.write(&format!("notes{number}.py"), NOTES.replace("notes.json", &format!("{number}.json")));
    }
    for args in [&[][..], &["--json"], &["--rules"], &["--checklist", "--json"]] {
        let mut command = tree.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("stanchion starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("panic") && matches!(output.status.code(), Some(0 | 1)), "{args:?}: {output:?}");
    }
}
