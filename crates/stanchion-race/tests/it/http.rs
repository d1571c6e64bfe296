//! Targets over HTTP: a counter that loses increments, and a shop that charges twice.

use stanchion_race::Outcome;

use crate::support::{must_be, run, target};

fn counter(how: &str, instances: usize, faults: &str) -> String {
    let target = target();
    format!(
        r#"
        version = 1
        name = "counter"
        seed = 5
        [target]
        kind = "http"
        command = ["{target}", "counter", "{{port}}", "{{dir}}/value", "{how}"]
        urls = ["http://127.0.0.1:{{port}}"]
        instances = {instances}
        [limits]
        rounds = 5
        seconds = 60
        [[call]]
        method = "POST"
        path = "/"
        times = 20
        faults = [{faults}]
        [read]
        path = "/"
        [expect]
        sum = {{ select = "/value", is = "before+acknowledged" }}
        "#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_reads_and_then_writes_loses_increments() {
    let verdict = run(&counter("racy", 1, "")).await;
    must_be(&verdict, Outcome::Race);
    assert_eq!(verdict.minimal.as_ref().unwrap().calls, 2, "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_takes_turns_loses_none_and_one_for_each_process_does() {
    let alone = run(&counter("sound", 1, r#""delay", "lost-reply", "reset""#)).await;
    must_be(&alone, Outcome::NothingFound);
    assert!(alone.faults.contains_key("reset") && alone.faults.contains_key("lost-reply"), "{alone}");
    let two = run(&counter("sound", 2, "")).await;
    must_be(&two, Outcome::Race);
    assert_eq!(two.minimal.as_ref().unwrap().instances, 2, "one instance is sound\n{two}");
}

fn shop(how: &str) -> String {
    let target = target();
    format!(
        r#"
        version = 1
        name = "shop"
        seed = 3
        [target]
        kind = "http"
        command = ["{target}", "shop", "{{port}}", "{{upstream}}", "{how}"]
        urls = ["http://127.0.0.1:{{port}}"]
        [limits]
        rounds = 5
        seconds = 60
        [upstream]
        status = 201
        body = {{ ok = true }}
        faults = ["lost-reply"]
        [faults]
        chance = 0.3
        [[call]]
        method = "POST"
        path = "/orders"
        body = {{ item = "{{id}}" }}
        times = 10
        [expect]
        effects = "once"
        "#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_asks_again_without_a_key_charges_twice() {
    let verdict = run(&shop("retry")).await;
    must_be(&verdict, Outcome::Race);
    assert_eq!(verdict.found.as_ref().unwrap().violations[0].expectation, "effects", "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_gives_up_after_one_try_charges_once() {
    let verdict = run(&shop("once")).await;
    must_be(&verdict, Outcome::NothingFound);
    assert!(verdict.faults.contains_key("upstream") && verdict.calls.failed > 0, "{verdict}");
}
