//! `init` and `unwrap`: what goes in comes out, byte for byte, and nobody's edit is lost on the way.

mod corpus;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use stanchion_testkit::pause::PauseDir;

use corpus::CORPUS;

use crate::support::{Home, PATIENCE, Running, Said};

const BINARY: &str = env!("CARGO_BIN_EXE_stanchion");

/// A user with a home and a project, and `stanchion` run there.
struct User(Home);

impl User {
    fn new() -> Self {
        let home = Home::new();
        std::fs::create_dir_all(home.path("project")).expect("a project");
        Self(home)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.0.command(args);
        command.env("HOME", self.0.path("")).env_remove("XDG_CONFIG_HOME").current_dir(self.0.path("project"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn says(&self, args: &[&str]) -> Said {
        Said::from(self.command(args).output().expect("stanchion starts"))
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.says(args).exits(0).out).expect("JSON")
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, text).expect("a configuration");
        path
    }

    /// Everything of ours that lies in the folder of `path`.
    fn left_beside(&self, path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(path.parent().expect("a folder")).expect("a folder").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.contains("stanchion-"));
        names.sort();
        names
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a configuration")
}

fn value(path: &Path) -> Value {
    serde_json::from_str(&text(path)).expect("JSON")
}

fn backup(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().expect("a name").to_string_lossy();
    path.with_file_name(format!("{name}.stanchion-backup-{number}"))
}

#[test]
fn wrapping_and_unwrapping_gives_the_same_bytes_whatever_the_file_looks_like() {
    let user = User::new();
    for (name, key, content, servers) in CORPUS {
        let path = user.write(&format!("corpus/{name}"), content);
        let file = path.to_str().expect("a plain path");
        let choice = ["--file", file, "--key", key, "--yes"];
        user.says(&[&["init"][..], &choice].concat()).exits(0).says(&format!("wrapped {servers} server"));
        let wrapped = text(&path);
        assert_eq!(wrapped.matches("\"wrap\", \"--\"").count(), *servers, "{name}:\n{wrapped}");
        assert_eq!(text(&backup(&path, 1)), *content, "{name}: the backup is the original");
        let listed = user.json(&["init", "--file", file, "--key", key, "--json"]);
        let states = listed["files"][0]["servers"].as_array().expect("servers");
        assert_eq!(states.iter().filter(|server| server["state"] == "wrapped").count(), *servers, "{name}: {listed}");
        assert_eq!(listed["files"][0]["changes"], false, "{name}: there is nothing left to wrap");

        user.says(&[&["init"][..], &choice].concat()).exits(0).says("nothing to wrap");
        assert_eq!(text(&path), wrapped, "{name}: wrapped once");
        user.says(&[&["unwrap"][..], &choice].concat()).exits(0);
        assert_eq!(text(&path), *content, "{name}: the round trip");
        assert_eq!(text(&backup(&path, 2)), wrapped, "{name}: the second backup");
        user.says(&[&["unwrap"][..], &choice].concat()).exits(0).says("nothing to unwrap");
    }
}

#[test]
fn the_wrapped_server_starts_with_the_same_words_env_and_folder() {
    let user = User::new();
    let config = json!({ "theme": "dark", "mcpServers": {
        "m": { "command": "npx", "args": ["-y", "@x/memory", "--", "--flag"], "env": { "K": "v" }, "cwd": "/srv" },
        "bare": { "command": "server" },
        "far": { "url": "https://example.com/mcp" },
    }});
    let path = user.write(".cursor/mcp.json", config.to_string());
    user.says(&["init", "--client", "cursor", "--yes"]).exits(0).says("wrapped 2 servers").says("remote");
    let mut expected = config.clone();
    expected["mcpServers"]["m"]["command"] = json!(BINARY);
    expected["mcpServers"]["m"]["args"] = json!(["wrap", "--", "npx", "-y", "@x/memory", "--", "--flag"]);
    expected["mcpServers"]["bare"] = json!({ "command": BINARY, "args": ["wrap", "--", "server"] });
    assert_eq!(value(&path), expected);

    user.says(&["unwrap", "--client", "cursor", "--server", "m", "--yes"]).exits(0).says("unwrapped 1 server");
    expected["mcpServers"]["m"] = config["mcpServers"]["m"].clone();
    assert_eq!(value(&path), expected, "the other one stays wrapped");

    user.says(&["init", "--server", "m", "--name-from-config", "--yes"]).exits(0);
    expected["mcpServers"]["m"]["command"] = json!(BINARY);
    expected["mcpServers"]["m"]["args"] =
        json!(["wrap", "--name", "m", "--", "npx", "-y", "@x/memory", "--", "--flag"]);
    assert_eq!(value(&path), expected);
    user.says(&["unwrap", "--all", "--yes"]).exits(0);
    assert_eq!(text(&path), config.to_string());
}

#[test]
fn a_wrap_that_was_changed_by_hand_is_undone_or_left_alone_with_the_reason() {
    let user = User::new();
    let path = user.write(".mcp.json", "{}");
    std::fs::remove_file(path).expect("only the folder was wanted");
    let path = user.write(
        "project/.mcp.json",
        r#"{"mcpServers": {
  "options": {"command": "/old/stanchion", "args": ["--store", "redis://h", "wrap", "--name", "x", "--", "npx", "pkg"]},
  "formatted": {"command": "/old/stanchion", "args": [
    "wrap",
    "--",
    "npx",
  ]},
  "no-dashes": {"command": "/old/stanchion", "args": ["wrap", "npx", "pkg"]},
  "npx": {"command": "npx", "args": ["-y", "stanchion@1", "wrap", "--", "npx", "pkg"]},
  "commented": {"command": "stanchion", "args": ["wrap", /* mine */ "--", "npx"]},
  "itself": {"command": "stanchion", "args": ["serve"]},
  "odd": {"command": 7}, "text": "x", "odd-args": {"command": "x", "args": [1]}, "both": {"command": "x", "url": "y"},
  "twice": {"command": "a"}, "twice": {"command": "b"}
}}"#,
    );
    user.says(&["init", "--all", "--yes"])
        .exits(0)
        .says("nothing to wrap")
        .says("wrapped by hand, without `--`")
        .says("through another command")
        .says("its name is there twice")
        .says("its command is not a text")
        .says("/old/stanchion is not there");
    user.says(&["unwrap", "--all", "--yes"]).exits(0).says("unwrapped 2 servers").says("commented").says("a comment");
    let now = text(&path);
    assert!(now.contains(r#""options": {"command": "npx", "args": ["pkg"]}"#), "{now}");
    assert!(now.contains("\"formatted\": {\"command\": \"npx\", \"args\": [\n    \n  ]}"), "{now}");
    assert!(now.contains("/* mine */") && now.contains("stanchion@1"), "{now}");
}

#[test]
fn without_yes_and_without_a_terminal_nothing_is_touched() {
    let user = User::new();
    let content = CORPUS[0].2;
    let path = user.write(".claude.json", content);
    let state = || {
        let meta = std::fs::metadata(&path).expect("a file");
        (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec(), text(&path), user.left_beside(&path))
    };
    let before = state();
    user.says(&["init"]).exits(0).says("+      \"command\": ").says("--yes").says("not wrapped");
    user.says(&["init", "--dry-run", "--all"]).exits(0).says("@@ -2,6 +2,6 @@").never_says("add --yes");
    let listed = user.json(&["init", "--json"]);
    assert_eq!((&listed["files"][0]["changes"], &listed["files"][0]["written"]), (&json!(true), &json!(false)));
    assert_eq!(listed["binary"], BINARY);
    user.says(&["unwrap"]).exits(0);
    user.says(&["init", "--yes"]).exits(2).says("--all");
    user.says(&["init", "--yes", "--dry-run", "--all"]).exits(2);
    user.says(&["init", "--client", "nonsense"]).exits(2).says("cursor");
    user.says(&["init", "--server", "nonsense", "--yes"]).exits(78).says("there are: a");
    assert_eq!(state(), before);
    // The control: what looks the same above is changed by a real run.
    user.says(&["init", "--all", "--yes"]).exits(0);
    assert_ne!(state(), before);
}

#[test]
fn a_person_at_a_terminal_is_asked_and_only_a_yes_counts() {
    let user = User::new();
    let path = user.write(".claude.json", CORPUS[0].2);
    // script(1) gives it a terminal; what is typed ahead is read when it is asked for.
    let at_terminal = |answer: &str| {
        let line = format!("printf '{answer}\\n' | script -qec '{BINARY} init' /dev/null");
        let mut shell = Command::new("sh");
        let inner = user.command(&[]);
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.args(["-c", &line]).current_dir(user.0.path("project"));
        Said::from(shell.output().expect("sh starts"))
    };
    at_terminal("n").exits(0).says("wrap this server in").says("[y/N]");
    assert_eq!(text(&path), CORPUS[0].2, "no is no");
    at_terminal("y").exits(0).says("wrapped 1 server");
    assert_ne!(text(&path), CORPUS[0].2);
}

#[test]
fn the_diff_is_one_that_patch_understands() {
    let user = User::new();
    let mut patched = 0;
    for (name, key, content, _) in
        CORPUS.iter().filter(|(_, _, content, _)| !content.contains(['\r', '\u{feff}', '\\']))
    {
        // Nothing is hidden in it, and the last line ends: what else would have to be told apart.
        let content = format!("{}\n", content.trim_end().replace("\"v\"", "1").replace("\"x\"\n\n[", "1\n\n["));
        let path = user.write(&format!("patch/{name}"), &content);
        let file = path.to_str().expect("a plain path");
        let listed = user.json(&["init", "--file", file, "--key", key, "--json", "--yes"]);
        let diff = listed["files"][0]["diff"].as_str().expect("a diff");
        if diff.contains('…') {
            continue;
        }
        let old = user.write("patch/old", &content);
        let patch = user.write("patch/diff", diff);
        let ran = Command::new("patch").args(["-s", "-p0", "--fuzz=0"]).arg(&old).arg("-i").arg(&patch).output();
        let ran = Said::from(ran.expect("patch(1)"));
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}\n{diff}");
        assert_eq!(text(&old), text(&path), "{name}:\n{diff}");
        patched += 1;
    }
    assert!(patched >= 8, "only {patched} of the corpus were looked at");
}

