use std::collections::BTreeSet;

use super::*;

const CODES: [(&str, std::ops::RangeInclusive<u32>); 4] =
    [("lost updates", 101..=108), ("locks", 201..=211), ("files", 301..=304), ("effects", 401..=407)];

fn state(answers: &[Answer], id: &str) -> State {
    answers.iter().find(|answer| answer.item.id == id).unwrap().state
}

#[test]
fn every_code_belongs_to_exactly_one_item() {
    let mut listed: Vec<&str> = ITEMS.iter().flat_map(|item| item.codes).copied().collect();
    listed.sort_unstable();
    let all: Vec<String> = CODES.iter().flat_map(|(_, codes)| codes.clone()).map(|code| format!("RC{code}")).collect();
    assert_eq!(listed, all);
    let ids: BTreeSet<&str> = ITEMS.iter().map(|item| item.id).collect();
    assert_eq!(ids.len(), ITEMS.len());
}

#[test]
fn an_item_can_be_answered_or_says_how_a_person_can() {
    for item in ITEMS {
        assert!(!item.question.is_empty());
        assert_eq!(item.by_hand, !item.hint.is_empty(), "{}", item.id);
        assert!(item.by_hand || !item.codes.is_empty() && !item.about.is_empty(), "{}", item.id);
    }
}

#[test]
fn findings_fail_and_what_was_not_met_does_not_pass() {
    let found = [
        ("RC209", "b.ts", 2, Severity::Medium),
        ("RC209", "a.ts", 9, Severity::High),
        ("RC999", "x", 1, Severity::Low),
    ];
    let answers = fill(&found, &Deployment::default(), &[Subject::Lock]);
    assert_eq!(state(&answers, "lock-service-down"), State::Fail); // by hand only without a finding
    assert_eq!(state(&answers, "lock-scope"), State::Pass);
    assert_eq!(state(&answers, "lock-expires"), State::NotSeen);
    assert_eq!(state(&answers, "metrics"), State::ByHand);
    let failed = answers.iter().find(|answer| answer.state == State::Fail).unwrap();
    let places: Vec<_> = failed.evidence.iter().map(|it| (it.path.as_str(), it.line)).collect();
    assert_eq!(places, [("a.ts", 9), ("b.ts", 2)]);
}

#[test]
fn the_number_of_instances_is_shown_where_it_matters() {
    let deployment = Deployment::read([("run.sh", "gunicorn a -w 4")]);
    let answers = fill(&[], &deployment, &Subject::ALL);
    let scope = answers.iter().find(|answer| answer.item.id == "lock-scope").unwrap();
    assert_eq!(scope.evidence.first().map(|it| it.text.as_str()), Some("gunicorn with 4 workers"));
    assert_eq!(scope.state, State::Pass);
    assert!(answers.iter().find(|answer| answer.item.id == "lock-expires").unwrap().evidence.is_empty());
}

#[test]
fn the_grade_follows_the_rubric() {
    let graded = |found: &[Found<'_>]| {
        let score = score(found, &fill(found, &Deployment::default(), &Subject::ALL));
        (score.grade.unwrap(), score.points)
    };
    let one = |code, severity| (code, "a.ts", 1, severity);
    assert_eq!(graded(&[]), (Grade::A, 100));
    assert_eq!(graded(&[one("RC403", Severity::Low)]), (Grade::B, 98));
    assert_eq!(graded(&[one("RC302", Severity::Medium)]), (Grade::B, 94));
    assert_eq!(graded(&[one("RC101", Severity::High)]), (Grade::C, 85));
    assert_eq!(graded(&[one("RC101", Severity::High); 50]), (Grade::D, 55));
    let five = ["RC101", "RC201", "RC203", "RC302", "RC403"].map(|code| one(code, Severity::Low));
    assert_eq!(graded(&five), (Grade::D, 90));
    let answers = fill(&five, &Deployment::default(), &Subject::ALL);
    assert_eq!(score(&five, &answers).because, "5 items fail");
    let high = ["RC101", "RC102", "RC201", "RC401", "RC402"].map(|code| one(code, Severity::High));
    assert_eq!(graded(&high), (Grade::F, 25));
}

#[test]
fn the_rubric_states_the_numbers_that_are_used() {
    for number in [
        "high 15, medium 6, low 2",
        "90 points",
        "75 a B",
        "60 a C",
        "40 a D",
        "three times",
        "five failing",
        "fewer than three",
    ] {
        assert!(RUBRIC.contains(number), "{number}");
    }
}

