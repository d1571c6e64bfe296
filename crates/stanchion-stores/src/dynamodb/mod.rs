//! `dynamodb:` — Amazon DynamoDB, and what speaks its protocol: records and leases by conditional writes.
//!
//! One item per key, which is never deleted: it carries the version and the fence, which grow for ever. See `item.rs` for
//! the attributes. Locks are `CasLock` over the records. Every operation is one request; writes are never repeated by us or by the library.

mod date;
mod doctor;
mod fault;
mod item;
mod link;
mod options;
mod records;
mod table;

use std::sync::Arc;

use async_trait::async_trait;
use stanchion_core::{CasLock, Error, ErrorKind, RecordStore, Result};

use self::link::Link;
use self::options::Options;
use self::records::DynamoStore;
use crate::{Backend, Durability, Finding, OpenOptions, Opened, StoreUrl};

pub(crate) static BACKEND: DynamoDb = DynamoDb;

/// The `dynamodb:` backend.
#[derive(Debug)]
pub(crate) struct DynamoDb;

async fn open(url: &mut StoreUrl, open: OpenOptions) -> Result<(Arc<Link>, Opened)> {
    let link = Arc::new(Link::new(Options::read(url)?).await?);
    let shown = link.options.shown.clone();
    if open.durability == Durability::Power && !link.amazon {
        return Err(Error::new(ErrorKind::Unsupported, "only Amazon's own DynamoDB is known to survive a power cut")
            .with("store", shown)
            .hint("leave out endpoint=, or open it with durability=process"));
    }
    let capability = table::capability(&link, &table::ready(&link).await?);
    let records: Arc<dyn RecordStore> = Arc::new(DynamoStore::new(Arc::clone(&link), capability));
    let locks = Arc::new(CasLock::new(Arc::clone(&records)));
    Ok((link, Opened { locks, records: Some(records), fused: None, shown }))
}

#[async_trait]
impl Backend for DynamoDb {
    fn schemes(&self) -> &'static [&'static str] {
        &["dynamodb"]
    }

    fn help(&self) -> &'static str {
        "dynamodb://[KEY_ID:SECRET@]TABLE   (Amazon DynamoDB; DynamoDB Local and other emulators with endpoint=)
  Leases and records by conditional writes, one request each. DynamoDB calls nobody and shows no good clock: waiting is
  polling (every 20 ms at first, every second in the end), and a lock whose holder died is free once it has stood unchanged
  for its ttl before the eyes of one waiter. A record's ttl ends up to 3 s late, by the Date of the answers. Items are never
  deleted, because they carry version and fence: do not switch on DynamoDB's own TTL. The value of an ended record takes
  room until its key is read, written or listed. Listing reads the whole table, and removes some ended values.
  Values up to 390000 bytes. A global table (last writer wins) breaks conditional writes: use one region.
  Without KEY_ID:SECRET, AWS's usual chain: environment, profile files and their credential_process, web identity,
  container, instance role. For a profile with SSO: eval \"$(aws configure export-credentials --format env)\".
  region=NAME          else AWS_REGION or the profile; us-east-1 with endpoint=
  profile=NAME         of ~/.aws/config
  session_token=TOKEN  for a temporary KEY_ID
  endpoint=URL         http://127.0.0.1:8000 for an emulator, or a VPC endpoint
  create=false         do not make the table if it is missing (on-demand billing, string key k)
  timeout=5s           for the answer to a request
  connect_timeout=5s   for a new connection; at most 0.8 of timeout"
    }

    async fn open(&self, mut url: StoreUrl, options: OpenOptions) -> Result<Opened> {
        Ok(open(&mut url, options).await?.1)
    }

    async fn examine(&self, mut url: StoreUrl, options: OpenOptions) -> Result<Vec<Finding>> {
        let (link, opened) = open(&mut url, options).await?;
        doctor::examine(&link, opened.locks.capability()).await
    }
}
