//! Quorum arithmetic, exhaustively: every order of every answer of one to five nodes.

use std::time::Duration;

use stanchion_core::BootTime;
use stanchion_core::redlock::{Answer, Attempt, Next, Reason, Tally, Trust, Verdict, Vote, drift, quorum};

const TTL: Duration = Duration::from_secs(10);

fn at(millis: u64) -> BootTime {
    BootTime::from_boot(Duration::from_millis(100_000 + millis))
}

fn attempt(nodes: usize) -> Attempt {
    Attempt::new(nodes, TTL, drift(TTL), at(0), 0, true)
}

/// Calls `each` with every order of the nodes and every answer of each.
fn every(nodes: usize, answers: &[Answer], each: &mut impl FnMut(&[(usize, Answer)])) {
    fn deeper(
        nodes: usize,
        answers: &[Answer],
        sequence: &mut Vec<(usize, Answer)>,
        each: &mut impl FnMut(&[(usize, Answer)]),
    ) {
        if sequence.len() == nodes {
            return each(sequence);
        }
        for node in (0..nodes).filter(|node| sequence.iter().all(|(done, _)| done != node)).collect::<Vec<_>>() {
            for answer in answers {
                sequence.push((node, *answer));
                deeper(nodes, answers, sequence, each);
                sequence.pop();
            }
        }
    }
    deeper(nodes, answers, &mut Vec::new(), each);
}

#[test]
fn a_tally_decides_exactly_when_the_rest_cannot_change_it() {
    let mut checked = 0_u32;
    for nodes in 1..=5 {
        every(nodes, &[Answer::Yes(1), Answer::No, Answer::Error], &mut |sequence| {
            let mut tally = Tally::new(nodes);
            for (i, (node, answer)) in sequence.iter().enumerate() {
                let vote = match answer {
                    Answer::Yes(_) => Vote::Yes,
                    Answer::No => Vote::No,
                    _ => Vote::Error,
                };
                let verdict = tally.cast(*node, vote);
                let count = |wanted: Answer| sequence[..=i].iter().filter(|(_, a)| *a == wanted).count();
                let (yes, out) = (count(Answer::Yes(1)), nodes - i - 1);
                let (can_win, has_won) = (yes + out >= quorum(nodes), yes >= quorum(nodes));
                assert_eq!(verdict == Verdict::Yes, has_won, "{sequence:?} after {i}");
                assert_eq!(verdict == Verdict::Open, can_win && !has_won, "{sequence:?} after {i}");
                // A no that stands whatever the errors hide: even if all of them were yes.
                let hopeless = nodes - count(Answer::No) < quorum(nodes);
                assert_eq!(verdict == Verdict::No, hopeless && !has_won, "{sequence:?} after {i}");
                checked += 1;
            }
        });
    }
    assert!(checked > 100_000, "{checked}");
}

#[test]
fn never_granted_without_a_quorum_and_never_left_hanging() {
    let (mut granted, mut written, mut given_up, mut released) = (0_u32, 0_u32, 0_u32, 0_u32);
    for nodes in 1..=5 {
        every(nodes, &[Answer::Yes(7), Answer::Yes(9), Answer::No, Answer::Error], &mut |sequence| {
            let mut attempt = attempt(nodes);
            let mut ended = None;
            for (i, (node, answer)) in sequence.iter().enumerate() {
                let next = attempt.answer(*node, 0, *answer, at(1));
                let heard = &sequence[..=i];
                let number = |n: u64| heard.iter().filter(|(_, a)| *a == Answer::Yes(n)).count();
                let yes = number(7) + number(9);
                match (ended, next) {
                    (None, Next::Wait) => {
                        assert!(yes < quorum(nodes), "{heard:?}: a quorum says yes");
                        assert!(yes + nodes - heard.len() >= quorum(nodes), "{heard:?}: nothing can come of it");
                    }
                    (None, Next::Granted(fence)) => {
                        assert!(number(fence) >= quorum(nodes), "{heard:?}: a quorum must know the fence {fence}");
                        granted += 1;
                        ended = Some(next);
                    }
                    (None, Next::WriteBack(fence)) => {
                        assert!(yes >= quorum(nodes), "{heard:?}");
                        assert_eq!(fence, if number(9) > 0 { 9 } else { 7 }, "{heard:?}: the highest");
                        written += 1;
                        ended = Some(next);
                    }
                    (None, Next::GiveUp(reason)) => {
                        assert!(yes + nodes - heard.len() < quorum(nodes), "{heard:?}: it could still be ours");
                        let no = heard.iter().filter(|(_, a)| *a == Answer::No).count();
                        assert_eq!(reason == Reason::Refused, nodes - no < quorum(nodes), "{heard:?}");
                        given_up += 1;
                        ended = Some(next);
                    }
                    (Some(Next::GiveUp(_)), next) if matches!(answer, Answer::Yes(_)) => {
                        assert_eq!(next, Next::Release(*node), "{heard:?}: a late yes is given back");
                        released += 1;
                    }
                    (Some(_), next) => assert_eq!(next, Next::Wait, "{heard:?}"),
                    (None, Next::Release(_)) => panic!("{heard:?}: released while it may be granted"),
                }
            }
            assert!(ended.is_some(), "{sequence:?}: all have answered");
        });
    }
    assert!(
        [granted, written, given_up, released].iter().all(|n| *n > 1000),
        "{granted} {written} {given_up} {released}"
    );
}