#[test]
fn secrets_are_not_shown() {
    let user = User::new();
    user.write(".claude.json", r#"{
  "oauth": "sk-hunter2",
  "mcpServers": {
    "m": {"command": "npx", "args": ["--api-key", "hunter2", "--token=hunter2", "postgres://u:hunter2@h/d", "http://h/?k=hunter2"], "env": {"A": "hunter2"}}
  }, "more": ["hunter2"]
}"#);
    user.write(
        ".codex/config.toml",
        "a = \"hunter2\"\n[mcp_servers.m]\ncommand = \"x\"\nenv = { A = \"hunter2\" }\nb = '''\nhunter2\n'''\n",
    );
    for args in [&["init"][..], &["init", "--json"], &["init", "--all", "--yes"], &["unwrap", "--all", "--yes"]] {
        user.says(args).exits(0).never_says("hunter2");
    }
}

#[test]
fn links_and_rights_are_kept() {
    let user = User::new();
    let real = user.write("dotfiles/mcp.json", CORPUS[0].2);
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).expect("rights");
    std::fs::create_dir_all(user.0.path(".cursor")).expect("a folder");
    let link = user.0.path(".cursor/mcp.json");
    std::os::unix::fs::symlink("../dotfiles/mcp.json", &link).expect("a link");
    user.says(&["init", "--all", "--yes"]).exits(0);
    assert_eq!(std::fs::read_link(&link).expect("still a link"), Path::new("../dotfiles/mcp.json"));
    assert!(text(&real).contains("\"wrap\""), "the target was edited");
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").mode() & 0o7777;
    assert_eq!((mode(&real), mode(&backup(&real, 1))), (0o640, 0o640));
    assert_eq!(user.left_beside(&real), ["mcp.json.stanchion-backup-1"], "no lock and no new file is left");
}

