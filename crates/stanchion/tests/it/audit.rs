//! `stanchion audit` as people, agents and build servers meet it.

mod bad_input;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Home, Said};

/// A race between processes, and a write in place that goes with it.
const NOTES: &str = "\
import json
from mcp.server.fastmcp import FastMCP

mcp = FastMCP('notes')

@mcp.tool()
def add(note: str) -> str:
    with open('/data/notes.json') as file:
        notes = json.load(file)
    notes.append(note)
    with open('/data/notes.json', 'w') as file:
        json.dump(notes, file)
    return 'ok'

mcp.run()
";

/// Each client of the server starts a process of its own.
const PROJECT: &str = "[project]\nname = 'notes'\ndependencies = ['mcp']\n[project.scripts]\nnotes = 'notes:main'\n";

/// A folder with some code, and the binary in it.
struct Tree {
    home: Home,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { home: Home::new() };
        tree.write("pyproject.toml", PROJECT);
        files.iter().for_each(|(name, text)| tree.write(name, text));
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path("tree").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn command(&self, args: &[&str]) -> Command {
        std::fs::create_dir_all(self.path("")).expect("a folder");
        let mut command = self.home.command(&["audit"]);
        command.args(args).current_dir(self.path("")).env("COLUMNS", "100");
        command
    }

    fn audit(&self, args: &[&str]) -> Said {
        Said::from(self.command(args).output().expect("stanchion starts"))
    }

    fn json(&self, args: &[&str]) -> Value {
        let said = self.audit(&[args, &["--json"]].concat());
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]);
        let output = git.args(args).current_dir(self.path("")).output().expect("git");
        assert!(output.status.success(), "{output:?}");
    }
}

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().expect("findings").iter().map(|one| one["code"].as_str().expect("a code")).collect()
}

#[test]
fn a_race_is_shown_with_its_lines_why_and_two_fixes_and_gives_1() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    let said = tree.audit(&[]).exits(1);
    let lines: Vec<&str> = said.out.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], "high: RC101 lost-update-file", "{}", said.out);
    assert!(said.out.contains("--> notes.py:12 in add"), "{}", said.out);
    for (role, text) in [("read", "notes = json.load(file)"), ("write", "json.dump(notes, file)")] {
        let line = lines.iter().find(|line| line.ends_with(text)).unwrap_or_else(|| panic!("{text}: {}", said.out));
        assert!(line.trim_start().starts_with(role), "{line}");
    }
    let said = said.says("why: ").says("fix: Hold one lock of the host").says("stanchion: An MCP server, unchanged");
    let last = said.out.lines().last().expect("a closing line");
    assert!(last.contains(" high") && last.contains("in 1 file, 15 lines, "), "{last}");
    assert_eq!(said.err, "", "no progress without a terminal");
    tree.audit(&["notes.py"]).exits(1).says("RC101");
    tree.audit(&["--select", "RC4"]).exits(0).says("no findings in 1 file");
}

#[test]
fn every_format_is_what_its_readers_expect() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    let report = tree.json(&[]);
    assert!(codes(&report).contains(&"RC101"), "{report:#}");
    let first = &report["findings"][0];
    assert_eq!((first["path"].as_str(), first["flow"][0]["role"].as_str()), (Some("notes.py"), Some("read")));
    assert_eq!(tree.json(&[])["findings"], report["findings"], "the same files, the same findings");

    let agent = tree.audit(&["--format", "agent"]).exits(1).out;
    assert!(agent.starts_with("notes.py:12: RC101 high/"), "{agent}");
    tree.audit(&["--format", "github"]).exits(1).says("::error file=notes.py,line=12,");
    tree.audit(&["--format", "junit"]).exits(1).says("<testsuite");
    // To a file, which a reader finds whole, and as readable as any other file.
    let file = tree.path("audit.sarif");
    let said = tree.audit(&["--format", "sarif", "--output", "audit.sarif"]).exits(1);
    assert_eq!(said.out, "");
    let said = said.says(" in 1 file, ");
    let sarif: Value = serde_json::from_slice(&std::fs::read(&file).expect("a report")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "RC101", "{said:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let other = tree.path("other");
        std::fs::write(&other, "").expect("a file");
        let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode(&file), mode(&other));
    }
}

