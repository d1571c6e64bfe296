use std::fs;

use super::*;
use crate::finding::{Role, Step};
use crate::format::sample;

fn parsed(diff: &str) -> Vec<(String, Vec<(u32, u32)>)> {
    Changes::parse(diff.as_bytes()).lines.into_iter().collect()
}

#[test]
fn hunks_with_and_without_counts_are_understood() {
    let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@ fn @@ -9 +9 @@\n-a\n+b\n@@ -5,0 +6,3 @@\n+1\n+2\n+3\n";
    assert_eq!(parsed(diff), [("x".into(), vec![(1, 1), (6, 8)])]);
}

#[test]
fn code_that_looks_like_a_header_is_code() {
    let diff = "--- a/x\n+++ b/x\n@@ -2,2 +2,3 @@\n--- a/evil\n-@@ -1 +1 @@\n+++ b/evil\n+@@ -1,9 +1,9 @@\n+diff --git a/e b/e\n@@ -9 +10 @@\n-a\n+b\n";
    assert_eq!(parsed(diff), [("x".into(), vec![(2, 4), (10, 10)])]);
}

#[test]
fn removed_lines_count_for_their_neighbours() {
    assert_eq!(parsed("+++ b/x\n@@ -4,2 +3,0 @@\n-a\n-b\n"), [("x".into(), vec![(3, 4)])]);
    assert_eq!(parsed("+++ b/x\n@@ -1,2 +0,0 @@\n-a\n-b\n"), [("x".into(), vec![(1, 1)])]);
}

#[test]
fn removed_new_renamed_and_binary_files_are_told_apart() {
    let diff = "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
        \\ No newline at end of file\ndiff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n\
        diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\ndiff --git a/new b/new\nnew file mode 100644\n\
        --- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n";
    assert_eq!(parsed(diff), [("new".into(), vec![(1, 1)])]);
}

#[test]
fn odd_names_are_read_as_they_are() {
    assert_eq!(parsed("+++ b/my file.ts\t\n@@ -1 +1 @@\n")[0].0, "my file.ts");
    assert_eq!(parsed("+++ \"b/na\\303\\257ve \\\"q\\\"\\t.ts\"\n@@ -1 +1 @@\n")[0].0, "naïve \"q\"\t.ts");
    assert_eq!(parsed("+++ \"b/a\\")[..], []);
    assert!(Changes::parse(b"* Unmerged path a b.ts\n").touch("a b.ts", 7, 7));
}

#[test]
fn damaged_and_hostile_diffs_do_no_harm() {
    let bad = [
        "",
        "@@",
        "@@ -1 +1 @@",
        "+++ \n@@ -,+, @@",
        "+++ b/x\n@@ -1,99999999999 +1 @@",
        "+++ b/x\n@@ -1 +4294967295,4294967295 @@\n+",
    ];
    for diff in bad {
        drop(Changes::parse(diff.as_bytes()));
    }
    drop(Changes::parse(&[0xff; 1000]));
    // A hunk that promises more lines than it has does not swallow the next file.
    let cut = "+++ b/x\n@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +7 @@\n";
    assert_eq!(parsed(cut).last(), Some(&("y".into(), vec![(7, 7)])));
}

#[test]
fn a_finding_counts_if_any_of_its_steps_changed_also_in_another_file() {
    let changes = |path: &str, line: u32| Changes::parse(format!("+++ b/{path}\n@@ -1 +{line} @@\n").as_bytes());
    let mut finding = sample();
    assert!(changes("src/store.ts", 3).concern(&finding), "the window");
    assert!(!changes("src/store.ts", 6).concern(&finding));
    finding.flow.push(Step { role: Role::Call, path: "b.ts".into(), line: 7, end_line: 9, note: String::new() });
    assert!(changes("b.ts", 8).concern(&finding) && !changes("b.ts", 10).concern(&finding));
}

/// A repository with one commit in which `sub/a.ts` has three lines; `None` where git is not there.
fn repository() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        Command::new("git").args(arguments).current_dir(folder.path()).output().ok().filter(|it| it.status.success())
    };
    git(&["init", "-q"])?;
    // A folder that is called like a prefix.
    fs::create_dir_all(folder.path().join("sub/b")).unwrap();
    fs::write(folder.path().join("sub/a.ts"), "1\n2\n3\n").unwrap();
    fs::write(folder.path().join("sub/b/c.ts"), "1\n").unwrap();
    git(&["add", "-A"])?;
    git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "one"])?;
    // What a user may have set must not matter.
    git(&["config", "diff.noprefix", "true"])?;
    git(&["config", "diff.external", "false"])?;
    git(&["config", "color.ui", "always"])?;
    Some(folder)
}

#[test]
fn git_is_asked_for_changed_and_new_files_of_the_folder() {
    let Some(folder) = repository() else { return };
    let sub = folder.path().join("sub");
    fs::write(sub.join("a.ts"), "1\ntwo\n3\n").unwrap();
    fs::write(sub.join("b/c.ts"), "one\n").unwrap();
    fs::write(sub.join("né w.ts"), "1\n").unwrap();
    fs::write(folder.path().join("outside.ts"), "1\n").unwrap();
    let changes = Changes::since("HEAD", &sub).unwrap();
    assert!(changes.touch("a.ts", 2, 2) && !changes.touch("a.ts", 1, 1) && !changes.touch("a.ts", 3, 3));
    assert!(changes.touch("b/c.ts", 1, 1) && changes.touch("né w.ts", 500, 500));
    assert!(!changes.touch("outside.ts", 1, 1) && !changes.touch("../outside.ts", 1, 1));
}

#[test]
fn a_base_that_looks_like_an_option_or_a_range_is_refused_and_does_nothing() {
    let Some(folder) = repository() else { return };
    let target = folder.path().join("written");
    for base in [&*format!("--output={}", target.display()), "--help", "-h", "HEAD..HEAD", "", "a\nb", "nowhere", "--"]
    {
        assert!(Changes::since(base, folder.path()).is_err(), "{base}");
    }
    assert!(!target.exists());
}
