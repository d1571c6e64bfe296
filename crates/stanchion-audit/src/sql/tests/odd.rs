//! Parts of statements, text that is no SQL, and text that wants to do harm.

use super::*;

#[test]
fn reads_parts_of_statements() {
    check(&[
        ("SELECT balance FROM accounts WHERE id = ", "Select (accounts) columns(balance) where(id=[]) partial"),
        ("SELECT balance FROM accounts WHERE id = {{4}}", "Select (accounts) columns(balance) where(id=#4)"),
        ("SELECT a FROM t WHERE x = 1 {{0}} ORDER BY {{1}} {{2}}", "Select (t) columns(a) where(x='1') other partial"),
        ("SELECT a FROM t {{0}}", "Select (t) columns(a)"),
        ("UPDATE t SET {{0}} WHERE id = ?", "Update (t) set(*=#0) where(id=?0)"),
        ("UPDATE t SET a = a + 1, {{0}} WHERE id = ? AND", "Update (t) set(a~[a '1'], *=#0) where(id=?0) partial"),
        ("INSERT INTO t ({{0}}) VALUES ({{1}})", "Insert (t) insert({0}=#1)"),
        ("INSERT INTO t (a, b) VALUES (?, ", "Insert (t) insert(a=?0, b=[]) partial"),
        ("DELETE FROM t WHERE a = ? AND b IS NULL AND c IN (", "Delete (t) where(a=?0, b is 'NULL', c in []) partial"),
        ("DELETE FROM", "Delete partial"),
        (
            "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET n = t.n + 1, WHERE",
            "Upsert (t) set(n~[n '1']) insert(a='1') do_update partial",
        ),
        ("WITH x AS (SELECT 1 FROM s) UPDATE t SET a = ? WHERE (", "Update (t, s) set(a=?0) other partial"),
    ]);
}

#[test]
fn prose_and_code_are_no_sql() {
    let texts = [
        "",
        "select",
        "Select a file from the list",
        "select one option from the menu",
        "Update available",
        "update",
        "delete",
        "Delete this user?",
        "with love",
        "with a as b",
        "end",
        "set",
        "Set the value",
        "insert coin",
        "create a new file",
        "hello",
        "{\"select\": 1}",
        "/api/select",
        "commit changes",
        "begin here",
        "lock",
        "begin_work",
        "\u{0}",
        "if not found",
        "SELECTED FROM",
        "drop it",
        "call me",
        "explain this",
    ];
    for text in texts {
        assert!(!looks_like_sql(text), "{text}");
        assert_eq!(read_text(text), []);
    }
    for text in
        ["select 1", "  -- x\n select a from b", "begin", "COMMIT;", "WITH RECURSIVE a(n) AS (SELECT 1) SELECT 1"]
    {
        assert!(looks_like_sql(text), "{text}");
    }
}

#[test]
fn hostile_text_gives_some_answer() {
    let deep = 100_000;
    let mut texts = vec![
        format!("SELECT {}1{} FROM t", "(".repeat(deep), ")".repeat(deep)),
        format!("SELECT a FROM t WHERE {}x = 1", "(".repeat(30_000)),
        format!("SELECT a FROM t WHERE {}", "NOT ".repeat(15_000)),
        format!("SELECT a FROM t WHERE a = 1{}", " OR a = 1".repeat(6_000)),
        format!("SELECT a FROM t WHERE a = 1{}", " AND a = 1".repeat(90)),
        format!("SELECT a{} FROM t", "+a".repeat(299)),
        format!("SELECT a{} FROM t", "::int".repeat(10_000)),
        format!("SELECT a FROM t{}", " UNION SELECT a FROM t".repeat(2_000)),
        format!("SELECT {} FROM t", "CASE WHEN a THEN ".repeat(3_000)),
        format!("SELECT {} FROM t", "f(".repeat(20_000)),
        format!("SELECT a FROM {}", "(SELECT a FROM ".repeat(4_000)),
        format!("SELECT a FROM t {}", "WITH (".repeat(10_000)),
        format!("SELECT {}", "pg_advisory_lock(".repeat(3_000)),
        format!("INSERT INTO t (a) VALUES (1){}", ", (1)".repeat(12_000)),
        format!("BEGIN{}", ";BEGIN".repeat(9_000)),
        format!("{} SELECT 1", "IF EXISTS (SELECT 1) ".repeat(2_000)),
        format!("IF EXISTS (SELECT {}", "(".repeat(20_000)),
        format!("CREATE TABLE t ({}", "a int, ".repeat(9_000)),
        format!("SELECT '{}", "x".repeat(1_000_000)),
        "SELECT $a$ FROM t".repeat(3_000),
        "SELECT a FROM t WHERE \u{E000} = 'é".to_owned(),
    ];
    let whole = "WITH x AS (SELECT a, 'q' FROM \"t\" WHERE b = $1 AND c IN (?)) UPDATE [s] SET n = n + :v, m = %(k)s FROM x WHERE {z} = 1 FOR UPDATE OF s SKIP LOCKED";
    texts.extend((0..whole.len()).map(|end| whole[..end].to_owned()));
    texts.extend((0..whole.len()).map(|start| format!("SELECT {}", &whole[start..])));
    let mut seed = 7_u64;
    for _ in 0..2_000 {
        let mut text = ["SELECT a FROM ", "UPDATE t SET ", "INSERT INTO ", "CREATE TABLE t (", "LOCK TABLE "]
            [(seed % 5) as usize]
            .to_owned();
        for _ in 0..30 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let parts = [
                "'",
                "\"",
                "(",
                ")",
                "[",
                "]",
                "$",
                "$$",
                ":",
                "@",
                "%",
                "{",
                "}",
                "?",
                "--",
                "/*",
                "\\",
                " ",
                "a",
                "1",
                "SET ",
                "WHERE ",
                "=",
                ",",
                ".",
                ";",
                "FOR UPDATE OF",
                "é",
                "\u{0}",
                "VALUES",
                "\u{E000}",
                "AS ",
            ];
            text.push_str(parts[(seed >> 33) as usize % parts.len()]);
        }
        texts.push(text);
    }
    for text in &texts {
        let found = read(&[Piece::Text(text.clone()), Piece::Hole(0)]);
        assert!(found.len() <= MAX_STATEMENTS + 256);
        assert_eq!(found, read(&[Piece::Text(text.clone()), Piece::Hole(0)]));
    }
    let long = format!("UPDATE t SET a = '{}' WHERE id = 1", "x".repeat(70_000));
    assert_eq!(
        read_text(&long).iter().map(|found| (found.verb, found.partial)).collect::<Vec<_>>(),
        [(Verb::Update, true)]
    );
}