#[test]
fn rules_are_listed_and_explained() {
    let tree = Tree::new(&[]);
    tree.audit(&["--rules"]).exits(0).says("RC101  high    lost-update-file").says("RC407");
    let list = serde_json::from_str::<Value>(&tree.audit(&["--rules", "--json"]).exits(0).out).expect("JSON");
    assert_eq!((list[0]["code"].as_str(), list.as_array().map(Vec::len)), (Some("RC101"), Some(30)));
    tree.audit(&["--explain", "rc302"]).exits(0).says("# RC302 non-atomic-write").says("## Fix without a library");
    let page = serde_json::from_str::<Value>(&tree.audit(&["--explain", "RC302", "--json"]).out).expect("JSON");
    assert!(page["page"].as_str().is_some_and(|page| page.starts_with("# RC302")), "{page}");
    tree.audit(&["--explain", "RC3O2"]).exits(2).says("there is no rule `RC3O2`").says("hint: did you mean `RC302`?");
    tree.audit(&["--explain", "nonsense"]).exits(2).says("RC101 to RC407");
    tree.home.output(&["help", "audit"]).exits(0).says("Exit codes").says("--emit-probe").says("suppresses");
    tree.home.output(&["help", "exit-codes"]).exits(0).says("`audit`: something was found");
}

#[test]
fn a_baseline_leaves_only_what_is_new() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    tree.audit(&["--baseline", "b.json", "--write-baseline"]).exits(0).says("findings written");
    tree.audit(&["--baseline", "b.json"]).exits(0).says("no findings").says("in the baseline");
    // Moved by a line, it is the same; under another name, it is another.
    tree.write("notes.py", format!("# moved\n{NOTES}"));
    tree.audit(&["--baseline", "b.json"]).exits(0);
    tree.write("more.py", NOTES.replace("notes.json", "more.json"));
    let report = tree.json(&["--baseline", "b.json"]);
    assert!(report["findings"].as_array().expect("findings").iter().all(|one| one["path"] == "more.py"), "{report:#}");
    assert!(report["summary"]["known"].as_u64() > Some(0));
    std::fs::remove_file(tree.path("notes.py")).expect("it was there");
    tree.audit(&["--baseline", "b.json"]).exits(1).says("gone from the baseline");
    tree.audit(&["--baseline", "b.json", "more.py"]).exits(1).never_says("gone from the baseline");
}

#[test]
fn only_what_changed_lines_have_to_do_with_is_reported() {
    let tree = Tree::new(&[("notes.py", NOTES), ("other.py", &NOTES.replace("notes.json", "other.json"))]);
    tree.audit(&["--diff", "HEAD"]).exits(2).says("git").says("hint: ");
    tree.git(&["init", "--quiet"]);
    tree.git(&["add", "."]);
    tree.git(&["commit", "--quiet", "-m", "first"]);
    tree.audit(&["--diff", "HEAD"]).exits(0).says("no findings in 2 files");
    tree.write("other.py", NOTES.replace("notes.json", "other.json").replace("load(file)", "load(file) or []"));
    let report = tree.json(&["--diff", "HEAD"]);
    assert!(!codes(&report).is_empty(), "the line of the read changed");
    assert!(report["findings"].as_array().expect("findings").iter().all(|one| one["path"] == "other.py"), "{report:#}");
    tree.audit(&["--diff", "no-such-branch"]).exits(2).says("`no-such-branch` cannot be compared with");
}

