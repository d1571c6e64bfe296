//! Unique keys of a project, from its SQL and Prisma files and its own code: an insert that a unique key guards is no
//! race.

mod code;
mod mappers;

use std::collections::{BTreeMap, BTreeSet};

use crate::sql;

/// Longer files are not read; a dump of data says nothing new about keys.
const MAX_FILE: usize = 4 * 1024 * 1024;

/// Unique keys by table; all names lower-case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schema {
    unique: BTreeMap<String, Vec<Vec<String>>>,
    /// Tables whose mapper saves a row only if nobody has saved it since it was read.
    versioned: BTreeSet<String>,
}

/// Whether a file of this name declares tables.
pub(crate) fn is_wanted(name: &str) -> bool {
    name.ends_with(".sql") || name.ends_with(".prisma")
}

impl Schema {
    /// From the files among these that declare tables, by their endings.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut schema = Self::default();
        for (path, text) in files {
            match path.rsplit('.').next() {
                Some("sql") => schema.add_sql(text),
                Some("prisma") => schema.add_prisma(text),
                _ => {}
            }
        }
        schema
    }

    /// Adds the keys that a file of SQL creates.
    pub(crate) fn add_sql(&mut self, text: &str) {
        if text.len() > MAX_FILE {
            return;
        }
        for statement in sql::read_keys(text) {
            let Some(table) = statement.tables.first() else { continue };
            for columns in statement.unique {
                self.add(table, columns);
            }
        }
    }

    /// Adds the keys of a Prisma schema, under the model's name and under that of its table.
    pub(crate) fn add_prisma(&mut self, text: &str) {
        if text.len() > MAX_FILE {
            return;
        }
        let mut model: Option<Model> = None;
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or("").trim();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("model") if model.is_none() => {
                    let name = words.next().unwrap_or("").trim_end_matches('{');
                    model = Some(Model { names: vec![name.to_lowercase()], ..Model::default() });
                }
                Some("}") => {
                    if let Some(model) = model.take() {
                        self.add_model(&model);
                    }
                }
                Some(first) => {
                    if let Some(model) = &mut model {
                        model.line(first, line);
                    }
                }
                None => {}
            }
        }
    }

    /// Whether any key of the table is known.
    pub(crate) fn has_keys(&self, table: &str) -> bool {
        self.keys(table).is_some()
    }

    /// Whether at most one row of the table can have these values: some key lies within the columns.
    pub(crate) fn is_unique(&self, table: &str, columns: &[String]) -> bool {
        let columns: Vec<String> = columns.iter().map(|column| column.to_lowercase()).collect();
        let mut keys = self.keys(table).into_iter().flatten();
        keys.any(|key| key.iter().all(|column| columns.contains(column)))
    }

    /// Whether these columns are part of what says which row it is: they lie within one key.
    pub(crate) fn is_within_key(&self, table: &str, columns: &[String]) -> bool {
        let columns: Vec<String> = columns.iter().map(|column| column.to_lowercase()).collect();
        let mut keys = self.keys(table).into_iter().flatten();
        keys.any(|key| columns.iter().all(|column| key.contains(column)))
    }

    /// Whether a row that was read is saved only if nobody has saved it since then.
    pub(crate) fn is_versioned(&self, table: &str) -> bool {
        self.versioned.contains(&table.to_lowercase())
    }

    /// The keys of a table. A field of a client is a table under the client's own name: `PrismaClient.user`.
    fn keys(&self, table: &str) -> Option<&Vec<Vec<String>>> {
        let table = table.to_lowercase();
        let field = || self.unique.get(table.rsplit('.').next()?);
        self.unique.get(&table).or_else(field)
    }

    fn add(&mut self, table: &str, columns: Vec<String>) {
        if columns.is_empty() {
            return;
        }
        let keys = self.unique.entry(table.to_owned()).or_default();
        if !keys.contains(&columns) {
            keys.push(columns);
        }
    }

    fn add_model(&mut self, model: &Model) {
        for key in &model.keys {
            let mapped: Vec<String> =
                key.iter().map(|field| model.columns.get(field).unwrap_or(field).clone()).collect();
            for name in &model.names {
                self.add(name, key.clone());
                self.add(name, mapped.clone());
            }
        }
    }
}

/// A model of a Prisma schema. Code speaks of fields, SQL of columns, so keys count under both names.
#[derive(Default)]
struct Model {
    names: Vec<String>,
    keys: Vec<Vec<String>>,
    columns: BTreeMap<String, String>,
}