#[test]
fn an_even_split_is_a_no() {
    for nodes in [2, 4] {
        let mut attempt = attempt(nodes);
        let mut last = Next::Wait;
        for node in 0..nodes {
            let answer = if node < nodes / 2 { Answer::Yes(1) } else { Answer::No };
            last = attempt.answer(node, 0, answer, at(1));
            if last != Next::Wait {
                break;
            }
        }
        assert_eq!(last, Next::GiveUp(Reason::Refused), "{nodes} nodes");
    }
}

#[test]
fn a_quorum_that_comes_too_late_is_given_back() {
    // 10 s less 1 % less 2 ms.
    for (when, granted) in [(9_897, true), (9_898, false), (10_000, false), (60_000, false)] {
        let mut attempt = attempt(3);
        attempt.answer(0, 0, Answer::Yes(1), at(1));
        let next = attempt.answer(1, 0, Answer::Yes(1), at(when));
        let expected = if granted { Next::Granted(1) } else { Next::GiveUp(Reason::TooLate) };
        assert_eq!(next, expected, "after {when} ms");
    }
}

#[test]
fn the_time_is_checked_again_after_the_fence_is_written() {
    let mut attempt = attempt(3);
    attempt.answer(0, 0, Answer::Yes(1), at(1));
    assert_eq!(attempt.answer(1, 0, Answer::Yes(2), at(2)), Next::WriteBack(2));
    attempt.answer(0, 1, Answer::Yes(2), at(3));
    assert_eq!(attempt.answer(1, 1, Answer::Yes(2), at(9_900)), Next::GiveUp(Reason::TooLate));
    assert_eq!(attempt.answer(2, 0, Answer::Yes(1), at(9_901)), Next::Release(2));
}

/// Every order of every answer to the second round, after a first one in which the nodes disagreed.
#[test]
fn a_fence_counts_when_a_quorum_has_written_it() {
    let (mut granted, mut overtaken) = (0_u32, 0_u32);
    for nodes in 1..=5 {
        let answers = [Answer::Yes(20), Answer::Behind(30), Answer::No, Answer::Error];
        every(nodes, &answers, &mut |sequence| {
            let mut attempt = Attempt::new(nodes, TTL, drift(TTL), at(0), 19, true);
            let mut next = Next::Wait;
            for node in 0..quorum(nodes) {
                next = attempt.answer(node, 0, Answer::Yes(5), at(1));
            }
            assert_eq!(next, Next::WriteBack(20), "above the floor");
            let mut ended = false;
            for (i, (node, answer)) in sequence.iter().enumerate() {
                let next = attempt.answer(*node, 1, *answer, at(2));
                let yes = sequence[..=i].iter().filter(|(_, a)| *a == Answer::Yes(20)).count();
                match next {
                    Next::Granted(fence) => {
                        assert!(yes >= quorum(nodes) && fence == 20, "{sequence:?} after {i}");
                        granted += 1;
                        ended = true;
                    }
                    Next::WriteBack(fence) => {
                        assert_eq!(fence, 31, "{sequence:?} after {i}");
                        overtaken += 1;
                        ended = true;
                    }
                    Next::GiveUp(_) => ended = true,
                    _ => {}
                }
                if ended {
                    break;
                }
            }
            assert!(ended, "{sequence:?}: all have answered");
        });
    }
    assert!(granted > 1000 && overtaken > 1000, "{granted} {overtaken}");
}

#[test]
fn being_overtaken_for_ever_ends() {
    let mut attempt = Attempt::new(1, TTL, drift(TTL), at(0), 9, true);
    let mut next = attempt.answer(0, 0, Answer::Yes(1), at(1));
    for round in 1..100 {
        let Next::WriteBack(number) = next else { break };
        next = attempt.answer(0, round, Answer::Behind(number + 10), at(1));
    }
    assert_eq!(next, Next::GiveUp(Reason::Overtaken));
}

