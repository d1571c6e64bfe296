//! Somebody is killed between the effect and the answer: the gateway, or the server behind it.

use serde_json::json;
use stanchion_testkit::eventually_sync;

use super::site::{BOTH, PIPE, Site, WEB, in_progress, kill_upstream, until_answered};
use crate::http_client::{Era, ToolCall};
use crate::support::{PATIENCE, signal};

/// Calls of an instance that shows no sign of life for this long are taken for unknown.
const LEASE: &str = "lease = \"1s\"";

pub(super) fn a_call_of_a_killed_instance_is_never_repeated_and_can_be_settled(site: &Site) {
    let second = site.instance(LEASE);
    let mut first = site.instance(LEASE);
    let names = |server: &str| (server.to_owned(), format!("{server}-control"));
    let mut running = Vec::new();
    for server in BOTH {
        let (keyed, control) = names(server);
        running.push(first.client(server).start("1", &site.append(&keyed).key(&keyed)));
        running.push(first.client(server).start("2", &site.append(&control)));
        site.effect(&keyed);
        site.effect(&control);
        let got = second.client(server).ask("3", &site.append(&keyed).key(&keyed));
        assert!(in_progress(&got), "{got:?}");
    }
    first.kill();
    assert!(running.into_iter().all(|call| call.rest().is_none()), "void: a call was answered");
    for server in BOTH {
        let (keyed, control) = names(server);
        let (client, call) = (second.client(server), site.append(&keyed).key(&keyed));
        for name in [&keyed, &control] {
            site.touch(&format!("{name}-go"));
        }
        let got = until_answered(&client, &call);
        got.is_problem("outcome_unknown", true);
        assert_eq!((&got.message()["result"]["isError"], &got.problem()["retryable"]), (&json!(true), &json!(false)));
        client.ask("\"again\"", &call).is_problem("outcome_unknown", true);
        assert_eq!(site.lines(&keyed), 1, "one effect");
        assert_eq!(client.ask("4", &site.append(&control)).text(), "appended");
        assert_eq!(site.lines(&control), 2, "void: a killed gateway does no harm here");

        // Somebody has looked, and says what became of it.
        let receipt = got.problem()["receipt"].as_str().expect("a receipt").to_owned();
        let answer = site.file("answer.json");
        std::fs::write(&answer, r#"{"seen":"in the ledger"}"#).expect("the file can be written");
        let done = ["--done", answer.to_str().expect("a path"), "--reason", "the line is there"];
        site.stanchion(&[&["claims", "settle", &receipt], &done[..]].concat()).exits(0).says("settled");
        let told = client.ask("5", &call);
        assert!(told.is_replay(), "{told:?}");
        assert_eq!(told.text(), r#"{"seen":"in the ledger"}"#);
        assert_eq!(site.lines(&keyed), 1, "one effect");
    }
}

pub(super) fn a_call_of_a_killed_server_is_never_repeated_and_others_go_on(site: &Site) {
    let (first, second) = (site.instance(""), site.instance(""));
    for (server, era) in [(PIPE, Era::Modern), (PIPE, Era::Legacy), (WEB, Era::Modern)] {
        let (here, there) = (first.client(server).of(era), second.client(server).of(era));
        let (name, control) = (format!("{server}-{era:?}"), format!("{server}-{era:?}-control"));
        let call = site.append(&name).key(&name);
        let (running, unkeyed) = (here.start("1", &call), here.start("2", &site.append(&control)));
        site.effect(&name);
        site.effect(&control);
        kill_upstream(site, &here, server);
        let got = running.answer();
        got.is_problem("outcome_unknown", true);
        assert_eq!(got.message()["result"]["isError"], json!(true), "{got:?}");
        assert_eq!(unkeyed.answer().problem()["mayHaveExecuted"], json!(true), "nobody is told that nothing ran");
        [&name, &control].iter().for_each(|name| site.touch(&format!("{name}-go")));
        let fresh = ToolCall::new("append", json!({"file": site.file(&format!("{name}-fresh")), "line": "x"}))
            .key(&format!("{name}-fresh"));
        if server == WEB {
            // Nothing can run while it is away, and that is no reason to forget the key.
            here.ask("3", &fresh).is_problem("upstream_failed", false);
            site.web.restart();
        }
        // A session ends with its process; the next one has another.
        let here = if era == Era::Legacy { first.client(server).in_session() } else { here };
        for client in [&here, &there] {
            client.ask("4", &call).is_problem("outcome_unknown", true);
        }
        assert_eq!(site.lines(&name), 1, "one effect");
        there.ask("5", &site.append(&control));
        assert_eq!(site.lines(&control), 2, "void: a killed server does no harm here");
        eventually_sync(PATIENCE, "calls work again", || {
            let got = here.ask("6", &fresh);
            let is_done = got.problem().is_null();
            assert!(is_done || got.problem()["mayHaveExecuted"] == json!(false), "{got:?}");
            is_done
        });
        assert_eq!(site.lines(&format!("{name}-fresh")), 1);
    }
}

/// Stopped between the effect and the answer for longer than its lease, and then continued.
pub(super) fn a_stopped_instance_comes_back_and_all_say_the_same(site: &Site) {
    let (first, second) = (site.instance(LEASE), site.instance(LEASE));
    for server in BOTH {
        let call = site.append(server).key(server);
        let running = first.client(server).start("1", &call);
        site.effect(server);
        signal(first.process.0.id(), "STOP");
        let there = second.client(server);
        until_answered(&there, &call).is_problem("outcome_unknown", true);
        site.touch(&format!("{server}-go"));
        signal(first.process.0.id(), "CONT");
        // Evidence that comes late is still evidence: what was unknown is known now, and everybody is told.
        let late = running.answer();
        assert_eq!((late.text().as_str(), late.is_replay()), ("appended", false));
        for client in [&there, &first.client(server)] {
            let got = client.ask("2", &call);
            assert!(got.is_replay(), "{got:?}");
            assert_eq!(got.unmarked_result(), late.raw_result());
        }
        assert_eq!(site.lines(server), 1, "one effect");
    }
}

/// The lock of a killed instance is held until its lease ends, and then it is free.
pub(super) fn the_lock_of_a_killed_instance_is_free_again(site: &Site) {
    let rules = "lock = \"one:{file}\"\nttl = \"1s\"";
    let second = site.instance(rules);
    for server in BOTH {
        let mut first = site.instance(rules);
        let running = first.client(server).start("1", &site.append(server));
        site.effect(server);
        let waiting = second.client(server).start("2", &site.append(server));
        first.kill();
        assert!(running.rest().is_none(), "void: it was answered");
        site.touch(&format!("{server}-go"));
        assert_eq!(waiting.answer().text(), "appended");
        assert_eq!(site.lines(server), 2);
    }
}