#[test]
fn git_is_asked_in_the_folder_that_was_named_if_this_one_is_in_no_repository() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    tree.git(&["init", "-q"]);
    tree.git(&["add", "."]);
    tree.git(&["commit", "-q", "-m", "one"]);
    let outside = |args: &[&str]| {
        let mut command = tree.command(args);
        command.current_dir(tree.home.path("")).env("GIT_CEILING_DIRECTORIES", tree.home.path(""));
        Said::from(command.output().expect("stanchion starts"))
    };
    outside(&["--diff", "HEAD", "tree"]).exits(0);
    tree.write("notes.py", NOTES.replace("json.dump(notes, file)", "json.dump(notes, file, indent=1)"));
    outside(&["--diff", "HEAD", "tree"]).exits(1).says("tree/notes.py");
    outside(&["--diff", "HEAD"]).exits(2).says("start it in the repository, or name the one folder");
    outside(&["--diff", "nowhere", "tree"]).exits(2).says("give a commit, a tag or a branch");
}

#[test]
fn a_configuration_that_does_not_count_is_noted() {
    let tree = Tree::new(&[("sub/notes.py", NOTES), ("sub/stanchion-audit.toml", "[rules]\nRC101 = 'off'\n")]);
    tree.audit(&["sub"]).exits(1).says("RC101").says("sub/stanchion-audit.toml: not read: the");
    tree.audit(&[]).exits(1).never_says("not read: ");
    tree.audit(&["sub", "--config", "sub/stanchion-audit.toml"]).never_says("not read: ");
}

#[test]
fn thresholds_choose_what_is_reported_and_what_fails() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    let all = codes(&tree.json(&[])).join(" ");
    assert!(all.contains("RC101") && all.contains("RC302"), "{all}");
    assert_eq!(codes(&tree.json(&["--severity", "high"])), ["RC101"]);
    assert_eq!(codes(&tree.json(&["--select", "RC1", "--select", "non-atomic-write", "--ignore", "RC101"])), ["RC302"]);
    tree.audit(&["--ignore", "RC101", "--fail-on", "high"]).exits(0).says("RC302");
    tree.audit(&["--ignore", "RC101"]).exits(1);
    tree.write("stanchion-audit.toml", "fail_on = 'high'\n[rules]\nRC101 = 'off'\n");
    tree.audit(&[]).exits(0).says("RC302").never_says("lost-update-file");
    tree.audit(&["--fail-on", "low"]).exits(1);
    tree.audit(&["--select", "RC101"]).exits(1).says("lost-update-file");
    tree.audit(&["--severity", "hihg"]).exits(2).says("low, medium, high");
    // How many run is for the files to say, or for the user.
    let code = NOTES.split("from mcp").next().expect("text").to_owned()
        + "def add(note):\n"
        + NOTES.split("str:\n").nth(1).expect("text").split("\nmcp").next().expect("text");
    let loose = Tree::new(&[("notes.py", &code)]);
    assert!(!codes(&loose.json(&["--instances", "one"])).contains(&"RC101"), "{code}");
    assert!(codes(&loose.json(&["--instances", "many"])).contains(&"RC101"), "{code}");
}

#[test]
fn the_checklist_is_filled_in_with_evidence_and_a_grade() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    let text = tree.audit(&["--checklist"]).exits(1).says("[FAIL]").says("notes.py:12 RC101").says("Grade: ").out;
    assert!(text.contains("[not seen] Work by the clock") && text.contains("[by hand]"), "{text}");
    let list = tree.json(&["--checklist"]);
    assert_eq!((list["items"][0]["state"].as_str(), list["grade"].is_string()), (Some("fail"), true), "{list:#}");
    // Before the work: a path that is not there would be told first otherwise.
    tree.audit(&["--checklist", "--format", "sarif", "nowhere"]).exits(2).says("allowed: text, json");
}

#[test]
fn a_comment_with_a_reason_suppresses_and_one_without_is_noted() {
    let write = "        json.dump(notes, file)";
    let with = |comment: &str| NOTES.replace(write, &format!("        # stanchion-audit: {comment}\n{write}"));
    let tree = Tree::new(&[("notes.py", &with("ignore RC101,RC302 -- one process by design"))]);
    let said = tree.audit(&["--select", "RC101,RC302"]).exits(0);
    said.says("suppressed");
    tree.write("notes.py", with("ignore RC101"));
    tree.audit(&[]).exits(1).says("notes.py:12: this gives no reason and suppresses nothing");
}

