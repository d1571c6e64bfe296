//! A lost lease: the command is dead before anybody else can hold the lock.

use stanchion_testkit::engines::Redis;
use stanchion_testkit::{eventually, eventually_sync};

use crate::support::{Home, PATIENCE};

#[tokio::test]
async fn when_the_store_dies_the_command_is_dead_before_the_lease_ends() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let beat = home.path("beat");
    // It ignores SIGTERM, so only the kill at the deadline ends it; each beat is a time since boot.
    let script =
        format!("trap '' TERM; while :; do cat /proc/uptime > {0}.part; mv {0}.part {0}; done", beat.display());
    let args = ["run", "--ttl", "2s", "--grace", "500ms", "--lock", "deploy", "--", "sh", "-c", &script];
    let process = home.command(&args).stderr(std::process::Stdio::piped()).spawn().expect("stanchion starts");
    eventually_sync(PATIENCE, "the command beats", || beat.exists());
    redis.kill();
    // Every renewal was sent before this moment, so the lease may live until two seconds after it, and no longer.
    let killed = uptime("/proc/uptime");
    let said = crate::support::Said::from(process.wait_with_output().expect("it ends")).exits(76);
    let last = uptime(&beat);
    assert!(last < killed + 2.0, "the last beat came {:.2} s after the store died", last - killed);
    said.says("lost");
}

fn uptime(file: impl AsRef<std::path::Path>) -> f64 {
    let text = std::fs::read_to_string(file).expect("a time");
    text.split(' ').next().and_then(|seconds| seconds.parse().ok()).expect("seconds since boot")
}

#[tokio::test]
async fn a_stopped_holder_is_told_when_it_wakes_and_the_next_one_has_a_higher_fence() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let holding = home.hold("deploy", &["--ttl", "500ms"]);
    let old = fence(&home);
    holding.signal("STOP");
    let said =
        home.output(&["run", "--lock", "deploy", "--wait", "20s", "--", "sh", "-c", "echo $STANCHION_FENCE"]).exits(0);
    let new: u64 = said.out.trim().parse().expect("a fence");
    assert!(new > old, "{new} > {old}");
    holding.signal("CONT");
    eventually_sync(PATIENCE, "the command is stopped", || !holding.child_lives());
    holding.wait().exits(76).says("lost");
}

