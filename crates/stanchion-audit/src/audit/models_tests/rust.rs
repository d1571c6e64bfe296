use super::{Table, check};

mod spellings;

#[test]
fn files_databases_keys_and_handlers() {
    const TABLE: Table = &[
        (
            "std::fs",
            "use std::fs;\npub fn f(x: &str) {\n let d = fs::read_to_string(\"a\").unwrap();\n fs::write(\"a\", format!(\"{d}{x}\")).unwrap();\n}",
            &[("RC101", 3, 4)],
        ),
        (
            "tokio::fs",
            "pub async fn f(x: &str) -> Result<()> {\n let d = tokio::fs::read_to_string(\"a\").await?;\n tokio::fs::write(\"a\", d + x).await?;\n Ok(())\n}",
            &[("RC101", 2, 3)],
        ),
        (
            "read_to_string",
            "use std::fs::File;\nuse std::io::Read;\npub fn f(x: &str) {\n let mut s = String::new();\n let mut h = File::open(\"a\").unwrap();\n h.read_to_string(&mut s).unwrap();\n std::fs::write(\"a\", s + x).unwrap();\n}",
            &[("RC101", 6, 7)],
        ),
        (
            "append",
            "use std::fs::{self, OpenOptions};\nuse std::io::Write;\npub fn f(x: &str) {\n let d = fs::read_to_string(\"a\").unwrap();\n let mut h = OpenOptions::new().append(true).create(true).open(\"a\").unwrap();\n h.write_all(d.len().to_string().as_bytes()).unwrap();\n}",
            &[],
        ),
        (
            "mutex",
            "use std::fs;\nuse std::sync::Mutex;\nstatic M: Mutex<()> = Mutex::new(());\npub fn f(x: &str) {\n let _g = M.lock().unwrap();\n let d = fs::read_to_string(\"a\").unwrap();\n fs::write(\"a\", d + x).unwrap();\n}",
            &[("RC201", 6, 7)],
        ),
        (
            "file lock",
            "use std::fs;\nuse fs4::FileExt;\npub fn f(x: &str) {\n let l = fs::File::create(\"a.lock\").unwrap();\n l.lock_exclusive().unwrap();\n let d = fs::read_to_string(\"a\").unwrap();\n fs::write(\"a\", d + x).unwrap();\n}",
            &[],
        ),
        (
            "rusqlite",
            "use rusqlite::{params, Connection};\npub fn f(c: &Connection, id: i64) {\n let n: i64 = c.query_row(\"SELECT n FROM t WHERE id = ?1\", params![id], |r| r.get(0)).unwrap();\n c.execute(\"UPDATE t SET n = ?1 WHERE id = ?2\", params![n + 1, id]).unwrap();\n}",
            &[("RC102", 3, 4)],
        ),
        (
            "sqlx",
            "use sqlx::PgPool;\npub async fn f(p: &PgPool, id: i64) -> Result<()> {\n let n: i64 = sqlx::query_scalar(\"SELECT n FROM t WHERE id = $1\").bind(id).fetch_one(p).await?;\n sqlx::query(\"UPDATE t SET n = $1 WHERE id = $2\").bind(n + 1).bind(id).execute(p).await?;\n Ok(())\n}",
            &[("RC102", 3, 4)],
        ),
        (
            "sqlx macro",
            "use sqlx::PgPool;\npub async fn f(p: &PgPool, id: i64) -> Result<()> {\n let r = sqlx::query!(\"SELECT n FROM t WHERE id = $1\", id).fetch_one(p).await?;\n sqlx::query!(\"UPDATE t SET n = $1 WHERE id = $2\", r.n + 1, id).execute(p).await?;\n Ok(())\n}",
            &[("RC102", 3, 4)],
        ),
        (
            "sqlx for update",
            "use sqlx::PgPool;\npub async fn f(p: &PgPool, id: i64) -> Result<()> {\n let mut tx = p.begin().await?;\n let r = sqlx::query!(\"SELECT n FROM t WHERE id = $1 FOR UPDATE\", id).fetch_one(&mut *tx).await?;\n sqlx::query!(\"UPDATE t SET n = $1 WHERE id = $2\", r.n + 1, id).execute(&mut *tx).await?;\n tx.commit().await?;\n Ok(())\n}",
            &[],
        ),
        (
            "redis",
            "use redis::Commands;\npub fn f(c: &mut redis::Connection, k: &str) {\n let n: i64 = c.get(k).unwrap();\n c.set(k, n + 1).unwrap();\n}",
            &[("RC103", 3, 4)],
        ),
        (
            "rmcp",
            "use std::fs;\nstruct S;\nimpl S {\n #[tool(description = \"d\")]\n async fn add(&self, x: String) -> String {\n  let d = fs::read_to_string(\"a\").unwrap();\n  fs::write(\"a\", d + &x).unwrap();\n  x\n }\n}",
            &[("RC101", 6, 7)],
        ),
    ];
    check("a.rs", TABLE);
}
