//! Statements for version columns in the user's own tables. No input or output: any driver can run them.

use std::fmt::Write as _;

use crate::{Error, ErrorKind, Result};

/// The longest identifier, in bytes: PostgreSQL cuts longer ones off silently.
const IDENTIFIER_MAX_BYTES: usize = 63;

/// How a database spells identifiers and parameters.
///
/// ```
/// use stanchion_core::sql::Dialect;
/// assert_ne!(Dialect::Postgres, Dialect::MySql);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `"name"` and `$1`.
    Postgres,
    /// `"name"` and `?1`.
    Sqlite,
    /// `` `name` `` and `?`.
    MySql,
}

/// A table whose rows carry a version that every write raises: optimistic concurrency in plain SQL.
///
/// Read the row with its version, compute, write with [`update_sql`](Self::update_sql), and give the number of changed
/// rows to [`check`](Self::check). If somebody was faster, nothing was written: read again.
///
/// ```
/// use stanchion_core::sql::{Dialect, VersionColumn};
/// let accounts = VersionColumn::new("public.accounts", "id", "version")?;
/// assert_eq!(
///     accounts.select_sql(Dialect::Postgres, &["balance"])?,
///     r#"SELECT "balance", "version" FROM "public"."accounts" WHERE "id" = $1"#,
/// );
/// assert_eq!(
///     accounts.update_sql(Dialect::Postgres, &["balance"])?,
///     r#"UPDATE "public"."accounts" SET "balance" = $1, "version" = "version" + 1 WHERE "id" = $2 AND "version" = $3"#,
/// );
/// # Ok::<(), stanchion_core::Error>(())
/// ```
///
/// A version alone must not come back to an old number: do not delete and insert a row under one key, or let the
/// new row's version continue where the old one's ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionColumn {
    table: Vec<String>,
    key: String,
    version: String,
}

impl VersionColumn {
    /// The version column of a table. A dot in `table` separates its schema.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for a name that is empty, longer than 63 bytes, or holds a control character. Everything
    /// else is allowed, because names are always quoted.
    ///
    /// ```
    /// use stanchion_core::sql::VersionColumn;
    /// assert!(VersionColumn::new("orders", "", "version").is_err());
    /// assert!(VersionColumn::new("orders", "id", "id").is_err());
    /// ```
    pub fn new(table: &str, key_column: &str, version_column: &str) -> Result<Self> {
        if key_column == version_column {
            return Err(refuse("one column cannot be key and version", version_column));
        }
        Ok(Self {
            table: table.split('.').map(identifier).collect::<Result<_>>()?,
            key: identifier(key_column)?,
            version: identifier(version_column)?,
        })
    }

    /// Reads `columns` and then the version. Its parameter: the key.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for a name that is not an identifier.
    ///
    /// ```
    /// use stanchion_core::sql::{Dialect, VersionColumn};
    /// let orders = VersionColumn::new("orders", "id", "version")?;
    /// assert_eq!(orders.select_sql(Dialect::MySql, &[])?, "SELECT `version` FROM `orders` WHERE `id` = ?");
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn select_sql(&self, dialect: Dialect, columns: &[&str]) -> Result<String> {
        let mut names = Vec::with_capacity(columns.len() + 1);
        for column in columns {
            names.push(dialect.quote(&identifier(column)?));
        }
        names.push(dialect.quote(&self.version));
        let (table, key) = (self.table(dialect), dialect.quote(&self.key));
        Ok(format!("SELECT {} FROM {table} WHERE {key} = {}", names.join(", "), dialect.parameter(1)))
    }

