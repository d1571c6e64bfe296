//! What `stanchion doctor` says about a table.

use std::time::Duration;

use aws_sdk_dynamodb::types::{BillingMode, PointInTimeRecoveryStatus, TableDescription, TimeToLiveStatus};
use stanchion_core::{Capability, Result};

use super::link::Link;
use super::table;
use crate::Finding;

/// Amazon refuses signatures that are older than this.
const SKEW_MOST: Duration = Duration::from_secs(5 * 60);

pub(super) async fn examine(link: &Link, capability: Capability) -> Result<Vec<Finding>> {
    let table = table::describe(link).await.map_err(|fault| link.error(fault, false))?;
    let name = &link.options.table;
    // Copies are said below, with what to do about them.
    let mut findings = crate::doctor::of_capability(Capability { weak: None, ..capability });
    findings.push(match (link.amazon, link.client.config().region()) {
        (true, region) => Finding::fine("engine", format!("Amazon DynamoDB in {}", region.map_or("?", |r| r.as_ref()))),
        (false, _) => Finding::weak("engine", "not Amazon's own endpoint: an emulator may forget what it acknowledged")
            .fix("leave out endpoint= in production"),
    });
    findings.push(Finding::fine("table", format!("{name} is {}", table.table_status().map_or("?", |s| s.as_str()))));
    findings.push(billing(&table));
    findings.push(replicas(&table));
    findings.extend(deletion(link, &table));
    findings.extend(backups(link).await);
    findings.extend(time_to_live(link).await);
    findings.push(clock(link));
    Ok(findings)
}

fn billing(table: &TableDescription) -> Finding {
    let mode = table.billing_mode_summary().and_then(|summary| summary.billing_mode());
    if mode == Some(&BillingMode::PayPerRequest) {
        return Finding::fine("billing", "on demand");
    }
    let units = table.provisioned_throughput();
    let units = units.map(|u| (u.read_capacity_units().unwrap_or(0), u.write_capacity_units().unwrap_or(0)));
    let (read, write) = units.unwrap_or_default();
    Finding::weak("billing", format!("provisioned: {read} reads and {write} writes per second, more are refused"))
        .fix("aws dynamodb update-table --billing-mode PAY_PER_REQUEST")
}

fn replicas(table: &TableDescription) -> Finding {
    let regions: Vec<_> = table.replicas().iter().filter_map(|replica| replica.region_name()).collect();
    if table::last_writer_wins(table) {
        return Finding::broken(
            "replication",
            format!(
                "a global table ({}): the last writer wins between regions, whatever its condition was",
                regions.join(", ")
            ),
        )
        .fix("use one region for all clients, or a table with multi-region strong consistency");
    }
    match regions.as_slice() {
        [] => Finding::fine("replication", "one region, three zones"),
        _ => Finding::fine("replication", format!("strongly consistent between {}", regions.join(", "))),
    }
}

fn deletion(link: &Link, table: &TableDescription) -> Option<Finding> {
    (link.amazon && table.deletion_protection_enabled() != Some(true)).then(|| {
        Finding::weak("deletion", "one call deletes the table, with all versions and fences")
            .fix(format!("aws dynamodb update-table --table-name {} --deletion-protection-enabled", link.options.table))
    })
}

/// Nothing is said where the role may not ask, or the endpoint does not know.
async fn backups(link: &Link) -> Option<Finding> {
    let ask = link.client.describe_continuous_backups().table_name(&link.options.table);
    let answer = link.ask(|| ask.clone().send()).await.ok()?;
    let status = answer.continuous_backups_description?.point_in_time_recovery_description?;
    Some(match status.point_in_time_recovery_status() {
        // A table that is restored has old fences: better than none, but its locks must be floored.
        Some(PointInTimeRecoveryStatus::Enabled) => Finding::fine("backups", "point-in-time recovery is on"),
        _ => Finding::weak("backups", "no point-in-time recovery")
            .fix("aws dynamodb update-continuous-backups --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"),
    })
}

async fn time_to_live(link: &Link) -> Option<Finding> {
    let ask = link.client.describe_time_to_live().table_name(&link.options.table);
    let ttl = link.ask(|| ask.clone().send()).await.ok()?.time_to_live_description?;
    let on = matches!(ttl.time_to_live_status(), Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    on.then(|| {
        Finding::broken("ttl", "DynamoDB's own TTL deletes items, and versions and fences with them").fix(format!(
            "aws dynamodb update-time-to-live --table-name {} --time-to-live-specification Enabled=false,AttributeName={}",
            link.options.table,
            ttl.attribute_name().unwrap_or("ends")
        ))
    })
}

fn clock(link: &Link) -> Finding {
    let theirs = Duration::from_millis(link.date.at_least());
    if theirs.is_zero() {
        return Finding::broken("clock", "the answers have no Date: nothing can end by its ttl");
    }
    #[expect(clippy::disallowed_methods, reason = "the doctor compares wall clocks; nothing else does")]
    let ours = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let skew = ours.abs_diff(theirs);
    if skew < Duration::from_secs(3) {
        return Finding::fine("clock", "within 3 s of ours; no promise rests on ours");
    }
    let says = format!("{} s away from ours; no promise rests on ours", skew.as_secs());
    if skew < SKEW_MOST / 2 {
        return Finding::fine("clock", says);
    }
    Finding::weak("clock", says).fix("set this machine's clock: Amazon refuses signatures that are 5 minutes off")
}
