//! The table: looked at when the store is opened, made if it is missing.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, MultiRegionConsistency, ScalarAttributeType,
    TableDescription, TableStatus,
};
use stanchion_core::{Capability, Error, ErrorKind, Hold, Purpose, Result, Survives};
use tokio::time::Instant;

use super::fault::Fault;
use super::link::Link;

/// Amazon needs a few seconds for a new table.
const READY: Duration = Duration::from_secs(60);

/// The table, active and with our key. Made, if it is missing and may be.
pub(super) async fn ready(link: &Link) -> Result<TableDescription> {
    let until = Instant::now() + READY;
    loop {
        let table = match describe(link).await {
            Ok(table) => table,
            Err(fault) if fault.missing_table() => {
                create(link).await?;
                continue;
            }
            Err(fault) => return Err(link.error(fault, false)),
        };
        check(link, &table)?;
        match table.table_status() {
            Some(TableStatus::Creating | TableStatus::Updating) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            Some(TableStatus::Active | TableStatus::Updating) | None => return Ok(table),
            Some(status) => {
                return Err(Error::new(ErrorKind::Unavailable, "the table does not serve")
                    .with("table", &link.options.table)
                    .with("status", status.as_str())
                    .hint("wait until its status is ACTIVE"));
            }
        }
    }
}

pub(super) async fn describe(link: &Link) -> Result<TableDescription, Fault> {
    let describe = link.client.describe_table().table_name(&link.options.table);
    link.ask(|| describe.clone().send()).await?.table.ok_or(Fault::Garbled("Table"))
}

async fn create(link: &Link) -> Result<()> {
    if !link.options.create {
        return Err(Error::new(ErrorKind::Unavailable, "the table is missing")
            .with("table", &link.options.table)
            .with("store", &link.options.shown)
            .hint(link.options.create_command()));
    }
    let build = |e: aws_sdk_dynamodb::error::BuildError| Error::new(ErrorKind::Unexpected, e.to_string());
    let key = KeySchemaElement::builder().attribute_name("k").key_type(KeyType::Hash).build().map_err(build)?;
    let text = AttributeDefinition::builder().attribute_name("k").attribute_type(ScalarAttributeType::S);
    let create = link
        .client
        .create_table()
        .table_name(&link.options.table)
        .attribute_definitions(text.build().map_err(build)?)
        .key_schema(key)
        .billing_mode(BillingMode::PayPerRequest);
    match link.send(|| create.clone().send()).await {
        Ok(_) => Ok(()),
        // Somebody else makes it at this moment.
        Err(Fault::Refused(code, _)) if code == "ResourceInUseException" => Ok(()),
        Err(fault) => Err(link.error(fault, true).with("by hand", link.options.create_command())),
    }
}

/// A table of somebody else's shape is not ours to write to.
fn check(link: &Link, table: &TableDescription) -> Result<()> {
    let keys: Vec<_> = table.key_schema().iter().map(KeySchemaElement::attribute_name).collect();
    let text = table
        .attribute_definitions()
        .iter()
        .any(|attribute| attribute.attribute_name() == "k" && *attribute.attribute_type() == ScalarAttributeType::S);
    if keys == ["k"] && text {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, "the table belongs to another program: ours has one string key, k")
        .with("table", &link.options.table)
        .with("keys", keys.join(", "))
        .hint("give the name of a table that does not exist yet; it will be made"))
}

/// Copies in other regions that take writes, and settle them by "the last one wins".
pub(super) fn last_writer_wins(table: &TableDescription) -> bool {
    !table.replicas().is_empty() && table.multi_region_consistency() != Some(&MultiRegionConsistency::Strong)
}

pub(super) fn capability(link: &Link, table: &TableDescription) -> Capability {
    Capability {
        backend: "dynamodb",
        hold: Hold::Lease,
        clock: false,
        fair: false,
        shared_between_processes: true,
        survives: if link.amazon { Survives::PowerLoss } else { Survives::ProcessCrash },
        purpose: Purpose::Correctness,
        weak: last_writer_wins(table).then_some(
            "the table is replicated between regions and the last writer wins: use it from one region only, or with strong consistency",
        ),
    }
}
