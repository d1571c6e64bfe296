//! `lock ls|show|release` and `why`.

use std::time::Duration;

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use stanchion_core::text::duration;
use stanchion_core::{Hold, Key, LockBackend, LockInfo, Mode, Page, Released, Result};

use crate::audit::{Audit, By};
use crate::cli::{Cli, LockVerb, WhyArgs};
use crate::exit::{print, say};
use crate::store;

pub(crate) async fn run(cli: &Cli, verb: &LockVerb) -> Result<u8> {
    let opened = store::open_locks(&cli.store).await?;
    match verb {
        LockVerb::Ls { prefix, limit, json } => {
            let found = opened.locks.list(prefix, Page::first(*limit)).await?;
            let held: Vec<_> =
                found.into_iter().filter(|info| !info.holders.is_empty() || !info.waiters.is_empty()).collect();
            if *json {
                print(&Value::from(held.iter().map(to_json).collect::<Vec<_>>()).to_string());
            } else if held.is_empty() {
                say(&format!("no locks are held in {}", opened.shown));
            } else {
                print(&table(&held));
            }
            Ok(0)
        }
        LockVerb::Show(args) => show(&*opened.locks, &opened.shown, args).await,
        LockVerb::Release { name, reason } => {
            let line = json!({
                "event": "lock_release", "lock": name.as_str(), "store": opened.shown, "reason": reason,
            });
            let audit = Audit::intend(cli, &By::current(), line)?;
            let released = opened.locks.evict(name).await;
            audit.tell(&released, |released| if *released == Released::Released { "released" } else { "not_held" });
            match released? {
                Released::Released => {
                    say(&format!(
                        "lock '{name}' was taken away; the old holder's fence is refused once the next one has touched what it protects"
                    ));
                }
                Released::NotHeld => say(&format!("nobody holds lock '{name}'")),
            }
            Ok(0)
        }
    }
}

pub(crate) async fn why(cli: &Cli, args: &WhyArgs) -> Result<u8> {
    let opened = store::open_locks(&cli.store).await?;
    show(&*opened.locks, &opened.shown, args).await
}

async fn show(locks: &dyn LockBackend, store: &str, args: &WhyArgs) -> Result<u8> {
    let info = find(locks, &args.name).await?.unwrap_or_else(|| LockInfo::new(args.name.clone()));
    if args.json {
        print(&to_json(&info).to_string());
        return Ok(0);
    }
    if info.holders.is_empty() {
        print(&format!("lock '{}' is free in {store}", args.name));
    }
    for holder in &info.holders {
        print(&format!("lock '{}' is {holder}", args.name));
        if let Some(fence) = holder.fence {
            print(&format!("  fence {} · lease id {}", fence.number(), fence.lease_id()));
        }
        if locks.capability().hold == Hold::Held {
            print(&format!("  it is held until that process ends; ask pid {}", holder.identity.pid));
        }
    }
    for (place, (who, waited)) in info.waiters.iter().enumerate() {
        let waited = waited.map_or_else(String::new, |waited| format!(", waiting for {}", duration(waited)));
        print(&format!("  {}. in line: {who}{waited}", place + 1));
    }
    Ok(0)
}

/// The one lock of this name, if the store knows it.
pub(crate) async fn find(locks: &dyn LockBackend, name: &Key) -> Result<Option<LockInfo>> {
    // Of all keys with this prefix the bare one sorts first.
    let found = locks.list(name.as_str(), Page::first(1)).await?;
    Ok(found.into_iter().find(|info| info.key == *name))
}

fn table(infos: &[LockInfo]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["LOCK", "HOLDER", "MODE", "HELD", "EXPIRES", "FENCE", "WAITERS"]);
    for info in infos {
        let text = |d: Option<Duration>| d.map_or_else(|| "-".to_owned(), duration);
        if info.holders.is_empty() {
            let waiters = info.waiters.len().to_string();
            table.add_row([info.key.to_string().as_str(), "(being handed on)", "-", "-", "-", "-", &waiters]);
        }
        for holder in &info.holders {
            table.add_row([
                info.key.to_string(),
                holder.identity.to_string(),
                mode(holder.mode),
                text(holder.held_for),
                text(holder.expires_in),
                holder.fence.map_or_else(|| "-".to_owned(), |fence| fence.number().to_string()),
                info.waiters.len().to_string(),
            ]);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Exclusive => "exclusive".to_owned(),
        Mode::Shared => "shared".to_owned(),
        Mode::Slots(n) => format!("slots({n})"),
    }
}

fn to_json(info: &LockInfo) -> Value {
    let ms = |d: Option<Duration>| d.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
    let holders = info.holders.iter().map(|holder| {
        json!({
            "host": holder.identity.host, "pid": holder.identity.pid, "label": holder.identity.label,
            "mode": mode(holder.mode), "fence": holder.fence.map(|f| f.number()),
            "lease_id": holder.fence.map(|f| f.lease_id()),
            "held_ms": ms(holder.held_for), "expires_in_ms": ms(holder.expires_in),
        })
    });
    let waiters = info
        .waiters
        .iter()
        .map(|(who, waited)| json!({ "host": who.host, "pid": who.pid, "label": who.label, "waited_ms": ms(*waited) }));
    json!({ "lock": info.key.as_str(), "holders": holders.collect::<Vec<_>>(), "waiters": waiters.collect::<Vec<_>>() })
}