#[test]
fn without_any_answer_there_is_no_grade() {
    let answers = fill(&[], &Deployment::default(), &[]);
    assert_eq!(score(&[], &answers).grade, None);
    let few = fill(&[], &Deployment::default(), &[Subject::State, Subject::Timer]);
    assert_eq!(score(&[], &few).because, "only 2 of 19 items could be answered");
    let enough = fill(&[], &Deployment::default(), &[Subject::State, Subject::Timer, Subject::Hint]);
    assert_eq!((score(&[], &few).grade, score(&[], &enough).grade), (None, Some(Grade::A)));
    assert!(text(&answers, &score(&[], &answers)).contains("Grade: none"));
    assert!(json(&answers, &score(&[], &answers))["grade"].is_null());
}

#[test]
fn renderings_name_evidence_and_bound_it() {
    let found: Vec<Found<'_>> = (1..=8).map(|line| ("RC101", "a.ts", line, Severity::High)).collect();
    let answers = fill(&found, &Deployment::default(), &Subject::ALL);
    let score = score(&found, &answers);
    let text = text(&answers, &score);
    assert!(text.starts_with("[FAIL]     What is read"), "{text}");
    assert!(text.contains("           a.ts:5 RC101\n           and 3 more\n") && text.contains("1 fail,"), "{text}");
    assert!(text.contains("Grade: D (55 of 100 points)") && text.contains(RUBRIC), "{text}");
    let value = json(&answers, &score);
    assert_eq!(value["items"][0]["evidence"].as_array().unwrap().len(), 8);
    assert_eq!(value["items"][0]["item"]["id"], "guarded-updates");
}

/// Where each item stands in the lists that were published, in their order.
const SHARED_STATE: [&str; 8] = [
    "guarded-updates",
    "lock-time",
    "effect-keys",
    "key-first",
    "key-after-failure",
    "key-age",
    "race-tests",
    "lock-failover",
];
const LOCKS: [&str; 7] =
    ["lock-expires", "owner-only", "retry-pace", "fencing", "metrics", "lock-time", "lock-service-down"];

#[test]
fn every_item_of_both_published_lists_is_there() {
    for (list, ids) in [(List::SharedState, &SHARED_STATE[..]), (List::Locks, &LOCKS[..])] {
        for id in ids {
            let item = ITEMS.iter().find(|item| item.id == *id).unwrap_or_else(|| panic!("no item {id}"));
            assert!(item.lists.contains(&list), "{id} is of {list:?}");
        }
    }
}

/// For every item: what makes it fail, what makes it pass, and that it does neither without a reason.
#[test]
fn every_item_fails_on_its_findings_and_passes_only_when_its_subject_was_met() {
    for item in ITEMS {
        let of = |found: &[Found<'_>], seen: &[Subject]| state(&fill(found, &Deployment::default(), seen), item.id);
        for code in item.codes {
            assert_eq!(of(&[(code, "a.ts", 1, Severity::Low)], &[]), State::Fail, "{} {code}", item.id);
        }
        let other = ITEMS.iter().flat_map(|other| other.codes).find(|code| !item.codes.contains(code)).unwrap();
        let unrelated = [(*other, "a.ts", 1, Severity::High)];
        assert_ne!(of(&unrelated, &Subject::ALL), State::Fail, "{}", item.id);
        let unmet: Vec<Subject> = Subject::ALL.into_iter().filter(|it| !item.about.contains(it)).collect();
        if item.by_hand {
            assert_eq!(of(&[], &Subject::ALL), State::ByHand, "{}", item.id);
        } else {
            assert_eq!(of(&[], &unmet), State::NotSeen, "{}", item.id);
            for subject in item.about {
                assert_eq!(of(&[], &[*subject]), State::Pass, "{}", item.id);
            }
        }
    }
}

#[test]
fn the_page_lists_every_item_and_the_rubric_word_for_word() {
    let page = include_str!("../../../../docs/checklist.md");
    let mut table = String::new();
    for item in ITEMS {
        let lists: Vec<&str> = item
            .lists
            .iter()
            .map(|list| match list {
                List::SharedState => "shared state",
                List::Locks => "locks",
                List::Added => "ours",
            })
            .collect();
        let codes = if item.codes.is_empty() { "-".to_owned() } else { item.codes.join(", ") };
        let rest = if item.by_hand { format!("by hand: {}", item.hint) } else { "pass, or not seen".to_owned() };
        table += &format!("| `{}` | {} | {} | {codes} | {rest} |\n", item.id, item.question, lists.join(", "));
    }
    assert!(page.contains(&table), "docs/checklist.md has to have this:\n{table}");
    assert!(page.contains(RUBRIC.trim()), "docs/checklist.md has to have this:\n{RUBRIC}");
}