#[test]
fn a_bad_file_is_named_and_the_others_are_still_done() {
    let user = User::new();
    let good = user.write(".cursor/mcp.json", CORPUS[0].2);
    let read_only = user.write(".kiro/settings/mcp.json", CORPUS[0].2);
    std::fs::set_permissions(&read_only, PermissionsExt::from_mode(0o444)).expect("rights");
    let linked = user.write(".factory/mcp.json", CORPUS[0].2);
    std::fs::hard_link(&linked, user.0.path("other-name")).expect("a second name");
    let mut deep = "[".repeat(100_000);
    deep += &"]".repeat(100_000);
    let huge = format!("{{\"mcpServers\": {{}}}}{}", " ".repeat(16 << 20));
    let bad: &[(&str, &[u8], &str)] = &[
        (".claude.json", b"{\"mcpServers\": {\"a\": {\"command\": \"x\"", "not JSON"),
        (".codeium/windsurf/mcp_config.json", b"{\"mcpServers\": 7}", "neither an object nor a list"),
        (".gemini/settings.json", b"[1]", "does not hold an object"),
        (".lmstudio/mcp.json", b"\xff\xfe{\x00", "not UTF-8"),
        (".kimi/mcp.json", huge.as_bytes(), "16 MiB"),
        (".copilot/mcp-config.json", deep.as_bytes(), "nesting depth"),
        (".codex/config.toml", b"[mcp_servers.a\ncommand = 'secret'", "on line 1"),
        (".config/zed/settings.json", b"{'single': 1}", "not JSON"),
        (".config/amp/settings.json", b"{\"amp.mcpServers\": {}, \"amp.mcpServers\": {}}", "there twice"),
    ];
    for (name, content, _) in bad {
        user.write(name, content);
    }
    std::fs::create_dir_all(user.0.path(".config/opencode/opencode.json")).expect("a folder in the way");
    user.write(".config/Claude/claude_desktop_config.json", "");
    let mut said = user.says(&["init", "--all", "--yes"]).exits(78).never_says("secret");
    for (name, _, what) in bad {
        said = said.says(name).says(what);
    }
    said.says("opencode.json").says("this is not a file").says("read-only").says("hard links").says("wrapped 1 server");
    assert!(text(&good).contains("\"wrap\""), "the good one was done");
    for (name, content, _) in bad {
        assert_eq!(std::fs::read(user.0.path(name)).expect("it is there"), *content, "{name} was not touched");
    }
    assert_eq!((text(&read_only), text(&linked)), (CORPUS[0].2.to_owned(), CORPUS[0].2.to_owned()));
    assert!(user.left_beside(&read_only).is_empty() && user.left_beside(&linked).is_empty());
    user.says(&["init", "--file", "nowhere.json"]).exits(78).says("nowhere.json");
    user.says(&["init", "--file", "nowhere"]).exits(78).says("--format");
    let file = good.to_str().expect("a plain path");
    user.says(&["init", "--file", file, "--key", "nonsense"]).exits(78).says("no member `nonsense`");
}

