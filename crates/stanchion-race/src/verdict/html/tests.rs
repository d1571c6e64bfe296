//! What the page may never do, and what it must show.

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::verdict::tests::{race_verdict, sound_verdict};

#[test]
fn only_our_own_script_runs() {
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT));
    assert_eq!(SCRIPT_HASH, format!("sha256-{hash}"), "the script was changed: this is its hash now");
    let html = race_verdict(2).to_html("stanchion race x.toml --seed 17");
    assert!(html.contains(&format!("script-src '{SCRIPT_HASH}'")) && html.contains("default-src 'none'"));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn nothing_that_a_target_says_becomes_markup() {
    let bad = "</script><img src=x onerror=alert(1)><!--\"'&\u{1b}[31m";
    let mut verdict = race_verdict(2);
    verdict.name = bad.into();
    verdict.titles = vec![bad.into()];
    if let Some(found) = &mut verdict.found {
        found.violations[0].what = bad.into();
        found.violations[0].examples = vec![bad.into()];
        found.reads[0].answer = Some(bad.into());
        found.reads[0].why = Some(bad.into());
        found.history[0].answer = Some(bad.into());
        found.history[1].why = Some(bad.into());
    }
    let both = Comparison {
        bare: verdict.clone(),
        guarded: verdict.clone(),
        guard: crate::Guarding { by: bad.into(), ..Default::default() },
    };
    let inconclusive =
        Verdict { outcome: Outcome::Inconclusive, reason: Some(bad.into()), found: None, ..verdict.clone() };
    for html in [verdict.to_html(bad), both.to_html(bad), inconclusive.to_html(bad)] {
        assert_eq!(html.matches("</script>").count(), 2, "the data and the script end once each");
        assert!(!html.contains("<img") && !html.contains("<!--") && !html.contains('\u{1b}'), "{html}");
        assert!(html.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    }
    let html = verdict.to_html("x");
    let data = html.split("id=\"calls\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let told: Vec<serde_json::Value> = serde_json::from_str(data).unwrap();
    assert!(told.iter().any(|call| call["answer"] == bad), "as data it is what it was");
}

#[test]
fn every_call_has_a_lane_that_says_what_became_of_it() {
    let html = race_verdict(3).to_html("x");
    // The smallest schedule, and the round.
    assert_eq!(html.matches("class=\"lane ").count(), 2 + 3);
    assert_eq!(html.matches("class=\"lane ack lost\"").count(), 1 + 2);
    assert!(html.contains("read back after 5.5 ms: 1 value"), "{html}");
    assert!(html.contains("<b>killed 200 ms</b>") && html.contains("class=\"cut\""), "a kill is a band");
    let sound = sound_verdict().to_html("x");
    assert!(sound.contains("class=\"good\"") && sound.contains("3/20") && !sound.contains("lane ack lost"), "{sound}");
}

#[test]
fn more_lanes_than_a_page_can_hold_are_left_out_and_that_is_said() {
    let html = race_verdict(2500).to_html("x");
    assert_eq!(html.matches("class=\"lane ").count(), 2 + 2000);
    assert!(html.contains("The first 2000 of 2500 calls are drawn"));
}

#[test]
fn calls_and_read_backs_that_no_order_explains_are_marked() {
    let mut verdict = race_verdict(3);
    let found = verdict.found.as_mut().unwrap();
    let violation = &mut found.violations[0];
    violation.missing.clear();
    (violation.conflicting, violation.conflicting_reads) = (vec![format!("{:016x}", 2)], vec![0]);
    let html = verdict.to_html("x");
    assert_eq!(html.matches("class=\"lane ack wrong\"").count(), 1);
    assert!(html.contains(r#""fate":"in conflict""#) && html.contains("1 value<b class=\"conflict\">"), "{html}");
}

/// The facts count the calls of the schedule, and so does the heading below them.
#[test]
fn calls_that_are_made_afterwards_are_no_part_of_the_smallest_schedule() {
    let mut verdict = race_verdict(3);
    let minimal = verdict.minimal.as_mut().unwrap();
    minimal.afterwards = vec![minimal.history[0].clone()];
    let html = verdict.to_html("x");
    assert!(html.contains("<dd>2 calls, 1 instance</dd>"));
    assert!(html.contains("The smallest schedule <small>2 calls and 1 afterwards, over 5.1 ms</small>"), "{html}");
}
