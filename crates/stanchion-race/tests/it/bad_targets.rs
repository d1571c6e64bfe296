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
}

/// It loses things, and nobody has to race for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_not_deterministic_is_not_told_to_race() {
    let text = format!(
        "version = 1\nname = \"x\"\nseed = 5\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"{}\", \"notes\", \"{{dir}}/notes\", \"forgets\"]\n\
         [[call]]\ntool = \"add_note\"\narguments = {{ text = \"{{id}}\" }}\ntimes = 100\n[read]\ntool = \"list_notes\"\n[expect]\nevery = \"{{id}}\"\n",
        target()
    );
    let verdict = run(&text).await;
    must_be(&verdict, Outcome::Inconclusive);
    let reason = verdict.reason.unwrap();
    assert!(reason.contains("100 calls one after the other break `every`, too"), "{reason}");
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