#[test]
fn yaml_is_explained_and_never_written() {
    let user = User::new();
    let content = "# mine\nextensions:\n  m:\n    cmd: npx # why\n    args:\n      - pkg\n  w:\n    cmd: /x/stanchion\nother:\n  cmd: no\n";
    let path = user.write(".config/goose/config.yaml", content);
    user.says(&["init", "--all", "--yes"])
        .exits(0)
        .says(&format!("line 4: `cmd: npx` becomes `cmd: \"{BINARY}\"`"))
        .says("\"wrap\", \"--\", \"npx\"")
        .never_says("line 8")
        .never_says("line 10");
    assert_eq!(text(&path), content);
    assert!(user.left_beside(&path).is_empty());
}

fn many(servers: usize) -> String {
    let one = |n: usize| format!("    \"s{n}\": {{ \"command\": \"npx\", \"args\": [\"-y\", \"pkg{n}\"] }}");
    format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", (0..servers).map(one).collect::<Vec<_>>().join(",\n"))
}

#[test]
fn many_at_the_same_time_lose_no_edit() {
    const SERVERS: usize = 12;
    let user = User::new();
    let original = many(SERVERS);
    let path = user.write(".cursor/mcp.json", &original);
    for (verb, wrapped) in [("init", SERVERS), ("unwrap", 0)] {
        let names: Vec<String> = (0..SERVERS).map(|n| format!("s{n}")).collect();
        let all: Vec<_> = names
            .iter()
            .map(|name| user.command(&[verb, "--server", name, "--yes"]).spawn().expect("stanchion starts"))
            .collect();
        for process in all {
            Said::from(process.wait_with_output().expect("it ends")).exits(0).says("wrapped 1 server");
        }
        assert_eq!(text(&path).matches("\"wrap\"").count(), wrapped, "after {verb}:\n{}", text(&path));
    }
    assert_eq!(text(&path), original);
    assert_eq!(user.left_beside(&path).len(), 2 * SERVERS, "a backup for each edit, and nothing else");
}

