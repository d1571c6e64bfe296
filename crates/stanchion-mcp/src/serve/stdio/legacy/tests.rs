use super::state::{Asked, OPEN};
use super::streams::*;
use super::ways::FromServer;
use crate::frame::Id;
use crate::serve::stdio::events::{Event, Outflow, Ticket};
use crate::stdio::PassOn as _;
use std::sync::Arc;

fn asked(id: i64) -> Vec<Asked> {
    vec![Asked { id: Id::Integer(id), raw_id: id.to_string(), token: None, cancelled: false }]
}

/// A stream whose client knows where it is.
fn told(streams: &Arc<Streams>, id: i64) -> (Outflow, Ticket, String) {
    let (mut flow, ticket, number) = streams.open(asked(id)).unwrap();
    let begins = streams.begin(number, None, &mut flow);
    (flow, ticket, begins[0].id.clone().unwrap())
}

fn frames(flow: &mut Outflow) -> Vec<String> {
    flow.waiting()
        .unwrap()
        .into_iter()
        .map(|event: Event| event.frame.to_string())
        .filter(|frame| !frame.is_empty())
        .collect()
}

fn resume(streams: &Arc<Streams>, id: &str) -> Option<(Outflow, Ticket)> {
    match streams.resume(id) {
        Resumed::Live { flow, ticket, .. } => Some((flow, ticket)),
        Resumed::Over | Resumed::Unknown => None,
    }
}

const SAID: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[test]
fn what_the_server_says_goes_to_whoever_listens_and_else_to_the_stream_that_was_cut() {
    let streams = Arc::new(Streams::new());
    let mut server = FromServer(Arc::clone(&streams));
    let (flow, ticket, id) = told(&streams, 1);
    drop((flow, ticket));
    server.pass(SAID);
    // This belongs to no request: it waits for whoever comes.
    server.pass(CHANGED);
    let (mut flow, _ticket, _) = streams.open(asked(2)).unwrap();
    assert_eq!(frames(&mut flow), [CHANGED]);
    server.pass(SAID);
    assert_eq!(frames(&mut flow), [SAID]);
    server.pass(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let (mut flow, _ticket) = resume(&streams, &id).unwrap();
    assert_eq!(frames(&mut flow), [SAID, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
}

fn answer(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

#[test]
fn what_others_say_does_not_take_away_an_answer_that_nobody_has_fetched() {
    let streams = Arc::new(Streams::new());
    let mut server = FromServer(Arc::clone(&streams));
    let (flow, ticket, cut) = told(&streams, 1);
    drop((flow, ticket));
    server.pass(&answer(1));
    // This one does not read, and loses its stream: it may come back as well.
    let (mut flow, ticket, behind) = told(&streams, 2);
    server.pass(&format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{}"]}}"#, "x".repeat(9 << 20)));
    server.pass(&answer(2));
    assert!(flow.waiting().is_none());
    let (_flow, _ticket, chatty) = told(&streams, 3);
    (0..2000).for_each(|_| server.pass(SAID));
    assert!(resume(&streams, &chatty).is_none());
    let (mut again, _ticket) = resume(&streams, &cut).unwrap();
    assert_eq!(frames(&mut again), [answer(1)]);
    // What was too large for it gave way to the answer.
    assert!(resume(&streams, &behind).is_none());
    drop(ticket);
}

#[tokio::test]
async fn a_stream_that_is_over_has_one_connection_and_what_that_was_told_gives_way_first() {
    let streams = Arc::new(Streams::new());
    let mut server = FromServer(Arc::clone(&streams));
    let (flow, ticket, id) = told(&streams, 1);
    server.pass(&answer(1));
    // It was put on its way, but not taken.
    drop((flow, ticket));
    let (mut first, ticket) = resume(&streams, &id).unwrap();
    let (mut second, newest) = resume(&streams, &id).unwrap();
    assert!(first.waiting().is_none() && first.is_cut());
    assert_eq!(frames(&mut second), [answer(1)]);
    // Who was cut leaves nothing behind, and does not count as told.
    drop((first, ticket));
    let (_flow, _ticket, _) = told(&streams, 2);
    let mut fill = || (0..2000).for_each(|_| server.pass(SAID));
    fill();
    assert!(second.next().await.is_none());
    drop((second, newest));
    assert!(streams.lock().log.find(&id).is_some());
    fill();
    assert!(matches!(streams.resume(&id), Resumed::Unknown));
}

#[test]
fn streams_that_were_cut_count_and_the_oldest_of_them_give_way() {
    let streams = Arc::new(Streams::new());
    let (flow, ticket, oldest) = told(&streams, 1);
    drop((flow, ticket));
    let (flow, ticket, next) = told(&streams, 2);
    drop((flow, ticket));
    let most = i64::try_from(OPEN).unwrap();
    let open: Vec<_> = (3..=most).map(|id| told(&streams, id)).collect();
    assert_eq!(streams.lock().by_id.len(), OPEN);
    let one_more = told(&streams, most + 1);
    assert!(matches!(streams.resume(&oldest), Resumed::Unknown));
    let (flow, ticket) = resume(&streams, &next).expect("there was room for it");
    // All of them have their clients.
    assert_eq!(streams.open(asked(most + 2)).err(), Some(NotOpened::TooMany));
    assert_eq!(streams.lock().by_id.len(), OPEN);
    drop((flow, ticket, open, one_more));
    assert!(!streams.is_open());
}

#[test]
fn a_request_that_was_taken_back_is_not_kept_for_a_client_that_has_gone() {
    let streams = Arc::new(Streams::new());
    for cancelled_first in [true, false] {
        let (flow, ticket, id) = told(&streams, 1);
        // An answer may still come while the client is there.
        let mut connection = Some((flow, ticket));
        if !cancelled_first {
            connection = None;
        }
        streams.cancelled(&Id::Integer(1));
        assert_eq!(streams.lock().by_id.is_empty(), !cancelled_first);
        drop(connection);
        assert!(streams.lock().by_id.is_empty() && streams.lock().streams.is_empty());
        assert!(resume(&streams, &id).is_none());
    }
    // Without that it is kept.
    drop(told(&streams, 1));
    assert_eq!(streams.lock().by_id.len(), 1);
}

#[tokio::test]
async fn nobody_waits_for_the_answers_of_clients_that_are_not_there() {
    let streams = Arc::new(Streams::new());
    let (flow, ticket, id) = told(&streams, 1);
    let quiet = async || {
        let quiet = tokio::time::timeout(std::time::Duration::from_millis(20), streams.quiet());
        quiet.await.is_ok()
    };
    assert!(!quiet().await);
    drop((flow, ticket));
    assert!(quiet().await && !streams.is_open());
    let _back = resume(&streams, &id).unwrap();
    assert!(!quiet().await && streams.is_open());
}

#[test]
fn a_client_that_has_lost_a_part_is_not_told_that_it_can_come_back() {
    let streams = Arc::new(Streams::new());
    let mut server = FromServer(Arc::clone(&streams));
    let (mut flow, _ticket, number) = streams.open(asked(1)).unwrap();
    let big = format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{}"]}}"#, "x".repeat(9 << 20));
    server.pass(&big);
    server.pass(SAID);
    assert_eq!(streams.begin(number, None, &mut flow).len(), 0);
}