impl Model {
    fn line(&mut self, first: &str, line: &str) {
        if let Some(attribute) = first.strip_prefix("@@") {
            if attribute.starts_with("map(") {
                self.names.extend(quoted(line));
            } else if attribute.starts_with("id(") || attribute.starts_with("unique(") {
                let fields =
                    line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
                // A field may say more: `title(sort: Desc)`.
                let fields = fields.split(',').map(|field| field.split('(').next().unwrap_or("").trim().to_lowercase());
                let fields: Vec<String> = fields.filter(|field| !field.is_empty()).collect();
                // Code asks for a key of several fields under one name: `where: { first_last: { first, last } }`.
                let name = line.split_once("name:").and_then(|(_, rest)| quoted(rest));
                self.keys.push(vec![name.unwrap_or_else(|| fields.join("_"))]);
                self.keys.push(fields);
            }
            return;
        }
        let field = first.to_lowercase();
        let attribute = |name: &str| {
            line.split_whitespace()
                .any(|word| word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
        };
        if attribute("@id") || attribute("@unique") {
            self.keys.push(vec![field.clone()]);
        }
        if let Some((_, rest)) = line.split_once("@map(")
            && let Some(column) = quoted(rest)
        {
            self.columns.insert(field, column);
        }
    }
}

/// The first text in double quotes.
fn quoted(text: &str) -> Option<String> {
    text.split('"').nth(1).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unique(schema: &Schema, table: &str, columns: &[&str]) -> bool {
        schema.is_unique(table, &columns.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn keys_come_from_migrations() {
        let mut schema = Schema::default();
        schema.add_sql(
            "-- up\nCREATE TABLE Users (id uuid PRIMARY KEY, email text, tenant int);\n\
             INSERT INTO users VALUES (1);\nALTER TABLE users ADD CONSTRAINT u UNIQUE (tenant, email);\n\
             CREATE UNIQUE INDEX i ON orders (number);\nCREATE INDEX j ON orders (day);",
        );
        assert!(unique(&schema, "users", &["id", "x"]) && unique(&schema, "Users", &["Email", "tenant"]));
        assert!(unique(&schema, "orders", &["number"]));
        assert!(!unique(&schema, "users", &["email"]) && !unique(&schema, "orders", &["day"]));
        assert!(!unique(&schema, "other", &["id"]) && !unique(&schema, "users", &[]));
    }

    #[test]
    fn keys_are_found_far_into_a_long_file() {
        let mut schema = Schema::default();
        let rows = "INSERT INTO t VALUES ('it''s; CREATE TABLE no (id int primary key)');\n".repeat(3_000);
        schema.add_sql(&format!("{rows}CREATE TABLE t (id int primary key);"));
        assert!(unique(&schema, "t", &["id"]) && !unique(&schema, "no", &["id"]));
    }

    #[test]
    fn keys_come_from_prisma() {
        let mut schema = Schema::default();
        schema.add_prisma(
            "datasource db { url = \"x\" }\nmodel User {\n  id Int @id @default(autoincrement())\n  \
             email String @unique(map: \"u\") @map(\"e_mail\") // @id\n  name String\n  idx Int @idx\n  \
             first String\n  last String(20)\n  @@unique([first, last(sort: Desc)], name: \"n\")\n  @@map(\"users\")\n}\n\
             model Post {\n  a Int\n  b Int\n  @@id([a, b])\n}",
        );
        assert!(unique(&schema, "User", &["id"]) && unique(&schema, "users", &["e_mail"]));
        assert!(unique(&schema, "user", &["email"]) && unique(&schema, "user", &["last", "first"]));
        assert!(unique(&schema, "post", &["a", "b"]) && !unique(&schema, "post", &["a"]));
        assert!(unique(&schema, "post", &["a_b"]) && unique(&schema, "user", &["n"]));
        assert!(unique(&schema, "@prisma/client.PrismaClient.user", &["email"]));
        assert!(!unique(&schema, "user", &["name"]) && !unique(&schema, "user", &["idx"]));
    }

    #[test]
    fn keys_come_from_code() {
        let text = "SQL = 'CREATE TABLE a (id int primary key, b text)'\n\
            def f(t):\n    db.execute(f'CREATE UNIQUE INDEX i ON {t} (n)'); db.execute('CREATE UNIQUE INDEX j ON c (n)')\n\
            class User(Base):\n    __tablename__ = 'people'\n    mail = Column(String, unique=True)\n    name = Column(String)\n    \
            __table_args__ = (UniqueConstraint('first', 'last', name='u'),)\n\
            class Post(models.Model):\n    slug = models.SlugField(unique=False)\n    class Meta:\n        \
            unique_together = [('day', 'slug')]\n        constraints = [models.UniqueConstraint(fields=['x'], condition=Q(), name='n')]\n";
        let mut schema = Schema::default();
        schema.add_code(&crate::frontend::lower(crate::frontend::Dialect::of("a.py").unwrap(), text).unwrap());
        assert!(unique(&schema, "a", &["id"]) && unique(&schema, "c", &["n"]) && !unique(&schema, "a", &["b"]));
        assert!(unique(&schema, "User", &["mail"]) && unique(&schema, "people", &["last", "first"]));
        assert!(!unique(&schema, "User", &["name"]) && unique(&schema, "Post", &["slug", "day"]));
        assert!(!unique(&schema, "Post", &["slug"]) && !unique(&schema, "Post", &["x"]));
    }

    #[test]
    fn broken_files_give_no_keys() {
        let mut schema = Schema::default();
        for text in
            ["", "model", "model {", "model A {\n@@unique([", "model A {\n@@map(\n}", "}\n}", "CREATE TABLE", "\u{0}("]
        {
            schema.add_prisma(text);
            schema.add_sql(text);
        }
        assert_eq!(schema, Schema::default());
    }
}
