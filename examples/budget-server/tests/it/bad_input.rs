//! Bad arguments: each has an answer that names the rule, and nothing moves.

use serde_json::{Value, json};

use crate::site::{Answer, Site};

const TOOLS: [&str; 4] =
    ["transfer_budget", "transfer_budget_versioned", "article_transfer_budget", "article_transfer_budget_versioned"];

#[tokio::test(flavor = "multi_thread")]
async fn bad_transfers_are_refused_with_the_rule() {
    let rich = i64::MAX - 5;
    let site = Site::start(&["--seed", "a=100", "--seed", "b=10", "--seed", &format!("rich={rich}")]).await;
    let client = site.client().await;
    let cases: [(Value, &str); 10] = [
        (json!({ "from": "a", "to": "b", "amount": -5 }), "above zero"),
        (json!({ "from": "a", "to": "b", "amount": 0 }), "above zero"),
        (json!({ "from": "a", "to": "b", "amount": 1.5 }), "do not fit"),
        (json!({ "from": "a", "to": "b", "amount": 1e30 }), "do not fit"),
        (json!({ "from": "a", "to": "b", "amount": "5" }), "do not fit"),
        (json!({ "from": "a", "to": "b" }), "missing field `amount`"),
        (json!({ "from": "a", "to": "b", "amount": 5, "currency": "EUR" }), "unknown field `currency`"),
        (json!({ "from": "a", "to": "a", "amount": 5 }), "cannot pay itself"),
        (json!({ "from": "", "to": "b", "amount": 5 }), "1 to 100 bytes"),
        (json!({ "from": "a\u{0}", "to": "b".repeat(5000), "amount": 5 }), "1 to 100 bytes"),
    ];
    for tool in TOOLS {
        for (arguments, rule) in &cases {
            let said = client.call(tool, arguments.clone()).await.refused();
            assert!(said.contains(rule), "{tool} {arguments}: {said}");
        }
    }
    for (tool, table) in [("transfer_budget", "fenced"), ("transfer_budget_versioned", "versioned")] {
        let nobody = json!({ "from": "nobody", "to": "a", "amount": 5 });
        assert!(client.call(tool, nobody).await.refused().contains("no such budget"));
        let to_nobody = json!({ "from": "a", "to": "nobody", "amount": 5 });
        assert!(client.call(tool, to_nobody).await.refused().contains("no such budget"));
        let too_much = json!({ "from": "a", "to": "b", "amount": 101 });
        assert!(client.call(tool, too_much).await.refused().contains("does not suffice"));
        let overflow = json!({ "from": "a", "to": "rich", "amount": 6 });
        assert!(client.call(tool, overflow).await.refused().contains("more money than"));
        let balances = [client.balance(table, "a").await, client.balance(table, "b").await];
        assert_eq!((balances, client.balance(table, "rich").await), ([100, 10], rich), "nothing moved");
    }
}

/// Its hello and its calls reach different instances, which is all the same to them.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_client_is_served_as_well() {
    let site = Site::durable(&["--seed", "a=100", "--seed", "b=0"]).await;
    let client = site.older_client().await;
    for _ in 0..4 {
        client.call("transfer_budget", json!({ "from": "a", "to": "b", "amount": 5 })).await.done();
    }
    let invoice = json!({ "customer": "bob@example.com", "amount": 500 });
    let first = client.call_with_key("send_invoice", invoice.clone(), "order-1").await.done();
    assert_eq!(client.call_with_key("send_invoice", invoice, "order-1").await.done(), first);
    assert_eq!((client.balance("fenced", "b").await, site.invoices("send_invoice").len()), (20, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_tools_are_listed_and_unknown_ones_refused() {
    let site = Site::start(&[]).await;
    let client = site.client().await;
    let tools = client.tools().await;
    for tool in ["send_invoice", "article_send_invoice", "enqueue_report", "article_enqueue_report", "list_reports"] {
        assert!(tools.iter().any(|name| name == tool), "{tool} is missing in {tools:?}");
    }
    assert_eq!(tools.len(), 11);
    assert!(
        matches!(client.call("transfer_everything", json!({})).await, Answer::Unknown(why) if why.contains("no tool"))
    );
    client.call("get_budget", json!({ "budget": "a", "table": "secret" })).await.refused();
    client.call("get_budget", json!({ "budget": "nobody" })).await.refused();
}
