//! Streamed and large answers.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::routing::post as route_post;
use bytes::Bytes;
use futures_util::stream;
use stanchion_core::{ClaimId, MemoryStore, Page, RecordStore as _, Wait, claim};
use stanchion_http::key::KeyRules;
use stanchion_http::layer::RoutePolicy;

use crate::web::{Runs, guard, guarded, post, route, serve};

type Piece = Result<Bytes, std::io::Error>;

async fn streaming(store: &MemoryStore, policy: RoutePolicy, pieces: Vec<Option<Bytes>>) -> (SocketAddr, Runs) {
    let runs = Runs::default();
    let counted = runs.clone();
    let handler = move || async move {
        counted.one();
        let pieces = pieces.into_iter().map(|piece| piece.ok_or_else(|| std::io::Error::other("broke off")) as Piece);
        Body::from_stream(stream::iter(pieces.collect::<Vec<_>>()))
    };
    let app = Router::new().route("/", route_post(handler));
    (serve(app.layer(guarded(guard(store), policy))).await, runs)
}

fn piece(byte: u8, length: usize) -> Option<Bytes> {
    Some(Bytes::from(vec![byte; length]))
}

#[tokio::test]
async fn a_streamed_answer_is_replayed_whole() {
    let pieces = vec![piece(b'a', 10), piece(0xff, 3), piece(b'c', 1)];
    let (at, runs) = streaming(&MemoryStore::new(), route(), pieces).await;
    let first = post(at, "/").key("k").send().await;
    let again = post(at, "/").key("k").send().await;
    assert_eq!(&first.body[..], b"aaaaaaaaaa\xff\xff\xffc");
    assert_eq!((first.body, again.replayed(), runs.count()), (again.body.clone(), true, 1));
}

#[tokio::test]
async fn an_answer_of_exactly_the_cap_is_kept_and_one_byte_more_is_not() {
    for (over, kept) in [(0, true), (1, false)] {
        let policy = route().response_cap(1000).unwrap();
        let (at, runs) = streaming(&MemoryStore::new(), policy, vec![piece(b'x', 600), piece(b'y', 400 + over)]).await;
        let first = post(at, "/").key("k").send().await;
        assert_eq!(first.body.len(), 1000 + over, "the first caller gets all of it");
        let again = post(at, "/").key("k").send().await;
        let slug = again.slug();
        assert_eq!(slug.is_none(), kept, "{slug:?}");
        assert_eq!(runs.count(), 1, "never a second run");
    }
}

#[tokio::test]
async fn a_large_answer_is_streamed_to_the_first_caller_and_then_not_retained() {
    let store = MemoryStore::new();
    let pieces: Vec<_> = (0..64).map(|n| piece(n, 100_000)).collect();
    let (at, runs) = streaming(&store, route().response_cap(1000).unwrap(), pieces).await;
    let first = post(at, "/").key("k").send().await;
    assert_eq!((first.status.as_u16(), first.body.len()), (200, 6_400_000));
    for _ in 0..2 {
        let (status, slug, json) = post(at, "/").key("k").send().await.problem().expect("a problem");
        assert_eq!((status, &*slug, runs.count()), (410, "response-not-retained", 1));
        assert_eq!((&json["mayHaveExecuted"], &json["retryable"]), (&true.into(), &false.into()));
    }
    let claims = guard(&store).claims().list("", Page::first(2)).await.unwrap();
    assert_eq!(claims.len(), 1);
    let records = store.scan(ClaimId::RECORDS, Page::first(2)).await.unwrap();
    assert!(records[0].1.value.len() < 4096, "nothing of the body is kept");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_unknown_before_and_after_the_cap() {
    for before in [10, 5000] {
        let policy = route().response_cap(1000).unwrap();
        let (at, runs) = streaming(&MemoryStore::new(), policy, vec![piece(b'x', before), None]).await;
        match post(at, "/").key("k").try_send().await {
            // Nothing was sent yet, so it can be said in words.
            Ok(got) if before < 1000 => assert_eq!(got.slug(), Some((409, "outcome-unknown".into()))),
            Ok(got) => panic!("a broken answer looks whole: {got:?}"),
            Err(_) => assert!(before > 1000),
        }
        let again = post(at, "/").key("k").send().await;
        assert_eq!((again.slug(), runs.count()), (Some((409, "outcome-unknown".into())), 1));
    }
}

#[tokio::test]
async fn without_a_key_an_answer_streams_through() {
    let policy = route().key(KeyRules::optional()).lock("all".parse().unwrap(), Wait::No);
    let (at, runs) = streaming(&MemoryStore::new(), policy, vec![piece(b'x', 600), piece(b'y', 4000)]).await;
    for _ in 0..2 {
        assert_eq!(post(at, "/").send().await.body.len(), 4600);
    }
    assert_eq!(runs.count(), 2);
}

#[tokio::test]
async fn of_a_large_answer_length_and_sha256_are_kept() {
    let store = MemoryStore::new();
    let (at, _) = streaming(&store, route().response_cap(0).unwrap(), vec![piece(b'a', 3)]).await;
    assert_eq!(&post(at, "/").key("k").send().await.body[..], b"aaa");
    let got = post(at, "/").key("k").send().await;
    let receipt: ClaimId = got.problem().expect("a problem").2["receipt"].as_str().unwrap().parse().unwrap();
    let claim = guard(&store).claims().get(&receipt).await.unwrap().unwrap();
    let claim::State::Done { response, .. } = claim.state else { panic!("{:?}", claim.state) };
    let claim::Body::Dropped { len, digest } = response.body else { panic!("{:?}", response.body) };
    // sha256sum says so.
    assert_eq!((len, &*digest.to_string()), (3, "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"));
}