#[test]
fn the_table_of_the_shared_file_configures_the_audit_and_the_gateway_takes_no_notice() {
    let policy = "[servers.notes]\ncommand = ['python3', 'notes.py']\n[audit]\n[audit.rules]\nRC101 = 'off'\n";
    let tree = Tree::new(&[("notes.py", NOTES), ("stanchion.toml", policy)]);
    let report = tree.json(&[]);
    assert!(!codes(&report).contains(&"RC101") && !codes(&report).is_empty(), "{report:#}");
    let file = tree.path("stanchion.toml");
    let file = file.to_str().expect("a name");
    tree.home.output(&["policy", "check", file]).exits(0).says("is good: servers 1");
    tree.write("stanchion-audit.toml", "");
    tree.audit(&[]).exits(2).says("both this file and the table [audit]").says("hint: keep one of them");
    tree.audit(&["--config", "stanchion-audit.toml"]).exits(1).says("RC101");
}

#[test]
fn another_code_base_is_looked_at_from_its_own_root() {
    let tree = Tree::new(&[("notes.py", NOTES), ("stanchion-audit.toml", "[rules]\nRC302 = 'off'\n")]);
    let elsewhere = Tree::new(&[]);
    let there = tree.path("");
    let report = elsewhere.json(&[there.to_str().expect("a name")]);
    assert_eq!(report["findings"][0]["path"], "notes.py");
    assert!(!codes(&report).contains(&"RC302"), "its own configuration holds");
}

#[test]
fn what_the_documentation_says_of_models_works() {
    let docs = include_str!("../../../../docs/audit.md");
    let blocks: Vec<&str> = docs.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [config, model] = blocks.as_slice() else { panic!("two blocks: {blocks:?}") };
    let code = "import acme\nstore = acme.connect()\ndef add(n):\n    count = store.fetch('count')\n    store.put('count', count + n)\n";
    let tree = Tree::new(&[("src/a.py", code), ("audit-models.toml", model)]);
    assert_eq!(codes(&tree.json(&["--instances", "many"])), [] as [&str; 0]);
    tree.write("stanchion-audit.toml", config);
    assert_eq!(codes(&tree.json(&[])), ["RC103"]);
}

#[test]
fn probes_are_written_once_and_never_over_what_is_there() {
    let tree = Tree::new(&[("notes.py", NOTES)]);
    tree.audit(&["--emit-probe", "probes"]).exits(1).says("race specifications written");
    let probes = || std::fs::read_dir(tree.path("probes")).expect("a folder").flatten().map(|entry| entry.path());
    for probe in probes() {
        std::fs::write(probe, "mine").expect("a file");
    }
    tree.audit(&["--emit-probe", "probes"]).exits(1).says("0 race specifications written");
    assert!(probes().all(|probe| std::fs::read_to_string(probe).expect("a file") == "mine"));
}

/// What we ask of others. Where a race is shown on purpose, a comment says so, and none is left over.
#[test]
fn our_own_code_has_no_finding_without_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_stanchion")).arg("audit").arg("--json").current_dir(root).output();
    let output = output.unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let open = |finding: &&Value| finding.get("suppressed").is_none();
    let found: Vec<&Value> = said["findings"].as_array().unwrap().iter().filter(open).collect();
    assert!(found.is_empty(), "{found:#?}");
    let unused = |note: &&Value| note["text"].as_str().unwrap().contains("suppresses no");
    let notes: Vec<&Value> = said["notes"].as_array().unwrap().iter().filter(unused).collect();
    assert!(notes.is_empty(), "{notes:#?}");
    assert_eq!(output.status.code(), Some(0));
    assert!(said["summary"]["files"].as_u64().unwrap() > 500, "{}", said["summary"]);
}
