//! The tables: what they are called, and how they come to be.

use stanchion_core::{Error, ErrorKind, Result};

use super::error::{Effect, unexpected};
use super::pool::{Pool, number};

const INSTALL: &str = include_str!("schema.sql");
const VERSION: u64 = 1;

/// What the names of the tables begin with.
#[derive(Debug, Clone)]
pub(crate) struct Schema(String);

impl Schema {
    pub(crate) fn new(prefix: &str) -> Result<Self> {
        let fits = prefix.len() <= 32
            && prefix.starts_with(|c: char| c.is_ascii_lowercase())
            && prefix.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !fits {
            return Err(Error::new(ErrorKind::Invalid, "the prefix of the tables is not a name")
                .with("prefix", prefix)
                .hint("use 1 to 32 of a-z, 0-9 and _, beginning with a letter: prefix=stanchion_"));
        }
        Ok(Self(prefix.to_owned()))
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.0
    }

    /// The name of a table.
    pub(crate) fn table(&self, name: &str) -> String {
        format!("{}{name}", self.0)
    }

    /// The whole installation.
    pub(crate) fn install(&self) -> String {
        INSTALL.replace("stanchion_", &self.0)
    }

    /// Makes the tables unless they are there.
    pub(crate) async fn ensure(&self, pool: &Pool) -> Result<()> {
        if self.version(pool).await? == Some(VERSION) {
            return Ok(());
        }
        for statement in statements(&self.install()) {
            let run = pool.run(statement, 1, Effect::Write).await;
            run.map_err(|e| self.refused(e))?;
        }
        match self.version(pool).await? {
            Some(VERSION) => Ok(()),
            _ => Err(unexpected("the tables are not there after their installation")),
        }
    }

    fn refused(&self, e: Error) -> Error {
        if e.kind() != ErrorKind::Denied {
            return e;
        }
        Error::new(ErrorKind::Denied, "this user may not create Stanchion's tables")
            .with("prefix", &self.0)
            .because(e)
            .hint(format!(
                "let a user that may create tables run, in this database:\n{}",
                statements(&self.install()).map(|s| format!("{s};\n")).collect::<String>()
            ))
    }

    async fn version(&self, pool: &Pool) -> Result<Option<u64>> {
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{}'",
            self.table("meta")
        );
        if number(pool.one(&there, Effect::Read).await?.first(), 0)? == 0 {
            return Ok(None);
        }
        let sql = format!("SELECT value FROM {} WHERE name = 'schema'", self.table("meta"));
        let rows = pool.one(&sql, Effect::Read).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        match number(rows.first(), 0)? {
            version if version <= VERSION => Ok(Some(version)),
            found => Err(Error::new(ErrorKind::Unsupported, "these tables were made by a newer Stanchion")
                .with("prefix", &self.0)
                .with("found", found)
                .with("known", VERSION)
                .hint("update this program, or name another prefix: ?prefix=NAME_")),
        }
    }
}

/// The statements of a script of ours, without its comments.
fn statements(script: &str) -> impl Iterator<Item = &str> {
    script
        .split(';')
        .map(|part| {
            let mut rest = part.trim_start();
            while let Some(comment) = rest.strip_prefix("--") {
                rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
            }
            rest.trim_end()
        })
        .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_taken_apart_at_its_ends() {
        let parts: Vec<_> = statements(INSTALL).collect();
        assert_eq!(parts.len(), 7);
        assert!(parts.iter().all(|part| part.starts_with("CREATE TABLE IF NOT EXISTS") || part.starts_with("INSERT")));
    }

    #[test]
    fn a_prefix_is_a_name() {
        for bad in ["", "Stanchion_", "a;b", "a-b", "9a", &"a".repeat(33)] {
            assert!(Schema::new(bad).is_err(), "{bad}");
        }
        assert!(Schema::new("app_").unwrap().install().contains("CREATE TABLE IF NOT EXISTS app_locks ("));
    }
}
