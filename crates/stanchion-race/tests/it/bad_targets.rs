//! Whatever a target does, the verdict is inconclusive with its reason, and never that all is well.

use stanchion_race::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{memory_spec, must_be, run, target};

/// A server in shell: answers the handshake, and every call with a line of the test's choice.
fn shell(answer: &str) -> String {
    let hello =
        r#"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":{\\\"protocolVersion\\\":\\\"2025-06-18\\\"}}"#;
    format!("\"sh\", \"-c\", \"read a; echo \\\"{hello}\\\"; read b; read c; {answer}\"")
        .replace('{', "{{")
        .replace('}', "}}")
}

async fn reason(command: &str, change: impl Fn(String) -> String) -> String {
    let text = memory_spec(command, 2, 5, 2, "").replace("start_seconds = 60", "start_seconds = 2");
    let verdict = run(&change(text.replace("[limits]", "[limits]\ncall_seconds = 1"))).await;
    must_be(&verdict, Outcome::Inconclusive);
    assert_eq!(verdict.outcome.exit_code(), 3);
    verdict.reason.expect("a reason")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_not_to_answer_is_told() {
    let same = |text: String| text;
    let long = "sleep 60";
    let cases = [
        (r#""/no/such/program""#.to_owned(), "could not be started"),
        (r#""sh", "-c", "echo broken >&2; exit 7""#.to_owned(), "exit status: 7; it said: broken"),
        (r#""sleep", "60""#.to_owned(), "did not answer in 2 s"),
        (
            r#""sh", "-c", "read a; echo hello; sleep 60""#.to_owned(),
            "did not answer in 2 s: it wrote a line that is no message: hello",
        ),
        (shell(long), "the setup call create_entities was not acknowledged: no answer in 1 s"),
        (shell("exit 3"), "it ended with exit status: 3"),
        (shell("echo nonsense; sleep 60"), "it wrote a line that is no message: nonsense"),
    ];
    for (command, expected) in cases {
        let reason = reason(&command, same).await;
        assert!(reason.contains(expected), "{command}: {reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tools_and_unreadable_ends_are_told() {
    let ours = format!("\"{}\", \"memory\", \"{{dir}}/memory.jsonl\"", target());
    let unknown = reason(&ours, |text| {
        text.replacen("[[call]]\n        tool = \"create_entities\"", "[[call]]\n        tool = \"nope\"", 1)
    })
    .await;
    assert!(unknown.contains("was not acknowledged at nope"), "{unknown}");
    let unread = reason(&ours, |text| text.replace("read_graph", "nope")).await;
    assert!(unread.contains("could not be read back: nope"), "{unread}");
    let wrong = reason(&ours, |text| text.replace("every = \"{id}\"", "every = \"x{id}\"")).await;
    assert!(wrong.contains("already breaks `every`: 1 acknowledged, 0 kept, 1 lost"), "{wrong}");
    assert!(wrong.contains("`select = \"/entities/*/name\"` found 2 values in what was read: {"), "{wrong}");
    let nowhere = reason(&ours, |text| text.replace("/entities/*/name", "/items/*/name")).await;
    let found = "`select = \"/items/*/name\"` found nothing in what was read: {\"entities\":[{";
    assert!(nowhere.replace(' ', "").contains(&found.replace(' ', "")), "{nowhere}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_says_of_its_end_is_told_although_a_stack_follows() {
    let stack = "    at Module.run (a.js:1:1)\\n".repeat(60);
    let command =
        format!(r#""sh", "-c", "printf 'Error: DATABASE_URL is not set\n{stack}\nNode.js v20.20.2\n' >&2; exit 1""#)
            .replace("\\\\n", "\\n");
    let reason = reason(&command, |text| text).await;
    assert!(reason.ends_with("exit status: 1; it said: Error: DATABASE_URL is not set"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_of_the_address_reaches_the_server_and_no_text() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let read = socket.read(&mut request).await.unwrap_or_default();
            let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned();
            // As Express does.
            let answer = format!("HTTP/1.1 401 X\r\ncontent-length: {}\r\n\r\n{line}", line.len());
            socket.write_all(answer.as_bytes()).await.unwrap_or_default();
        }
    });
    for (kind, call, asked) in [
        ("http", "path = \"/n?a=b\"", "GET /mcp/n?…&a=b HTTP/1.1"),
        ("mcp-http", "tool = \"x\"", "POST /mcp?… HTTP/1.1"),
    ] {
        let text = format!(
            "version = 1\nname = \"x\"\n[target]\nkind = \"{kind}\"\nurls = [\"http://{address}/mcp?key=s3cret\"]\n\
             [limits]\ncall_seconds = 1\n[[call]]\n{call}\n[expect]\nanswers = true\n"
        );
        let verdict = run(&text).await;
        must_be(&verdict, Outcome::Inconclusive);
        let reason = verdict.reason.as_deref().unwrap_or_default();
        assert!(reason.contains(&format!("401 {asked}")), "{kind}: {reason}");
        assert!(!verdict.to_json().contains("s3cret") && !reason.contains("may_have_run"), "{kind}: {reason}");
    }
}

/// The notes of `examples/target`, with more to say of the target and of the call.
fn notes(how: &str, call: &str, expect: &str) -> String {
    format!(
        "version = 1\nname = \"x\"\nseed = 5\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"{}\", \"notes\", \"{{dir}}/notes\", \"{how}\"]\n\
         [limits]\nseconds = 60\n[[call]]\ntool = \"add_note\"\narguments = {{ text = \"{{id}}\" }}\n{call}\n\
         [read]\ntool = \"list_notes\"\n[expect]\nevery = \"{{id}}\"\n{expect}\n",
        target()
    )
}

/// It loses things, and nobody has to race for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_not_deterministic_is_not_told_to_race() {
    let text = notes("forgets", "times = 100", "");
    let verdict = run(&text).await;
    must_be(&verdict, Outcome::Inconclusive);
    let reason = verdict.reason.unwrap();
    assert!(reason.contains("100 calls one after the other break `every`, too"), "{reason}");
}

/// The same, so slow that the calls of a round cannot be made one after the other in the time there is.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_that_could_not_be_doubted_is_not_told_as_one() {
    let text = |seconds: u64| {
        format!(
            "version = 1\nname = \"x\"\nseed = 5\n[target]\nkind = \"http\"\ncommand = [\"{}\", \"counter\", \"{{port}}\", \"{{dir}}/n\", \"slow\"]\n\
             urls = [\"http://127.0.0.1:{{port}}\"]\ninstances = 1\n[limits]\nseconds = {seconds}\n[[call]]\nmethod = \"POST\"\npath = \"/\"\n\
             times = 20\n[read]\npath = \"/\"\n[expect]\nsum = {{ select = \"/value\", is = \"before+acknowledged\" }}\n",
            target()
        )
    };
    for (seconds, expected) in [
        (
            4,
            "`sum` was broken (sum is 16 instead of 20 (20 acknowledged, 0 unknown)), but whether that needs a race is not known: the same \
             20 calls one after the other take longer than 4 s; raise limits.seconds",
        ),
        (60, "20 calls one after the other break `sum`, too"),
    ] {
        let verdict = run(&text(seconds)).await;
        must_be(&verdict, Outcome::Inconclusive);
        let reason = verdict.reason.unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_share_nothing_are_told_to_and_do_not_race() {
    for times in ["times = 1", "times = 20"] {
        let verdict = run(&notes("private", times, "")).await;
        must_be(&verdict, Outcome::Inconclusive);
        let reason = verdict.reason.unwrap();
        assert!(reason.contains("the instances do not share what they keep"), "{reason}");
        assert!(reason.ends_with("or race one of them: `instances = 1`"), "{reason}");
    }
    let alone = notes("private", "", "").replace("[limits]", "instances = 1\n[limits]\nrounds = 3");
    must_be(&run(&alone).await, Outcome::NothingFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_which_a_killed_process_does_not_start_again_is_what_readable_is_about() {
    let kill = "times = 5\nfaults = [\"kill\"]\n[faults]\nchance = 0.5";
    let text = |expect| notes("torn", kill, expect).replace("[limits]", "instances = 1\n[limits]");
    let verdict = run(&text("readable = true")).await;
    must_be(&verdict, Outcome::Race);
    let violation = &verdict.found.as_ref().unwrap().violations[0];
    assert_eq!(violation.expectation, "readable");
    assert!(violation.what.contains("the process does not start again after it was killed: it ended"), "{verdict}");
    assert!(violation.what.contains("half a note"), "{verdict}");
    let verdict = run(&text("")).await;
    must_be(&verdict, Outcome::Inconclusive);
    let reason = verdict.reason.unwrap();
    assert!(reason.contains("instance 0: the process does not start again after it was killed"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_that_show_nothing_are_told_and_not_counted() {
    let verdict = run(&notes("sound", "times = 1\nfaults = [\"lost-reply\"]\n[faults]\nchance = 0.5", "")).await;
    must_be(&verdict, Outcome::NothingFound);
    assert!(verdict.void > 0 && verdict.rounds > 0 && verdict.rounds + verdict.void == 20, "{verdict}");
    assert_eq!((verdict.calls.unknown, verdict.faults.len()), (0, 0), "{verdict}");
    assert_eq!(u64::try_from(verdict.calls.acknowledged), Ok(verdict.rounds), "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_another_machine() {
    for (kind, call) in [("http", "path = \"/\""), ("mcp-http", "tool = \"x\"")] {
        let text = format!(
            "version = 1\nname = \"x\"\n[target]\nkind = \"{kind}\"\nurls = [\"http://192.0.2.1:9/mcp\"]\n[[call]]\n{call}\n[expect]\nanswers = true\n"
        );
        let verdict = run(&text).await;
        must_be(&verdict, Outcome::Inconclusive);
        let reason = verdict.reason.unwrap();
        assert!(reason.contains("192.0.2.1 is not this machine; `--allow-remote 192.0.2.1`"), "{reason}");
    }
}

/// A server of this process that answers every connection with these bytes, and then holds or closes it.
async fn serves(answer: &'static [u8], holds: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if socket.read(&mut request).await.is_ok_and(|read| read > 0) {
                socket.write_all(answer).await.unwrap_or_default();
            }
            held.extend(holds.then_some(socket));
        }
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_speaks_something_else_or_nothing_is_told() {
    let cases: [(&str, &'static [u8], bool, &str); 6] = [
        ("http", b"nonsense\r\n\r\n", false, "not HTTP"),
        ("http", b"", true, "no answer in 1 s"),
        ("http", b"", false, "no answer"),
        ("http", b"HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops", false, "500 oops"),
        ("mcp-http", b"HTTP/1.1 200 X\r\ncontent-length: 4\r\n\r\noops", false, "oops"),
        ("mcp-http", b"HTTP/1.1 404 X\r\ncontent-length: 4\r\n\r\ngone", false, "404 gone"),
    ];
    for (kind, answer, holds, expected) in cases {
        let url = serves(answer, holds).await;
        let call = if kind == "http" { "path = \"/\"" } else { "tool = \"x\"" };
        let text = format!(
            "version = 1\nname = \"x\"\n[target]\nkind = \"{kind}\"\nurls = [\"{url}\"]\nstart_seconds = 2\n[limits]\ncall_seconds = 1\n[[call]]\n{call}\n[expect]\nanswers = true\n"
        );
        let verdict = run(&text).await;
        must_be(&verdict, Outcome::Inconclusive);
        let reason = verdict.reason.unwrap();
        assert!(reason.contains(expected), "{kind} {expected}: {reason}");
    }
}
