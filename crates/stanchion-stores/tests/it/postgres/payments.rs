//! An application that pays in transactions of its own: its table, its tries, and as a worker that may be killed.

use std::collections::BTreeMap;
use std::sync::Arc;

use stanchion_core::claim::{Outcome, Response};
use stanchion_core::{Call, RecordStore};
use stanchion_stores::InTransaction;
use stanchion_stores::postgres::claim_in_transaction;
use stanchion_testkit::engines::Postgres;
use tokio_postgres::{Client, Transaction};

use super::{open, plain};
use crate::common::transaction::{answer, call};
use crate::kills::Worker;

const EFFECTS: &str = "CREATE TABLE effects (key text NOT NULL, body text NOT NULL)";

pub(super) async fn effect(transaction: &Transaction<'_>, key: &str, body: &str) {
    transaction.execute("INSERT INTO effects VALUES ($1, $2)", &[&key, &body]).await.unwrap();
}

/// One try, as an application does it.
pub(super) async fn pay(client: &mut Client, call: &Call, body: &str) -> String {
    let transaction = client.transaction().await.unwrap();
    let claim = match claim_in_transaction(&transaction, call).await.unwrap() {
        InTransaction::Run(claim) => claim,
        known => return answer(known),
    };
    effect(&transaction, call.key.as_ref().unwrap().0.as_str(), body).await;
    claim.done(&transaction, Outcome::Ok, Response::new("200", body.to_owned())).await.unwrap();
    transaction.commit().await.unwrap();
    body.to_owned()
}

pub(super) async fn effects(client: &Client) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for row in client.query("SELECT key, body FROM effects", &[]).await.unwrap() {
        found.entry(row.get(0)).or_default().push(row.get(1));
    }
    found
}

/// A server with our tables and the application's.
pub(super) async fn server() -> (Postgres, Client, Arc<dyn RecordStore>) {
    let server = Postgres::start().await;
    let records = open(&server.url()).await.records.unwrap();
    let client = plain(&server.url()).await;
    client.batch_execute(EFFECTS).await.unwrap();
    (server, client, records)
}

/// `together`: the effect is in the claim's transaction; else in one of its own, as in articles.
pub(super) async fn work(mut worker: Worker, together: bool) {
    let (mut client, other) = (plain(&worker.target).await, plain(&worker.target).await);
    for key in worker.keys() {
        let call = call("alice", &key, "1");
        let transaction = client.transaction().await.unwrap();
        let body = match claim_in_transaction(&transaction, &call).await.unwrap() {
            InTransaction::Run(claim) => {
                worker.pass("claimed");
                let body = worker.body();
                if together {
                    effect(&transaction, &key, &body).await;
                } else {
                    other.execute("INSERT INTO effects VALUES ($1, $2)", &[&key, &body]).await.unwrap();
                }
                worker.pass("written");
                claim.done(&transaction, Outcome::Ok, Response::new("200", body.clone())).await.unwrap();
                worker.pass("done");
                worker.pass_soon("committing");
                transaction.commit().await.unwrap();
                worker.pass("committed");
                body
            }
            known => answer(known),
        };
        worker.answer(&key, &body);
    }
}
