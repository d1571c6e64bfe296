//! The AWS SDK without a lock library: two conditional updates, the first of which counts the fence up.

use std::time::Duration;

use aws_sdk_dynamodb::Client as Service;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ReturnValue, ScalarAttributeType,
    TableStatus,
};

use super::place;
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

const TABLE: &str = "bench";

fn connect(job: &Job) -> Outcome<Service> {
    let options = place(job, 0)?.split(['?', '&']);
    let endpoint = options.filter_map(|option| option.strip_prefix("endpoint=")).next().ok_or("no endpoint")?;
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("bench", "bench", None, None, "bench"))
        .endpoint_url(endpoint)
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Ok(Service::from_conf(config.build()))
}

struct Pair {
    service: Service,
    key: String,
    owner: String,
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

impl Client for Pair {
    type Held = ();

    async fn take(&mut self) -> Outcome {
        let update = self.service.update_item().table_name(TABLE).key("k", text(&self.key));
        let update = update
            .update_expression("SET #o = :me ADD fence :one")
            .condition_expression("attribute_not_exists(#o) OR #o = :nobody")
            .expression_attribute_names("#o", "owner")
            .expression_attribute_values(":me", text(&self.owner))
            .expression_attribute_values(":nobody", text("-"))
            .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
            .return_values(ReturnValue::UpdatedNew);
        match update.send().await?.attributes.and_then(|mut new| new.remove("fence")) {
            Some(_) => Ok(()),
            None => Err("no fence".into()),
        }
    }

    async fn give(&mut self, (): ()) -> Outcome {
        let update = self.service.update_item().table_name(TABLE).key("k", text(&self.key));
        let update = update
            .update_expression("SET #o = :nobody")
            .condition_expression("#o = :me")
            .expression_attribute_names("#o", "owner")
            .expression_attribute_values(":me", text(&self.owner))
            .expression_attribute_values(":nobody", text("-"));
        update.send().await?;
        Ok(())
    }
}

/// A new table takes no writes for a while.
async fn active(service: &Service) -> Outcome {
    for _ in 0..600 {
        let described = service.describe_table().table_name(TABLE).send().await?;
        if described.table.and_then(|table| table.table_status) == Some(TableStatus::Active) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("the table does not become active".into())
}

pub(super) fn pair(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let service = connect(job)?;
        let hash = KeySchemaElement::builder().attribute_name("k").key_type(KeyType::Hash).build()?;
        let kind = AttributeDefinition::builder().attribute_name("k").attribute_type(ScalarAttributeType::S).build()?;
        let create = service.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
        let created = create.key_schema(hash).attribute_definitions(kind).send().await;
        if let Err(e) = created.map_err(aws_sdk_dynamodb::error::SdkError::into_service_error)
            && !e.is_resource_in_use_exception()
        {
            return Err(e.into());
        }
        active(&service).await?;
        let client = |task| Pair { service: service.clone(), key: job.key_of(task), owner: format!("owner-{task}") };
        run_tasks(job, (0..job.tasks).map(client).collect()).await
    })
}
