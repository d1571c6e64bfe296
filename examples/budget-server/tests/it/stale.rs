//! A holder that stands still while its lock expires, wakes up, and goes on as if nothing had happened.

use serde_json::json;

use crate::site::{Answer, PATIENCE, Site};

const TIMING: &[&str] = &["--lease-ms", "400", "--article-lock-ms", "400", "--seed", "pot=1000", "--seed", "x=0"];

/// A is frozen at `point` in a transfer of 700; B then does the same; A wakes up. Returns both answers, and the pot.
async fn overtaken(tool: &'static str, table: &str, point: &str) -> (Answer, Answer, [i64; 2]) {
    let site = Site::start(TIMING).await;
    let transfer = json!({ "from": "pot", "to": "x", "amount": 700 });
    let (a, b) = (site.a.client().await, site.b.client().await);
    site.a.pauses.hold(point);
    let slow = tokio::spawn({
        let transfer = transfer.clone();
        async move { a.call(tool, transfer).await }
    });
    site.a.pauses.reached(point, PATIENCE).await;
    site.a.process.pause();
    let mut second = b.call(tool, transfer.clone()).await;
    // The article's caller is told to come back; ours waits in line.
    while matches!(&second, Answer::Refused(why) if why["type"] == "contended") {
        second = b.call(tool, transfer.clone()).await;
    }
    site.a.pauses.release(point);
    site.a.process.resume();
    let first = slow.await.unwrap();
    let balances = [b.balance(table, "pot").await, b.balance(table, "x").await];
    (first, second, balances)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_holder_is_refused_by_the_rows() {
    let (first, second, balances) = overtaken("transfer_budget", "fenced", "budget.locked").await;
    second.done();
    let said = first.refused();
    assert!(said.contains("a newer holder has touched") && said.contains("SF001"), "{said}");
    assert_eq!(balances, [300, 700]);
}

/// Both kinds stand in an open transaction here. The server ends it, so that nobody waits for a process that sleeps.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_a_frozen_process_is_ended_and_moves_nothing() {
    for (tool, table) in [("transfer_budget", "fenced"), ("transfer_budget_versioned", "versioned")] {
        let (first, second, balances) = overtaken(tool, table, "budget.read").await;
        second.done();
        let said = first.refused();
        assert!(said.contains("nothing was moved"), "{tool}: {said}");
        assert_eq!(balances, [300, 700], "{tool}");
    }
}

/// The control: both are acknowledged, and the pot is overdrawn.
#[tokio::test(flavor = "multi_thread")]
async fn the_articles_frozen_holder_overdraws_the_pot() {
    let (first, second, balances) = overtaken("article_transfer_budget", "article", "budget.read").await;
    first.done();
    second.done();
    assert_eq!(balances, [-400, 1400], "the control must overdraw");
}