    /// Writes `columns` if the version is still the one that was read. Its parameters, in order: the columns' values,
    /// the key, the version that was read.
    ///
    /// # If it fails
    /// [`ErrorKind::Invalid`] for a name that is not an identifier, and for the version column: it counts by itself.
    ///
    /// ```
    /// use stanchion_core::sql::{Dialect, VersionColumn};
    /// let orders = VersionColumn::new("orders", "id", "version")?;
    /// assert_eq!(
    ///     orders.update_sql(Dialect::Sqlite, &["state"])?,
    ///     r#"UPDATE "orders" SET "state" = ?1, "version" = "version" + 1 WHERE "id" = ?2 AND "version" = ?3"#,
    /// );
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn update_sql(&self, dialect: Dialect, columns: &[&str]) -> Result<String> {
        let mut sql = format!("UPDATE {} SET ", self.table(dialect));
        for (i, column) in columns.iter().enumerate() {
            if *column == self.version {
                return Err(refuse("the version counts by itself", column));
            }
            // A String takes every write.
            let _ok = write!(sql, "{} = {}, ", dialect.quote(&identifier(column)?), dialect.parameter(i + 1));
        }
        let (key, version) = (dialect.quote(&self.key), dialect.quote(&self.version));
        let (at, read) = (dialect.parameter(columns.len() + 1), dialect.parameter(columns.len() + 2));
        let _ok = write!(sql, "{version} = {version} + 1 WHERE {key} = {at} AND {version} = {read}");
        Ok(sql)
    }

    /// What the number of rows that [`update_sql`](Self::update_sql) changed means.
    ///
    /// MySQL counts matched rows here, too: the version always changes.
    ///
    /// # If it fails
    /// [`ErrorKind::Conflict`] for none: another write was faster, or the row is gone. Nothing was written.
    /// [`ErrorKind::Unexpected`] for more than one: the key column is not unique. **All of them were written**; roll back.
    ///
    /// ```
    /// use stanchion_core::{ErrorKind, sql::VersionColumn};
    /// let orders = VersionColumn::new("orders", "id", "version")?;
    /// assert!(orders.check(1).is_ok());
    /// assert_eq!(orders.check(0).unwrap_err().kind(), ErrorKind::Conflict);
    /// assert_eq!(orders.check(2).unwrap_err().kind(), ErrorKind::Unexpected);
    /// # Ok::<(), stanchion_core::Error>(())
    /// ```
    pub fn check(&self, rows_changed: u64) -> Result<()> {
        let table = self.table.join(".");
        match rows_changed {
            1 => Ok(()),
            0 => Err(Error::new(ErrorKind::Conflict, "another write was faster, or the row is gone")
                .with("table", table)
                .hint("read the row again and repeat the change")),
            n => Err(Error::new(ErrorKind::Unexpected, "one key changed several rows")
                .with("table", table)
                .with("rows", n)
                .hint("roll back, and make the key column unique")),
        }
    }

    fn table(&self, dialect: Dialect) -> String {
        self.table.iter().map(|part| dialect.quote(part)).collect::<Vec<_>>().join(".")
    }
}

impl Dialect {
    fn quote(self, name: &str) -> String {
        match self {
            Self::MySql => format!("`{}`", name.replace('`', "``")),
            Self::Postgres | Self::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    fn parameter(self, number: usize) -> String {
        match self {
            Self::Postgres => format!("${number}"),
            Self::Sqlite => format!("?{number}"),
            Self::MySql => "?".to_owned(),
        }
    }
}

fn refuse(why: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::Invalid, why).with("name", format_args!("{name:?}"))
}

fn identifier(name: &str) -> Result<String> {
    if name.is_empty() {
        return Err(refuse("a name is empty", name));
    }
    if name.len() > IDENTIFIER_MAX_BYTES {
        return Err(refuse("a name is longer than 63 bytes", name));
    }
    if name.chars().any(char::is_control) {
        return Err(refuse("a name contains a control character", name));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_name_cannot_end_it() {
        let table = VersionColumn::new(r#"a"; DROP TABLE b; --"#, "id", "v").unwrap();
        let sql = table.select_sql(Dialect::Postgres, &[]).unwrap();
        assert_eq!(sql, r#"SELECT "v" FROM "a""; DROP TABLE b; --" WHERE "id" = $1"#);
        let sql = VersionColumn::new("a`b", "id", "v").unwrap().select_sql(Dialect::MySql, &[]).unwrap();
        assert_eq!(sql, "SELECT `v` FROM `a``b` WHERE `id` = ?");
    }

    #[test]
    fn the_version_is_not_for_the_caller_to_set() {
        let table = VersionColumn::new("t", "id", "v").unwrap();
        assert_eq!(table.update_sql(Dialect::Sqlite, &["v"]).unwrap_err().kind(), ErrorKind::Invalid);
        assert!(VersionColumn::new(&"x".repeat(64), "id", "v").is_err());
        assert!(VersionColumn::new("a..b", "id", "v").is_err());
    }
}
