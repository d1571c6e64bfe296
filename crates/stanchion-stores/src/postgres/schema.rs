//! Making the tables and functions, once, whoever comes first.

use std::sync::Arc;

use stanchion_core::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

use super::error::Effect;
use super::hash;
use super::pool::{Pool, column, unexpected};

/// Raised with every change to the SQL files.
const VERSION: u64 = 2;

const FILES: [&str; 5] = [
    include_str!("schema.sql"),
    include_str!("locks.sql"),
    include_str!("records.sql"),
    include_str!("fused.sql"),
    include_str!("session.sql"),
];

/// The schema's name, checked: it is written into statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema(String);

impl Schema {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let good =
            (1..=48).contains(&name.len()) && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit());
        if !good || name.starts_with("pg_") {
            return Err(Error::new(ErrorKind::Invalid, "not a name for a schema")
                .with("schema", format_args!("{name:?}"))
                .hint("use 1 to 48 of a-z, 0-9 and _; the first is not a digit"));
        }
        Ok(Self(name.to_owned()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// `text`, written for the schema `stanchion`, for this one.
    pub(crate) fn sql(&self, text: &str) -> String {
        if self.0 == "stanchion" {
            return text.to_owned();
        }
        text.replace("stanchion.", &format!("\"{}\".", self.0))
            .replace("SCHEMA IF NOT EXISTS stanchion;", &format!("SCHEMA IF NOT EXISTS \"{}\";", self.0))
    }

    /// Where this schema's clients are notified.
    pub(crate) fn channel(&self) -> String {
        self.sql("stanchion.wake")
    }

    /// The whole installation.
    pub(crate) fn install(&self) -> String {
        FILES.map(|file| self.sql(file)).join("\n")
    }

    /// Makes the schema unless it is there.
    pub(crate) async fn ensure(&self, pool: &Arc<Pool>) -> Result<()> {
        if self.version(pool).await? == Some(VERSION) {
            return Ok(());
        }
        // One message is one transaction, also behind a pooler. The lock lets one client in at a time; the others
        // run the same script after it, which changes nothing.
        let lock = hash::number(self.name(), "install").cast_signed();
        let script = format!("SELECT pg_advisory_xact_lock({lock});\n{}", self.install());
        pool.script(&script).await.map_err(|e| {
            if e.kind() != ErrorKind::Denied {
                return e;
            }
            Error::new(ErrorKind::Denied, "this role may not create Stanchion's schema")
                .with("schema", self.name())
                .because(e)
                .hint(
                    "let a role that may create it run schema.sql, locks.sql, records.sql, fused.sql and session.sql of \
                     stanchion-stores/src/postgres (also printed by stanchion_stores::postgres::install_sql)",
                )
        })?;
        match self.version(pool).await? {
            Some(VERSION) => Ok(()),
            _ => Err(unexpected("the schema is not there after its installation")),
        }
    }

    async fn version(&self, pool: &Arc<Pool>) -> Result<Option<u64>> {
        let meta = self.sql("stanchion.meta");
        let there =
            pool.one("SELECT to_regclass($1) IS NOT NULL AS there", &[(&meta, Type::TEXT)], Effect::Read).await?;
        if !column::<bool>(&there, "there")? {
            return Ok(None);
        }
        let rows =
            pool.run(&self.sql("SELECT value FROM stanchion.meta WHERE name = 'schema'"), &[], Effect::Read).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let found: String = column(row, "value")?;
        match found.parse::<u64>() {
            Ok(version) if version <= VERSION => Ok(Some(version)),
            _ => Err(Error::new(ErrorKind::Unsupported, "this schema was made by a newer Stanchion")
                .with("schema", self.name())
                .with("found", found)
                .with("known", VERSION)
                .hint("update this program, or name another schema: ?schema=NAME")),
        }
    }
}
