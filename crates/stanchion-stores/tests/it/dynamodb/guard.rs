//! The guard that others use without our code: `guards/dynamodb`. Against dynalite, which is an emulator.

use std::time::Duration;

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ReturnValue, ScalarAttributeType,
};
use stanchion_core::{Acquire, FencingToken, Locks, Wait};
use stanchion_testkit::engines::Dynalite;

use super::{PATIENCE, key, open, plain, server};
use crate::common::example::{assert_examples, guards};

/// One expression of a file that users take as it is.
fn expression(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(guards("dynamodb").join(file)).unwrap();
    let after = text.split(&format!("\"{name}\": \"")).nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

fn n(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A user's table: its key is `id`.
async fn accounts(server: &Dynalite) {
    let attribute = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let element = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
    let create = plain(server).create_table().table_name("accounts").billing_mode(BillingMode::PayPerRequest);
    let create = create.attribute_definitions(attribute.build().unwrap()).key_schema(element.build().unwrap());
    create.send().await.unwrap();
}

fn update(server: &Dynalite, id: &str) -> UpdateItemFluentBuilder {
    plain(server).update_item().table_name("accounts").key("id", AttributeValue::S(id.to_owned()))
}

/// Whether it was accepted.
async fn sent(update: UpdateItemFluentBuilder) -> Option<u64> {
    match update.return_values(ReturnValue::AllNew).send().await {
        Ok(answer) => {
            let visits = answer.attributes.unwrap().get("visits").map(|n| n.as_n().unwrap().parse().unwrap());
            Some(visits.unwrap_or(0))
        }
        Err(e) => match e.into_service_error() {
            UpdateItemError::ConditionalCheckFailedException(_) => None,
            e => panic!("{e}"),
        },
    }
}

fn with(update: UpdateItemFluentBuilder, token: FencingToken) -> UpdateItemFluentBuilder {
    update
        .expression_attribute_values(":fence", n(token.number()))
        .expression_attribute_values(":lease", AttributeValue::S(token.lease_id()))
}

async fn touch(server: &Dynalite, id: &str, token: FencingToken) -> Option<u64> {
    let update = update(server, id).update_expression(expression("touch.json", "UpdateExpression"));
    sent(with(update, token).condition_expression(expression("touch.json", "ConditionExpression"))).await
}

async fn write(server: &Dynalite, id: &str, token: FencingToken, visits: u64) -> Option<u64> {
    let update = update(server, id).update_expression("SET visits = :visits");
    let update = with(update, token).expression_attribute_values(":visits", n(visits));
    sent(update.condition_expression(expression("write.json", "ConditionExpression"))).await
}

/// A fence that only writes are checked against: what most texts describe. It lives here and nowhere else.
async fn write_only(server: &Dynalite, id: &str, token: FencingToken, visits: u64) -> Option<u64> {
    let update = update(server, id)
        .update_expression("SET seen = :fence, visits = :visits")
        .condition_expression("attribute_not_exists(seen) OR seen <= :fence")
        .expression_attribute_values(":fence", n(token.number()))
        .expression_attribute_values(":visits", n(visits));
    sent(update).await
}

async fn read(server: &Dynalite, id: &str) -> u64 {
    let get = plain(server).get_item().table_name("accounts").key("id", AttributeValue::S(id.to_owned()));
    let item = get.consistent_read(true).send().await.unwrap().item.unwrap_or_default();
    item.get("visits").map_or(0, |n| n.as_n().unwrap().parse().unwrap())
}

/// Seven steps: A locks, A reads, A's lease ends, B locks, B reads, A writes, B writes. Both add one.
#[tokio::test]
async fn write_only_fence_loses_an_update_and_first_touch_does_not() {
    let server = server().await;
    accounts(&server).await;
    let short = Acquire::new(key("k")).ttl(Duration::from_millis(50)).unwrap();
    let a = open(&server.url()).await.locks.try_acquire(&short, stanchion_core::Owner::random()).await.unwrap().fence;
    let other = Locks::shared(open(&server.url()).await.locks);
    let lease = other.acquire(&Acquire::new(key("k")).wait(Wait::For(PATIENCE))).await.unwrap();
    let b = lease.fence().unwrap().token();
    assert!(b.number() > a.number());

    let (seen_by_a, seen_by_b) = (read(&server, "naive").await, read(&server, "naive").await);
    let acknowledged =
        [write_only(&server, "naive", a, seen_by_a + 1).await, write_only(&server, "naive", b, seen_by_b + 1).await];
    assert!(acknowledged.iter().all(Option::is_some), "void: {acknowledged:?}");
    assert_eq!(read(&server, "naive").await, 1, "two acknowledged increments, one kept: the recipe's bug");

    let seen_by_a = touch(&server, "guarded", a).await.unwrap();
    let seen_by_b = touch(&server, "guarded", b).await.unwrap();
    assert_eq!(write(&server, "guarded", a, seen_by_a + 1).await, None, "the late write is refused");
    assert_eq!(touch(&server, "guarded", a).await, None, "and so is its next read");
    assert_eq!(write(&server, "guarded", b, seen_by_b + 1).await, Some(1));
    assert_eq!(read(&server, "guarded").await, 1, "one acknowledged increment, one kept");
}

#[tokio::test]
async fn the_nonce_counts_and_a_write_needs_its_touch() {
    let server = server().await;
    accounts(&server).await;
    let (mine, twin) = (FencingToken::from_parts(5, 1), FencingToken::from_parts(5, 2));
    assert_eq!(write(&server, "x", mine, 1).await, None, "a write without a touch");
    assert_eq!(touch(&server, "x", mine).await, Some(0));
    assert_eq!(touch(&server, "x", mine).await, Some(0), "the same token again");
    assert_eq!(touch(&server, "x", twin).await, None);
    assert_eq!(write(&server, "x", twin, 9).await, None);
    assert_eq!(write(&server, "x", mine, 1).await, Some(1));
}

#[tokio::test]
async fn the_examples_in_other_languages_run_and_are_refused() {
    let server = server().await;
    accounts(&server).await;
    let endpoint = format!("http://127.0.0.1:{}/", server.port());
    let ran = assert_examples("dynamodb", &[("python3", "guard.py"), ("node", "guard.mjs")], |command, file| {
        command.args([&endpoint, "accounts", file]).env_remove("AWS_SESSION_TOKEN");
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    });
    for file in ran {
        assert_eq!(read(&server, file).await, 3, "{file}");
    }
}