/// Why there are no slots: 2 permits and 3 nodes, each node gives at most 2, and 3 owners each have a quorum.
#[test]
fn two_slots_on_three_nodes_have_three_winners() {
    let permits = 2;
    let votes = [[true, true, false], [false, true, true], [true, false, true]]; // of the owners, node by node
    for node in 0..3 {
        let given = votes.iter().filter(|owner| owner[node]).count();
        assert!(given <= permits, "no node gives more than its permits");
    }
    let winners = votes.iter().filter(|owner| {
        let mut tally = Tally::new(3);
        for (node, yes) in owner.iter().enumerate() {
            tally.cast(node, if *yes { Vote::Yes } else { Vote::No });
        }
        tally.verdict() == Verdict::Yes
    });
    assert_eq!(winners.count(), 3, "one more than there are permits");
}

#[test]
fn answers_that_nobody_waits_for_are_no_votes() {
    let mut attempt = Attempt::new(3, TTL, drift(TTL), at(0), 0, false);
    let mut yes = |node, round, number| attempt.answer(node, round, Answer::Yes(number), at(1));
    assert_eq!(yes(0, 0, 1), Next::Wait, "one of three");
    assert_eq!(yes(0, 0, 9), Next::Wait, "the same node again");
    assert_eq!(yes(3, 0, 9), Next::Wait, "there is no such node");
    assert_eq!(yes(1, 1, 9), Next::Wait, "a round that was not asked");
    assert_eq!(yes(1, 0, 1), Next::Granted(1), "two of three, and no number of a stranger's");
}

#[test]
fn an_answer_to_the_round_before_does_not_count_in_the_next() {
    let mut attempt = attempt(3);
    assert_eq!(attempt.round(), 0);
    assert_eq!(attempt.answer(0, 0, Answer::Yes(1), at(1)), Next::Wait);
    assert!(matches!(attempt.answer(1, 0, Answer::Yes(5), at(1)), Next::WriteBack(_)), "their pasts differ");
    assert_eq!(attempt.round(), 1);
    for node in 0..3 {
        assert_eq!(attempt.answer(node, 0, Answer::Yes(9), at(1)), Next::Wait, "late, for the first round");
    }
}

#[test]
fn a_node_has_one_vote_and_its_first_one_counts() {
    let votes = [Vote::Yes, Vote::No, Vote::Error];
    for (first, second) in votes.into_iter().flat_map(|first| votes.map(|second| (first, second))) {
        let mut tally = Tally::new(3);
        tally.cast(1, first);
        let before = tally.counts();
        assert_eq!([0, 1, 2].map(|node| tally.has(node)), [false, true, false], "{first:?}");
        tally.cast(1, second);
        tally.cast(3, second);
        assert_eq!((tally.counts(), tally.pending()), (before, 2), "{first:?}, then {second:?}, and a stranger's");
    }
}

#[test]
fn a_fence_that_a_quorum_knows_must_still_be_above_the_floor() {
    let mut attempt = Attempt::new(3, TTL, drift(TTL), at(0), 5, true);
    assert_eq!(attempt.answer(0, 0, Answer::Yes(5), at(1)), Next::Wait);
    assert_eq!(attempt.answer(1, 0, Answer::Yes(5), at(1)), Next::WriteBack(6));
}

#[test]
fn an_overtaken_fence_is_not_written_again_when_the_time_is_over() {
    let mut attempt = attempt(3);
    assert_eq!(attempt.answer(0, 0, Answer::Behind(9), at(20_000)), Next::Wait);
    assert_eq!(attempt.answer(1, 0, Answer::Error, at(20_000)), Next::GiveUp(Reason::TooLate));
}

#[test]
fn a_node_that_came_back_as_another_one_is_in_quarantine() {
    let seconds = Duration::from_secs;
    let at = |time| BootTime::from_boot(seconds(time));
    let mut trust = Trust::new(seconds(60));
    trust.met("a", seconds(3600), at(5000), None);
    assert!(trust.left(at(5000)).is_zero(), "it has been up for long");
    trust.met("a", seconds(1), at(5001), Some(at(5000)));
    assert!(trust.left(at(5001)).is_zero(), "only the connection was new");
    trust.met("b", seconds(5), at(5010), Some(at(5005)));
    assert_eq!(trust.left(at(5010)), seconds(55), "it says that it started at the last word of its former self");
    // It cannot be older than the last word of its former self: nothing is known of its age.
    trust.met("c", seconds(6), at(5020), Some(at(5015)));
    assert_eq!(trust.left(at(5020)), seconds(60));
    assert!(trust.left(at(5080)).is_zero());
}
