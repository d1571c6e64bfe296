//! A server of this process that runs on and keeps what it was given: what a race leaves in it does not go away.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stanchion_race::Outcome;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{must_be, run};

/// When it keeps a thing twice.
#[derive(Clone, Copy, PartialEq)]
enum Doubles {
    /// Every fifth one, and nobody has to race for that.
    Fifth,
    /// While another one is on its way.
    Raced,
}

#[derive(Default)]
struct Kept {
    names: Vec<String>,
    made: usize,
    under_way: usize,
}

async fn keeps(doubles: Doubles) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let kept = Arc::new(Mutex::new(Kept::default()));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, doubles, Arc::clone(&kept)));
        }
    });
    format!("http://{address}")
}

/// `POST /NAME` makes one, `GET /` lists them.
async fn answer(socket: TcpStream, doubles: Doubles, kept: Arc<Mutex<Kept>>) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if socket.read_line(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let with = |change: &dyn Fn(&mut Kept)| change(&mut kept.lock().expect("nobody panics with it"));
    if let Some(name) = head.strip_prefix("POST /").and_then(|rest| rest.split(' ').next()) {
        with(&|kept| kept.under_way += 1);
        // How long it takes to make one: the window of the race.
        tokio::time::sleep(Duration::from_millis(10)).await;
        with(&|kept| {
            kept.made += 1;
            let is_double = match doubles {
                Doubles::Fifth => kept.made.is_multiple_of(5),
                Doubles::Raced => kept.under_way > 1,
            };
            kept.names.extend(std::iter::repeat_n(name.to_owned(), 1 + usize::from(is_double)));
            kept.under_way -= 1;
        });
    }
    let body = serde_json::to_string(&kept.lock().expect("nobody panics with it").names).unwrap_or_default();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    socket.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await
}

async fn raced(doubles: Doubles, expect: &str) -> stanchion_race::Verdict {
    let url = keeps(doubles).await;
    let text = format!(
        "version = 1\nname = \"x\"\nseed = 5\n[target]\nkind = \"http\"\nurls = [\"{url}\"]\n[limits]\nrounds = 2\nseconds = 60\n\
         [[call]]\nmethod = \"POST\"\npath = \"/{{id}}\"\ntimes = 20\n[read]\npath = \"/\"\nselect = \"/*\"\n[expect]\n{expect}\n"
    );
    run(&text).await
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_broken_is_doubted_also_where_the_server_runs_on() {
    for (expect, reason) in [
        ("once = \"{id}\"", "20 calls one after the other break `once`, too"),
        ("count = \"before+acknowledged\"", "20 calls one after the other break `count`, too"),
        ("unique = true", "cannot be judged: `unique` does not hold"),
    ] {
        let verdict = raced(Doubles::Fifth, expect).await;
        must_be(&verdict, Outcome::Inconclusive);
        assert!(verdict.reason.as_deref().is_some_and(|it| it.contains(reason)), "{expect}: {verdict}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_race_of_a_server_that_runs_on_is_told_unless_what_it_left_hides_whether_it_is_one() {
    for expect in ["once = \"{id}\"", "count = \"before+acknowledged\""] {
        let verdict = raced(Doubles::Raced, expect).await;
        must_be(&verdict, Outcome::Race);
        assert_eq!(verdict.minimal.as_ref().map(|it| it.calls), Some(2), "{verdict}");
    }
    let verdict = raced(Doubles::Raced, "unique = true").await;
    must_be(&verdict, Outcome::Inconclusive);
    let reason = verdict.reason.unwrap_or_default();
    assert!(reason.contains("`unique` was broken") && reason.contains("keeps what the race left"), "{reason}");
}
