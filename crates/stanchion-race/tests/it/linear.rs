//! Objects that no order explains, and the same ones without their mistake.

use stanchion_race::{Options, Outcome, Schedule, race};

use crate::support::{must_be, run, spec, target};

/// One process with a register, a set and a lock.
fn objects(how: &str, calls: &str, model: &str) -> String {
    let target = target();
    format!(
        r#"
        version = 1
        name = "{model}"
        seed = 11
        [target]
        kind = "http"
        command = ["{target}", "objects", "{{port}}", "{how}"]
        urls = ["http://127.0.0.1:{{port}}"]
        instances = 1
        [limits]
        rounds = 8
        seconds = 60
        [faults]
        chance = 0.4
        {calls}
        [expect]
        linearizable = "{model}"
        "#
    )
}

const REGISTER: &str = r#"
    [[call]]
    method = "PUT"
    path = "/register"
    body = { value = "{id}" }
    operation = { do = "write", value = "{id}" }
    times = 8
    faults = ["delay", "lost-reply"]
    [[call]]
    path = "/register"
    operation = { do = "read", gives = "/value" }
    times = 12
    [read]
    path = "/register"
    operation = { do = "read", gives = "/value" }
"#;

const SET: &str = r#"
    [[call]]
    method = "POST"
    path = "/set"
    body = { value = "the one" }
    operation = { do = "insert", value = "the one", gives = "/new" }
    times = 6
    faults = ["lost-reply"]
    [[call]]
    path = "/set"
    operation = { do = "list", gives = "/all/*" }
    times = 4
"#;

const MUTEX: &str = r#"
    [[call]]
    method = "POST"
    path = "/lock"
    body = { who = "{n}" }
    operation = { do = "acquire", client = "{n}", error = "no" }
    times = 8
"#;

const CASES: [(&str, &str); 3] = [(REGISTER, "register"), (SET, "set"), (MUTEX, "mutex")];

#[tokio::test(flavor = "multi_thread")]
async fn what_no_order_explains_is_found_and_told_with_the_calls_that_show_it() {
    for (calls, model) in CASES {
        let verdict = run(&objects("racy", calls, model)).await;
        must_be(&verdict, Outcome::Race);
        let violation = &verdict.found.as_ref().unwrap().violations[0];
        assert_eq!(violation.expectation, "linearizable", "{verdict}");
        assert_eq!(violation.what, "no order of the calls explains all answers", "{verdict}");
        // In the words of the timeline, which marks the calls that are named.
        let called = |line: &&String| line.contains(" on instance 0 from ") && line.starts_with("call ");
        assert!(!violation.conflicting.is_empty() && violation.examples.iter().any(|it| called(&it)), "{verdict}");
        assert!(
            !verdict.to_string().contains("4294967295") && verdict.to_string().contains("in conflict"),
            "{verdict}"
        );
        assert!(violation.examples.iter().any(|line| line.contains("<- no place for this answer")), "{verdict}");
        let minimal = verdict.minimal.as_ref().unwrap();
        assert!(minimal.calls < verdict.found.as_ref().unwrap().schedule.steps.len(), "{verdict}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_objects_without_their_mistake_are_ordered() {
    for (calls, model) in CASES {
        let verdict = run(&objects("sound", calls, model)).await;
        must_be(&verdict, Outcome::NothingFound);
        let lost = model == "mutex" || verdict.faults.contains_key("lost-reply");
        assert!(lost && verdict.rounds == 8, "{verdict}");
    }
}

/// The smallest schedule has two calls, and shows it again from its file.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_two_have_is_shown_by_two_calls_and_again_from_the_schedule() {
    let spec = spec(&objects("racy", MUTEX, "mutex"));
    let minimal = race(&spec, &Options::default()).await.minimal.expect("a race");
    assert_eq!((minimal.calls, minimal.instances), (2, 1));
    let again = Schedule::from_json(&minimal.schedule.to_json(), &spec).unwrap();
    let verdict = race(&spec, &Options { schedule: Some(again), ..Options::default() }).await;
    must_be(&verdict, Outcome::Race);
}

fn counter(how: &str, instances: usize) -> String {
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
        rounds = 4
        seconds = 60
        [[call]]
        method = "POST"
        path = "/"
        times = 20
        faults = ["lost-reply", "delay"]
        operation = {{ do = "add", gives = "/value" }}
        [read]
        path = "/"
        operation = {{ do = "get", gives = "/value" }}
        [expect]
        linearizable = "counter"
        "#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_gives_a_number_twice_has_no_order() {
    must_be(&run(&counter("racy", 1)).await, Outcome::Race);
    must_be(&run(&counter("sound", 2)).await, Outcome::Race);
    let alone = run(&counter("sound", 1)).await;
    must_be(&alone, Outcome::NothingFound);
    assert!(alone.calls.unknown > 0, "void: no answer was lost\n{alone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_model_cannot_read_is_inconclusive() {
    let text = counter("sound", 1).replace(r#"do = "add", gives = "/value""#, r#"do = "add", gives = """#);
    let verdict = run(&text).await;
    must_be(&verdict, Outcome::Inconclusive);
    assert!(verdict.reason.as_ref().unwrap().contains("is no whole number"), "{verdict}");
}
