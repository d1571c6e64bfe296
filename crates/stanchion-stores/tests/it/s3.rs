//! The recipe that others use without our code: `guards/s3`. Against moto, which is an emulator.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use stanchion_testkit::engines::Moto;
use stanchion_testkit::start_or_skip;

use crate::common::example::{NEW, OLD, Token, assert_examples, guards, text};

const EXAMPLES: [(&str, &str); 2] = [("python3", "guard.py"), ("node", "guard.mjs")];

/// Any login will do for the emulator, but there has to be one.
const LOGIN: &str = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
     SignedHeaders=host, Signature=0";

#[derive(Debug)]
struct Answer {
    status: u16,
    etag: String,
    content: String,
}

/// One request without our code and without the examples'.
fn call(server: &Moto, method: &str, path: &str, condition: &str, content: &str) -> Answer {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let length = content.len();
    let head = format!("{method} /bucket{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{LOGIN}\r\n");
    stream.write_all(format!("{head}{condition}Content-Length: {length}\r\n\r\n{content}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, content) = answer.split_once("\r\n\r\n").unwrap();
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap_or_default().to_owned();
    Answer { status: head.split(' ').nth(1).unwrap().parse().unwrap(), etag, content: content.to_owned() }
}

fn get(server: &Moto, path: &str) -> Answer {
    let answer = call(server, "GET", path, "", "");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

/// The status of a write that names the version it has read, or of one that does not.
fn put(server: &Moto, path: &str, read: Option<&Answer>, content: &str) -> u16 {
    let condition = read.map(|read| format!("If-Match: {}\r\n", read.etag)).unwrap_or_default();
    call(server, "PUT", path, &condition, content).status
}

fn create(server: &Moto, path: &str, content: &str) -> u16 {
    call(server, "PUT", path, "If-None-Match: *\r\n", content).status
}

/// Adds one to what an example has stored; each writes JSON in its own way.
fn plus_one(content: &str) -> String {
    let count = visits(content);
    let more = ["\"visits\":", "\"visits\": "].map(|name| (format!("{name}{count}"), format!("{name}{}", count + 1)));
    more.into_iter().fold(content.to_owned(), |content, (old, new)| content.replace(&old, &new))
}

fn visits(content: &str) -> u32 {
    let after = content.split("\"visits\":").nth(1).unwrap().trim_start();
    after.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn make_bucket(server: &Moto) {
    assert_eq!(call(server, "PUT", "", "", "").status, 200);
}

fn login<'a>(command: &'a mut Command, server: &Moto, key: &str) -> &'a mut Command {
    command.args([&server.url(), "bucket", key]).env_remove("AWS_SESSION_TOKEN");
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test")
}

/// What the recipe tells everybody to try first: a store that ignores the headers does so silently.
#[tokio::test]
async fn the_server_honours_both_conditions() {
    let server = start_or_skip!(Moto);
    make_bucket(&server);
    assert_eq!(create(&server, "/k", "1"), 200);
    assert_eq!(create(&server, "/k", "2"), 412);
    let read = get(&server, "/k");
    assert_eq!(read.content, "1");
    assert_eq!(put(&server, "/k", Some(&read), "3"), 200);
    assert_eq!(put(&server, "/k", Some(&read), "4"), 412);
    assert_eq!(get(&server, "/k").content, "3");
}

#[tokio::test]
async fn the_examples_in_other_languages_run_and_are_refused() {
    let server = start_or_skip!(Moto);
    make_bucket(&server);
    let ran = assert_examples("s3", &EXAMPLES, |command, file| {
        login(command, &server, file);
    });
    for file in ran {
        assert_eq!(visits(&get(&server, &format!("/{file}")).content), 3, "{file}");
    }
}

/// A reads, A's lease ends, B reads and writes, A writes. Both add one; B is an example, and its object the one of the
/// example before it: they share a format.
#[tokio::test]
async fn a_late_write_is_refused_and_without_the_condition_it_loses_an_update() {
    let server = start_or_skip!(Moto);
    make_bucket(&server);
    let run = |program: &str, file: &str, [fence, lease]: Token<'_>| {
        let mut command = Command::new(program);
        command.arg(guards("s3").join("examples").join(file));
        login(&mut command, &server, "shared").env("STANCHION_FENCE", fence).env("STANCHION_LEASE_ID", lease);
        let done = command.output().unwrap();
        (text(&done), done.status.code())
    };
    assert_eq!(run("python3", "guard.py", OLD), ("count is 1".to_owned(), Some(0)));
    let mut count = 1;
    for (program, file) in EXAMPLES {
        let seen_by_a = get(&server, "/shared");
        count += 1;
        assert_eq!(run(program, file, NEW), (format!("count is {count}"), Some(0)), "{program}");
        assert_eq!(put(&server, "/shared", Some(&seen_by_a), &plus_one(&seen_by_a.content)), 412, "{program}");
        assert_eq!(visits(&get(&server, "/shared").content), count, "{program}: acknowledged increments");

        // The control: the same again, and A's write names no version.
        let seen_by_a = get(&server, "/shared");
        assert_eq!(run(program, file, NEW), (format!("count is {}", count + 1), Some(0)), "{program}");
        assert_eq!(put(&server, "/shared", None, &plus_one(&seen_by_a.content)), 200, "{program}");
        count += 1;
        assert_eq!(visits(&get(&server, "/shared").content), count, "{program}: void: no update was lost");
    }
}

/// B has only touched so far: A's write is refused all the same. With the token in the metadata it is not.
#[tokio::test]
async fn the_touch_of_the_next_holder_refuses_the_last_and_one_in_the_metadata_does_not() {
    let server = start_or_skip!(Moto);
    make_bucket(&server);
    assert_eq!(create(&server, "/k", "0 of 5"), 200);
    let seen_by_a = get(&server, "/k");
    assert_eq!(put(&server, "/k", Some(&seen_by_a), "0 of 9"), 200, "B's token is the content");
    assert_eq!(put(&server, "/k", Some(&seen_by_a), "1 of 5"), 412);

    let seen_by_a = get(&server, "/k");
    let touch = format!("If-Match: {}\r\nx-amz-meta-fence: 12\r\n", seen_by_a.etag);
    assert_eq!(call(&server, "PUT", "/k", &touch, &seen_by_a.content).status, 200);
    assert_eq!(put(&server, "/k", Some(&seen_by_a), "1 of 9"), 200, "void: metadata count");
}
