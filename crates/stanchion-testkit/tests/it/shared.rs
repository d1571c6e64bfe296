//! A server that many test processes share, and that ends with their run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stanchion_testkit::engines::{Redis, Shared};
use stanchion_testkit::eventually;
use stanchion_testkit::process::{self, Child};

const PATIENCE: Duration = Duration::from_secs(30);

/// What `cargo xtask test` does: the folder, and a process that holds its FIFO.
struct Run {
    folder: PathBuf,
    holder: Child,
    _parent: tempfile::TempDir,
}

impl Run {
    async fn start() -> Run {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("shared");
        std::fs::create_dir(&folder).unwrap();
        let fifo = folder.join("alive");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let script = "exec 3<>\"$1\"; echo READY; exec sleep 600";
        let mut holder = Child::spawn(Command::new("sh").args(["-c", script, "xtask"]).arg(&fifo));
        holder.expect_line("READY", PATIENCE).await;
        Run { folder, holder, _parent: parent }
    }

    /// A test process: says where its server is, and stays until it is told to go.
    fn helper(&self) -> Child {
        Child::rerun_this_test_with(&[("STANCHION_SHARED", self.folder.to_str().unwrap())])
    }
}

/// In a helper: says where the server is, and waits for the word to end.
#[expect(clippy::print_stdout, reason = "the test reads it")]
async fn help() {
    let server = Shared::<Redis>::get().await;
    println!("\nSERVER {} {}", server.port(), server.dir().display());
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()).unwrap()).await.unwrap();
}

fn is_up(port: &str) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port.parse::<u16>().unwrap())).is_ok()
}

async fn is_gone(server: &str, folder: &Path) {
    let (port, dir) = server.split_once(' ').unwrap();
    eventually(PATIENCE, "the server is gone with its folder", || async { !is_up(port) && !Path::new(dir).exists() })
        .await;
    eventually(PATIENCE, "the run's folder is gone", || async { !folder.exists() }).await;
}

#[tokio::test]
async fn processes_of_one_run_get_one_server_and_it_ends_with_the_run() {
    if process::is_helper() {
        return help().await;
    }
    let mut run = Run::start().await;
    let (mut first, mut second) = (run.helper(), run.helper());
    let server = first.expect_line("SERVER", PATIENCE).await;
    assert_eq!(second.expect_line("SERVER", PATIENCE).await, server);
    let port = server.split(' ').next().unwrap();
    for helper in [&mut first, &mut second] {
        helper.write_line("go");
        assert!(helper.wait(PATIENCE).await.success());
        assert!(is_up(port), "it outlives the process that has started it");
    }
    let mut third = run.helper();
    assert_eq!(third.expect_line("SERVER", PATIENCE).await, server);
    third.kill();
    assert!(is_up(port), "nor does it end with one that is killed");
    run.holder.kill();
    is_gone(&server, &run.folder).await;
}

#[tokio::test]
async fn a_server_that_is_started_after_the_end_of_its_run_ends_at_once() {
    if process::is_helper() {
        return help().await;
    }
    let mut run = Run::start().await;
    run.holder.kill();
    run.holder.wait(PATIENCE).await;
    let mut late = run.helper();
    // Whether it still saw its server is a matter of luck.
    late.close_stdin();
    late.wait(PATIENCE).await;
    eventually(PATIENCE, "the run's folder is gone", || async { !run.folder.exists() }).await;
}

#[tokio::test]
async fn a_shared_server_cannot_be_disturbed() {
    if process::is_helper() {
        let server = Shared::<Redis>::get().await;
        for disturb in [|server: &Redis| server.kill(), |server: &Redis| server.pause()] {
            let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| disturb(&server)));
            assert!(refused.is_err());
        }
        return println!("\nREFUSED");
    }
    let run = Run::start().await;
    run.helper().expect_line("REFUSED", PATIENCE).await;
}
