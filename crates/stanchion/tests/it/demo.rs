//! The demo's numbers are real.

use crate::support::Home;

#[test]
fn the_demo_loses_unguarded_calls_and_keeps_guarded_ones() {
    let home = Home::new();
    // The control: an unguarded round that loses nothing proves nothing, so it is made harder until it does.
    for calls in ["100", "400", "1600"] {
        let said = home.output(&["demo", "--mcp", "never", "--json", "--calls", calls]).exits(0);
        let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        let number = |round: usize, name: &str| value["rounds"][round][name].as_u64().expect("a number");
        let all = calls.parse::<u64>().expect("a number") * 4;
        assert_eq!((number(1, "acknowledged"), number(1, "in_file"), number(1, "lost")), (all, all, 0));
        assert_eq!(number(2, "lost"), 0);
        let ahead = number(2, "in_file") - number(2, "acknowledged");
        assert!(ahead <= 1, "one call may be unacknowledged, not {ahead}");
        assert!(number(2, "acknowledged") < all, "one process was killed");
        if number(0, "lost") > 0 {
            return;
        }
    }
    panic!("void: the unguarded control never lost a call");
}

#[test]
fn the_demo_shows_the_official_memory_server_before_and_after() {
    let peers = stanchion_testkit::peers_or_skip!();
    let (node, server) = (peers.node().to_str().unwrap(), peers.memory_server());
    let home = Home::new();
    let said =
        home.output(&["demo", "--json", "--calls", "10", "--mcp-server", node, server.to_str().unwrap()]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let rounds = value["rounds"].as_array().expect("rounds");
    let numbers = |round: usize| (rounds[round]["acknowledged"].as_u64(), rounds[round]["lost"].as_u64());
    assert_eq!(rounds.len(), 6);
    assert_eq!(numbers(3).0, Some(1000));
    assert!(numbers(3).1 > Some(0), "void: the server alone lost nothing");
    assert_eq!((numbers(4), numbers(5)), ((Some(1000), Some(0)), (Some(1000), Some(0))));
}