#[tokio::test]
async fn the_second_waits_for_the_first_and_without_the_lock_one_of_them_is_refused() {
    for locked in [true, false] {
        let user = User::new();
        let path = user.write(".cursor/mcp.json", many(2));
        let pauses = PauseDir::new();
        pauses.hold("init.before-swap");
        let mut first = user.command(&["init", "--server", "s0", "--yes"]);
        let first = first.envs([pauses.variable()]).spawn().expect("stanchion starts");
        pauses.reached("init.before-swap", PATIENCE).await;
        // The first has looked for the last time, and holds the lock.
        let second_pauses = PauseDir::new();
        if locked {
            second_pauses.hold("init.lock-busy");
        } else {
            std::fs::remove_file(path.with_file_name(".mcp.json.stanchion-lock")).expect("the lock of the first");
        }
        let mut second = user.command(&["init", "--server", "s1", "--yes"]);
        let second = second.envs([second_pauses.variable()]).spawn().expect("stanchion starts");
        if locked {
            second_pauses.reached("init.lock-busy", PATIENCE).await;
            pauses.release("init.before-swap");
            Said::from(first.wait_with_output().expect("it ends")).exits(0);
            second_pauses.release("init.lock-busy");
            Said::from(second.wait_with_output().expect("it ends")).exits(0);
            assert_eq!(text(&path).matches("\"wrap\"").count(), 2, "{}", text(&path));
        } else {
            // The control: the lock is what lets both succeed.
            Said::from(second.wait_with_output().expect("it ends")).exits(0);
            pauses.release("init.before-swap");
            Said::from(first.wait_with_output().expect("it ends")).exits(77).says("changed by somebody else");
            assert_eq!(text(&path).matches("\"wrap\"").count(), 1, "{}", text(&path));
            assert!(text(&path).contains("\"npx\", \"-y\", \"pkg1\""), "the edit of the second stays");
        }
    }
}

#[tokio::test]
async fn an_edit_by_somebody_else_after_the_diff_is_never_lost() {
    for point in ["init.before-check", "init.before-swap"] {
        for by_rename in [false, true] {
            let user = User::new();
            let path = user.write(".cursor/mcp.json", CORPUS[0].2);
            let pauses = PauseDir::new();
            pauses.hold(point);
            let mut init = user.command(&["init", "--all", "--yes"]);
            let init = init.envs([pauses.variable()]).spawn().expect("stanchion starts");
            pauses.reached(point, PATIENCE).await;
            let theirs = CORPUS[0].2.replace("pkg", "their edit");
            if by_rename {
                let new = user.write(".cursor/theirs", &theirs);
                std::fs::rename(new, &path).expect("their edit");
            } else {
                std::fs::write(&path, &theirs).expect("their edit");
            }
            pauses.release(point);
            let said = Said::from(init.wait_with_output().expect("it ends"));
            said.exits(77).says("changed by somebody else").says("run the command again");
            assert_eq!(text(&path), theirs, "{point}, by rename: {by_rename}");
            assert!(user.left_beside(&path).is_empty(), "{:?}", user.left_beside(&path));
            user.says(&["init", "--all", "--yes"]).exits(0);
            assert!(text(&path).contains("their edit") && text(&path).contains("\"wrap\""));
        }
    }
}

#[tokio::test]
async fn killed_before_the_last_step_it_leaves_the_file_and_no_lock_that_stands() {
    let user = User::new();
    let path = user.write(".cursor/mcp.json", CORPUS[0].2);
    let pauses = PauseDir::new();
    pauses.hold("init.before-swap");
    let mut init = user.command(&["init", "--all", "--yes"]);
    let mut init = Running(init.envs([pauses.variable()]).spawn().expect("stanchion starts"));
    pauses.reached("init.before-swap", PATIENCE).await;
    init.0.kill().expect("SIGKILL");
    init.0.wait().expect("it is gone");
    assert_eq!(text(&path), CORPUS[0].2);
    user.says(&["init", "--all", "--yes"]).exits(0).says("wrapped 1 server").says("backup-2");
    user.says(&["unwrap", "--all", "--yes"]).exits(0);
    assert_eq!(text(&path), CORPUS[0].2);
}
