//! Many calls at once, of one caller and of several.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::json;

use super::site::{BOTH, Instance, Site, in_progress};
use crate::http_client::{Got, HttpClient, ToolCall};

/// This many calls at the same moment, half of them through each instance, half of each with the key in the header.
fn all_at_once(instances: [&Instance; 2], server: &str, call: &ToolCall, most: usize) -> Vec<Got> {
    let barrier = Barrier::new(most);
    std::thread::scope(|scope| {
        let ask = |n: usize| {
            let (mut client, mut call) = (instances[n % 2].client(server), call.clone());
            if let Some(key) = call.key.take_if(|_| n % 4 > 1) {
                client = client.with("idempotency-key", &key);
            }
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                client.ask(&n.to_string(), &call)
            })
        };
        let running: Vec<_> = (0..most).map(ask).collect();
        running.into_iter().map(|call| call.join().expect("an answer")).collect()
    })
}

pub(super) fn a_hundred_calls_with_one_key_through_both_instances_are_one(site: &Site) {
    let (first, second) = (site.instance(""), site.instance(""));
    for server in BOTH {
        let arguments = |name: &str| json!({"file": site.file(name), "line": "x", "delayMs": 20});
        let call = ToolCall::new("append", arguments(server)).key("one");
        let told: Vec<Got> =
            all_at_once([&first, &second], server, &call, 100).into_iter().filter(|got| !in_progress(got)).collect();
        let fresh: Vec<&Got> = told.iter().filter(|got| !got.is_replay()).collect();
        assert_eq!((fresh.len(), site.lines(server)), (1, 1), "{told:?}");
        let first_said = fresh[0].raw_result();
        let again = all_at_once([&first, &second], server, &call, 100);
        assert!(again.iter().all(Got::is_replay), "{again:?}");
        let bytes: BTreeSet<String> = again.iter().map(Got::raw_result).collect();
        assert_eq!(bytes.len(), 1, "{bytes:?}");
        for got in told.iter().chain(&again) {
            assert_eq!(got.unmarked_result(), first_said);
        }
        assert_eq!(site.lines(server), 1, "one effect");
        let control = format!("{server}-control");
        all_at_once([&first, &second], server, &ToolCall::new("append", arguments(&control)), 10);
        assert_eq!(site.lines(&control), 10, "void: calls without a key are one");
    }
}

/// The draft of the header has its key in quotes. However a client spells it, it is the same key.
#[test]
fn a_key_is_the_same_in_the_header_and_in_meta_quoted_and_bare() {
    let site = Site::embedded();
    let instance = site.instance("");
    for server in BOTH {
        let call = ToolCall::new("bump", json!({"file": site.file(server)}));
        let client = instance.client(server);
        assert!(!client.ask("1", &call.clone().key("k-1")).is_replay());
        for spelling in ["k-1", "\"k-1\"", " k-1 "] {
            let got = client.with("idempotency-key", spelling).ask("2", &call);
            assert_eq!((got.text().as_str(), got.is_replay()), ("1", true), "{server}, {spelling}: {got:?}");
        }
    }
}

pub(super) fn tenants_with_the_same_key_never_see_each_others_answers(site: &Site) {
    let mut policy = String::new();
    for name in ["alice", "bob"] {
        let file = site.file(name);
        std::fs::write(&file, format!("the-token-of-{name}\n")).expect("the file can be written");
        policy += &format!("[[principals]]\nname = {name:?}\ntoken_file = {:?}\n", file.display().to_string());
    }
    for server in BOTH {
        policy += &site.server(server, server, "");
    }
    let (first, second) = (site.instance_with(&policy), site.instance_with(&policy));
    for server in BOTH {
        let number = site.file(&format!("{server}-number"));
        let call = ToolCall::new("bump", json!({"file": number})).key("same");
        let as_ = |instance: &Instance, name: &str| {
            instance.client(server).with("authorization", &format!("Bearer the-token-of-{name}"))
        };
        let ask = |client: HttpClient| {
            let got = client.ask("1", &call);
            (got.text(), got.is_replay())
        };
        assert_eq!(ask(as_(&first, "alice")), ("1".to_owned(), false));
        assert_eq!(ask(as_(&second, "bob")), ("2".to_owned(), false));
        // The same tenant is known everywhere, by its own answer only.
        for instance in [&first, &second] {
            assert_eq!(ask(as_(instance, "alice")), ("1".to_owned(), true));
            assert_eq!(ask(as_(instance, "bob")), ("2".to_owned(), true));
        }
        assert_eq!(std::fs::read_to_string(&number).expect("the number"), "2", "two effects");
    }
}

/// How many of 200 read-modify-writes are missing afterwards.
fn lost(site: &Site, instances: [&Instance; 2], server: &str, name: &str) -> usize {
    const WORKERS: usize = 10;
    const EACH: usize = 20;
    let call = ToolCall::new("bump", json!({"file": site.file(name), "delayMs": 1}));
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (client, call) = (instances[worker % 2].client(server), &call);
            scope.spawn(move || {
                for n in 0..EACH {
                    let got = client.ask(&n.to_string(), call);
                    assert!(got.problem().is_null(), "acknowledged: {got:?}");
                }
            });
        }
    });
    let number: usize = std::fs::read_to_string(site.file(name)).expect("the number").parse().expect("a number");
    WORKERS * EACH - number
}

pub(super) fn a_lock_is_one_lock_for_both_instances(site: &Site) {
    let rules = |lock: &str| BOTH.map(|server| site.server(server, server, &format!("lock = {lock:?}"))).concat();
    let free = [site.instance_with(&rules("none")), site.instance_with(&rules("none"))];
    let locked = [site.instance_with(&rules("number:{file}")), site.instance_with(&rules("number:{file}"))];
    for server in BOTH {
        let control = lost(site, free.each_ref(), server, &format!("{server}-control"));
        assert!(control > 0, "void: nothing is lost without a lock");
        assert_eq!(lost(site, locked.each_ref(), server, server), 0);
    }
}
