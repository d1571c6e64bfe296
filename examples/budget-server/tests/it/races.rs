//! Many clients at once, on both instances. Exact totals, and for each tool the article's version, which must fail.

use serde_json::json;

use crate::site::{Answer, PATIENCE, Site};

const CLIENTS: usize = 8;
const CALLS: usize = 100;
/// Money runs out once per pot; that is where the races are.
const POTS: usize = 20;
const POT: i64 = 500;
const AMOUNT: i64 = 20;
/// What all pots hold together, and the calls it is enough for.
const MONEY: i64 = POT * POTS as i64;
const ENOUGH_FOR: i64 = MONEY / AMOUNT;
const RECEIVERS: [&str; 2] = ["x", "y"];

/// What the callers were told, and what is in the table.
#[derive(Debug, Default)]
struct Tally {
    acknowledged: i64,
    insufficient: usize,
    other: Vec<String>,
    unknown: Vec<String>,
    received: [i64; 2],
    pots: Vec<i64>,
    balances: [i64; 2],
}

impl Tally {
    fn total(&self) -> i64 {
        self.pots.iter().chain(&self.balances).sum()
    }
}

/// What happens to instance A.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Killed while its calls stand between taking and giving.
    Killed,
}

/// All clients take from one pot after the other; together they hold enough for 500 of 800 calls.
async fn drain(tool: &'static str, table: &str, fault: Fault) -> Tally {
    let seeds =
        (0..POTS).map(|pot| format!("--seed=pot{pot}={POT}")).chain(RECEIVERS.map(|to| format!("--seed={to}=0")));
    let seeds: Vec<_> = seeds.collect();
    // The article's own advice: a delay between read and write, and a lock that it outlives.
    let timing = ["--delay-ms", "3", "--article-lock-ms", "1", "--lease-ms", "2000"];
    let arguments: Vec<_> = seeds.iter().map(String::as_str).chain(timing).collect();
    let mut site = Site::start(&arguments).await;
    if fault == Fault::Killed {
        site.a.pauses.hold("budget.between-writes");
    }
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let client = site.client().await;
        clients.push(tokio::spawn(async move {
            let mut answers = Vec::new();
            for call in 0..CALLS {
                let to = (number + call) % RECEIVERS.len();
                let from = format!("pot{}", call * POTS / CALLS);
                let transfer = json!({ "from": from, "to": RECEIVERS[to], "amount": AMOUNT });
                let mut answer = client.call(tool, transfer.clone()).await;
                // The article does not wait for its lock, and tells its callers to come back.
                while matches!(&answer, Answer::Refused(why) if why["type"] == "contended") {
                    answer = client.call(tool, transfer.clone()).await;
                }
                answers.push((to, answer));
            }
            answers
        }));
    }
    if fault == Fault::Killed {
        site.a.pauses.reached("budget.between-writes", PATIENCE).await;
        site.a.process.kill();
    }
    let mut tally = Tally::default();
    for client in clients {
        for (to, answer) in client.await.unwrap() {
            match answer {
                Answer::Done(value) => {
                    assert_eq!(value["moved"], json!(AMOUNT));
                    tally.acknowledged += 1;
                    tally.received[to] += AMOUNT;
                }
                Answer::Refused(why) if why["message"].as_str().unwrap().contains("does not suffice") => {
                    tally.insufficient += 1;
                }
                Answer::Refused(why) => tally.other.push(why.to_string()),
                Answer::Unknown(why) => tally.unknown.push(why),
            }
        }
    }
    let reader = site.client().await;
    for pot in 0..POTS {
        tally.pots.push(reader.balance(table, &format!("pot{pot}")).await);
    }
    tally.balances = [reader.balance(table, "x").await, reader.balance(table, "y").await];
    tally
}

fn assert_exact(tally: &Tally) {
    assert!(tally.other.is_empty(), "no other failure may come: {tally:?}");
    assert_eq!(tally.acknowledged, ENOUGH_FOR, "as many as the pots hold: {tally:?}");
    let answers = tally.acknowledged as usize + tally.insufficient + tally.unknown.len();
    assert_eq!(answers, CLIENTS * CALLS, "every call has one answer");
    assert_eq!(tally.pots, [0; POTS], "not a cent left, not a cent too much");
    assert_eq!((tally.balances, tally.total()), (tally.received, MONEY), "exact to the cent");
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_transfers_are_exact() {
    let tally = drain("transfer_budget", "fenced", Fault::None).await;
    assert_exact(&tally);
    assert_eq!(tally.unknown, Vec::<String>::new(), "without a fault every outcome is known");
}

/// The control: the lock expires, and the row lock that was to help in this case does not.
#[tokio::test(flavor = "multi_thread")]
async fn the_articles_locked_transfers_overdraw() {
    let tally = drain("article_transfer_budget", "article", Fault::None).await;
    let overdrawn = tally.pots.iter().filter(|pot| **pot < 0).count();
    assert!(overdrawn > 0 && tally.acknowledged > ENOUGH_FOR, "the control must overdraw: {tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn versioned_transfers_are_exact() {
    let tally = drain("transfer_budget_versioned", "versioned", Fault::None).await;
    assert_exact(&tally);
    assert_eq!(tally.unknown, Vec::<String>::new(), "without a fault every outcome is known");
}

/// Nothing that A had begun was committed, so the answers that were given are all there is.
fn assert_exact_after_a_kill(tally: &Tally) {
    assert_exact(tally);
    assert!((1..=CLIENTS).contains(&tally.unknown.len()), "the calls that died with A: {tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_killed_in_locked_transfers_changes_no_balance() {
    assert_exact_after_a_kill(&drain("transfer_budget", "fenced", Fault::Killed).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_killed_in_versioned_transfers_changes_no_balance() {
    assert_exact_after_a_kill(&drain("transfer_budget_versioned", "versioned", Fault::Killed).await);
}

/// The control: what A had taken is gone.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_killed_in_the_articles_locked_transfers_loses_money() {
    let tally = drain("article_transfer_budget", "article", Fault::Killed).await;
    assert!(tally.total() < MONEY, "the control must lose money: {tally:?}");
}

/// The control: a version column protects one row, and a transfer has two.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_killed_in_the_articles_versioned_transfers_loses_money() {
    let tally = drain("article_transfer_budget_versioned", "article", Fault::Killed).await;
    assert!(tally.total() < MONEY, "the control must lose money: {tally:?}");
}