#[tokio::test]
async fn an_operator_can_take_a_lease_away() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let holding = home.hold("deploy", &["--ttl", "1s"]);
    let mut release = home.command(&["lock", "release", "deploy", "--reason", "stuck since noon"]);
    let released = release.env("SUDO_USER", "ann").output().expect("stanchion starts");
    crate::support::Said::from(released).exits(0).says("taken away");
    eventually_sync(PATIENCE, "the command is stopped", || !holding.child_lives());
    holding.wait().exits(76);
    let audit = std::fs::read_to_string(home.path("audit.jsonl")).expect("an audit line");
    let lines: Vec<&str> = audit.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("stuck since noon")), "{audit}");
    assert!(lines[0].contains(r#""step":"intent""#) && !lines[0].contains("outcome"), "{audit}");
    assert!(lines[1].contains(r#""outcome":"released""#), "{audit}");
    assert!(lines.iter().all(|line| line.contains(r#""sudo_user":"ann""#)), "{audit}");
}

#[tokio::test]
async fn a_lost_lock_kills_the_whole_process_group() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let pid_file = home.path("grandchild");
    let script = format!(
        "sh -c 'trap \"\" TERM; echo $$ > {0}.part; mv {0}.part {0}; while :; do sleep 0.05; done' & wait",
        pid_file.display()
    );
    let mut process = home
        .command(&["run", "--ttl", "1s", "--lock", "a", "--", "sh", "-c", &script])
        .spawn()
        .expect("stanchion starts");
    eventually_sync(PATIENCE, "the grandchild runs", || pid_file.exists());
    let pid = std::fs::read_to_string(&pid_file).expect("a pid").trim().to_owned();
    redis.kill();
    assert_eq!(process.wait().expect("it ends").code(), Some(76));
    eventually(PATIENCE, "the grandchild is dead", || async {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    })
    .await;
}

#[tokio::test]
async fn max_hold_ends_even_a_healthy_lease() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    home.output(&["run", "--lock", "a", "--max-hold", "300ms", "--", "sleep", "60"]).exits(76);
    // Shorter than the default grace, and still not shot at from the start.
    home.output(&["run", "--lock", "a", "--max-hold", "3s", "--", "sh", "-c", "sleep 0.3; exit 5"]).exits(5);
    home.output(&["run", "--lock", "a", "--max-hold", "0s", "--", "true"]).exits(78).says("max_hold");
}

#[tokio::test]
async fn on_lost_warn_passes_the_code_of_the_command() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let (ready, done) = (home.path("ready"), home.path("done"));
    let script = format!(": > {}; while [ ! -e {} ]; do sleep 0.02; done; exit 9", ready.display(), done.display());
    let args = ["run", "--ttl", "300ms", "--on-lost", "warn", "--lock", "a", "--", "sh", "-c", &script];
    let mut process = home.command(&args).stderr(std::process::Stdio::piped()).spawn().expect("stanchion starts");
    eventually_sync(PATIENCE, "the command runs", || ready.exists());
    redis.kill();
    let mut err = String::new();
    let mut lines = std::io::BufReader::new(process.stderr.take().expect("its stderr is ours"));
    while !err.contains("the lock is lost") {
        let read = std::io::BufRead::read_line(&mut lines, &mut err).expect("text");
        assert!(read > 0, "it never said that the lock is lost: {err}");
    }
    std::fs::write(&done, "").expect("the mark");
    assert_eq!(process.wait().expect("it ends").code(), Some(9));
}

#[tokio::test]
async fn giving_up_leaves_nothing_held_in_the_store() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let _b = home.hold("b", &[]);
    let args = ["run", "-q", "--lock", "a", "--lock", "b", "--wait", "forever", "--", "true"];
    let mut waiter = home.command(&args).spawn().expect("stanchion starts");
    let holds_a = || home.output(&["lock", "ls", "--json", "a"]).out.contains(&format!("\"pid\":{}", waiter.id()));
    eventually_sync(PATIENCE, "it holds the first lock", holds_a);
    crate::support::signal(waiter.id(), "TERM");
    assert_eq!(waiter.wait().expect("it ends").code(), Some(143));
    home.output(&["run", "--lock", "a", "--wait", "0", "--", "true"]).exits(0);
    home.output(&["why", "b", "--json"]).exits(0).says("\"waiters\":[]");
}

#[tokio::test]
async fn chaos_in_the_shipped_binary_loses_nothing() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let file = home.path("count");
    std::fs::write(&file, "0").expect("a file");
    let script = format!("n=$(cat {0}); echo $((n + 1)) > {0}", file.display());
    let start = |i: u32| {
        let mut command = home.command(&["run", "--lock", "count", "--wait", "60s", "--", "sh", "-c", &script]);
        command.env("STANCHION_CHAOS", format!("delay=5ms,lost=0.2,seed={i}")).stderr(std::process::Stdio::piped());
        command.spawn().expect("stanchion starts")
    };
    let team: Vec<_> = (0..12).map(start).collect();
    let outputs = team.into_iter().map(|process| process.wait_with_output().expect("it ends"));
    let done = outputs.filter(|output| {
        assert!(String::from_utf8_lossy(&output.stderr).contains("CHAOS IS ON"));
        output.status.success()
    });
    let done = done.count();
    assert_eq!(std::fs::read_to_string(&file).expect("a number").trim(), done.to_string());
    assert!(done >= 10, "only {done} of 12 succeeded");
}

fn fence(home: &Home) -> u64 {
    let said = home.output(&["lock", "show", "deploy", "--json"]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    value["holders"][0]["fence"].as_u64().expect("a fence")
}

#[tokio::test]
async fn a_command_stopped_by_ctrl_z_past_its_lease_is_not_continued() {
    let redis = Redis::start().await;
    let home = Home::with_store(redis.url());
    let holding = home.hold("deploy", &["--ttl", "500ms"]);
    holding.signal("TSTP");
    // Somebody else gets the lock: so the lease has ended while both stood still.
    home.output(&["run", "--lock", "deploy", "--wait", "20s", "--", "true"]).exits(0);
    holding.signal("CONT");
    eventually_sync(PATIENCE, "the command is killed", || !holding.child_lives());
    holding.wait().exits(76).says("lost");
}

#[test]
fn ctrl_z_within_the_lease_goes_on() {
    let home = Home::new();
    let holding = home.hold("deploy", &[]);
    holding.signal("TSTP");
    let state = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    eventually_sync(PATIENCE, "both stand still", || {
        state(&holding.child_pid).contains(") T ") && state(&holding.pid().to_string()).contains(") T ")
    });
    holding.signal("CONT");
    holding.finish().exits(0);
}
