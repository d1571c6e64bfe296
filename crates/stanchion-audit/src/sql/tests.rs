use super::*;

mod locks;
mod odd;

/// Text with holes: `{{n}}` is hole n.
fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    for (at, part) in text.split("{{").enumerate() {
        match part.split_once("}}") {
            Some((hole, rest)) if at > 0 => {
                out.push(Piece::Hole(hole.parse().unwrap()));
                out.push(Piece::Text(rest.to_owned()));
            }
            _ => out.push(Piece::Text(part.to_owned())),
        }
    }
    out
}

fn operand(value: &Operand) -> String {
    match value {
        Operand::Placeholder(Placeholder::Number(number)) => format!("${number}"),
        Operand::Placeholder(Placeholder::Name(name)) => format!(":{name}"),
        Operand::Placeholder(Placeholder::Position(position)) => format!("?{position}"),
        Operand::Hole(hole) => format!("#{hole}"),
        Operand::Literal(text) => format!("'{text}'"),
        Operand::Column(name) => name.clone(),
        Operand::Other(inside) => format!("[{}]", inside.iter().map(operand).collect::<Vec<_>>().join(" ")),
    }
}

/// All that was read, on one line.
fn show(found: &Statement) -> String {
    let mut out = vec![format!("{:?}", found.verb)];
    let mut add = |label: &str, parts: Vec<String>| {
        if !parts.is_empty() {
            out.push(format!("{label}({})", parts.join(", ")));
        }
    };
    add("", found.tables.clone());
    add("columns", found.columns.clone());
    add("aggregates", found.aggregates.clone());
    let set = |item: &Assignment| {
        format!("{}{}{}", item.column, if item.relative { "~" } else { "=" }, operand(&item.operand))
    };
    add("set", found.set.iter().map(set).collect());
    add("insert", found.insert.iter().map(|(column, value)| format!("{column}={}", operand(value))).collect());
    let filter = |item: &Condition| {
        let operator = match item.operator {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::In => " in ",
            Operator::NotIn => " not in ",
            Operator::Like => " like ",
            Operator::NotLike => " not like ",
            Operator::IsNull => " is ",
            Operator::IsNotNull => " is not ",
        };
        format!("{}{operator}{}", item.column, operand(&item.operand))
    };
    add("where", found.filter.iter().map(filter).collect());
    add("limit", found.limit.iter().map(operand).collect());
    add("unique", found.unique.iter().map(|columns| columns.join("+")).collect());
    for lock in &found.locks {
        let shared = if lock.shared { " shared" } else { "" };
        let key = lock.key.iter().map(operand).collect::<Vec<_>>().join(" ");
        add("lock", vec![format!("{:?} {:?}{shared} {key}", lock.kind, lock.action).trim_end().to_owned()]);
    }
    let flags = [
        (found.filter_other, "other"),
        (found.for_update, "for_update"),
        (found.for_share, "for_share"),
        (found.skip_locked, "skip_locked"),
        (found.nowait, "nowait"),
        (found.on_conflict == OnConflict::DoNothing, "do_nothing"),
        (found.on_conflict == OnConflict::DoUpdate, "do_update"),
        (found.not_exists, "not_exists"),
        (found.returning, "returning"),
        (found.partial, "partial"),
    ];
    out.extend(flags.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()));
    if !found.text.is_empty() {
        out.push(format!("`{}`", found.text));
    }
    out.join(" ")
}

fn check(cases: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let shown = read(&pieces(text)).iter().map(show).collect::<Vec<_>>().join(" | ");
        if shown != *expected {
            wrong.push_str(&format!("{text}\n  is     {shown}\n  wanted {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn reads_placeholders_of_all_drivers() {
    check(&[
        ("SELECT balance FROM accounts WHERE id = $1", "Select (accounts) columns(balance) where(id=$1)"),
        ("SELECT balance FROM accounts WHERE id = ?", "Select (accounts) columns(balance) where(id=?0)"),
        ("SELECT * FROM t WHERE a = ?2 AND b = ?1", "Select (t) columns(*) where(a=$2, b=$1)"),
        ("SELECT balance FROM accounts WHERE id = @id", "Select (accounts) columns(balance) where(id=:id)"),
        ("SELECT balance FROM accounts WHERE id = :id", "Select (accounts) columns(balance) where(id=:id)"),
        ("SELECT balance FROM accounts WHERE id = $id", "Select (accounts) columns(balance) where(id=:id)"),
        ("SELECT balance FROM accounts WHERE id = %s", "Select (accounts) columns(balance) where(id=?0)"),
        ("SELECT a FROM t WHERE id = %(id)s AND b=%(b)s", "Select (t) columns(a) where(id=:id, b=:b)"),
        ("SELECT a FROM t WHERE id = {id}", "Select (t) columns(a) where(id=:id)"),
        ("SELECT a FROM t WHERE id = '{id}'", "Select (t) columns(a) where(id=:id)"),
        ("SELECT a FROM t WHERE id = '{{0}}' AND b = {{1}}", "Select (t) columns(a) where(id=#0, b=#1)"),
        ("SELECT a FROM t WHERE name LIKE '%{{3}}%'", "Select (t) columns(a) where(name like [#3])"),
        ("select a from t where x = 'it''s ?' and y = ?", "Select (t) columns(a) where(x='it's ?', y=?0)"),
        ("SELECT a FROM t WHERE id = $1::int AND d > $2::date", "Select (t) columns(a) where(id=$1, d>$2)"),
        ("SELECT a FROM t WHERE id IN ?", "Select (t) columns(a) where(id in ?0)"),
        ("SELECT a FROM t WHERE id IN (?, ?, 7)", "Select (t) columns(a) where(id in [?0 ?1 '7'])"),
        ("SELECT a FROM t WHERE id = ANY($1)", "Select (t) columns(a) where(id in $1)"),
        ("SELECT ?? FROM ?? WHERE id = ?", "Select ({?1}) columns({?0}) where(id=?2)"),
        ("UPDATE t SET ? WHERE id = ?", "Update (t) set(*=?0) where(id=?1)"),
        ("INSERT INTO t (a, b) VALUES ?", "Insert (t) insert(a=?0, b=[])"),
        ("SELECT a FROM %s WHERE id = %d", "Select ({?0}) columns(a) where(id=?1)"),
        ("SELECT a FROM users_%s WHERE id = ?", "Select (users_{?0}) columns(a) where(id=?1)"),
        ("SELECT a FROM {{0}} WHERE {{1}} = {{2}}", "Select ({0}) columns(a) where({1}=#2)"),
        ("SELECT a FROM {{0}}.users u WHERE u.id={{1}}", "Select (users) columns(a) where(id=#1)"),
        ("SELECT a FROM {tenant}_users WHERE id = 1", "Select ({tenant}_users) columns(a) where(id='1')"),
        ("SELECT data ? 'key' FROM t WHERE tags ?| $1", "Select (t) columns(data) other"),
    ]);
}

#[test]
fn reads_selects() {
    check(&[
        (
            "SELECT * FROM `order` WHERE `status` = \"open\" LIMIT 1",
            "Select (order) columns(*) where(status='open') limit('1')",
        ),
        ("SELECT [id], [Name] FROM [dbo].[Users] WHERE [Id] = @p0", "Select (users) columns(id, name) where(id=:p0)"),
        ("SELECT \"Id\" FROM public.\"User\" WHERE \"Email\" = $1", "Select (user) columns(id) where(email=$1)"),
        (
            "SELECT COUNT(*) FROM bookings WHERE room = ? AND day BETWEEN ? AND ?",
            "Select (bookings) aggregates(count) where(room=?0, day>=?1, day<=?2)",
        ),
        (
            "SELECT COALESCE(MAX(seq), 0) + 1 AS next FROM events WHERE stream = $1",
            "Select (events) columns(seq) aggregates(max) where(stream=$1)",
        ),
        (
            "SELECT a FROM t WHERE x IS NULL AND y IS NOT NULL AND NOT done",
            "Select (t) columns(a) where(x is 'NULL', y is not 'NULL', done='FALSE')",
        ),
        ("SELECT a FROM t WHERE a = 1 OR b = 2", "Select (t) columns(a) other"),
        ("SELECT a FROM t WHERE 1 = 1 AND lower(email) = $1", "Select (t) columns(a) other"),
        ("SELECT a FROM t WHERE $1 > n", "Select (t) columns(a) where(n<$1)"),
        ("SELECT a FROM t WHERE (x, y) = (?, ?)", "Select (t) columns(a) where(x=?0, y=?1)"),
        (
            "SELECT u.id, o.total FROM users u JOIN orders o ON o.user_id = u.id WHERE u.id = $1",
            "Select (users, orders) columns(id, total) where(id=$1)",
        ),
        ("SELECT a FROM t WHERE id = (SELECT max(id) FROM s)", "Select (t, s) columns(a) aggregates(max) where(id=[])"),
        ("SELECT data->>'name' FROM t WHERE data->>'id' = $1", "Select (t) columns(data) other"),
        ("SELECT tags[1], ARRAY[a, b] FROM t WHERE tags @> ARRAY[$1]", "Select (t) columns(tags, a, b) other"),
        ("SELECT CASE WHEN n > 0 THEN 'a' ELSE 'b' END FROM t WHERE id=$1", "Select (t) columns(n) where(id=$1)"),
        ("SELECT 1", "Select"),
        ("SELECT EXISTS(SELECT 1 FROM users WHERE email = $1)", "Select (users)"),
        (
            "SELECT TOP 1 * FROM Jobs WITH (UPDLOCK, READPAST) WHERE Done = 0",
            "Select (jobs) columns(*) where(done='0') limit('1') for_update skip_locked",
        ),
        ("(SELECT a FROM t) UNION ALL (SELECT a FROM s)", "Select (t, s) columns(a) other"),
        ("-- next job\nSELECT /* ? */ id FROM jobs # all\n", "Select (jobs) columns(id)"),
        ("SELECT a FROM t LIMIT ?, ?", "Select (t) columns(a) limit(?1)"),
        ("SELECT a FROM generate_series(1, 3) AS a", "Select columns(a)"),
    ]);
}

#[test]
fn reads_row_locks() {
    check(&[
        (
            "SELECT * FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
            "Select (jobs) columns(*) where(state='new') limit('1') for_update skip_locked",
        ),
        (
            "SELECT a FROM t WHERE id=$1 FOR NO KEY UPDATE OF t NOWAIT",
            "Select (t) columns(a) where(id=$1) for_update nowait",
        ),
        ("SELECT a FROM t WHERE id=$1 FOR KEY SHARE", "Select (t) columns(a) where(id=$1) for_share"),
        ("SELECT a FROM t WHERE id=? LOCK IN SHARE MODE", "Select (t) columns(a) where(id=?0) for_share"),
        ("SELECT a FROM t WHERE id=? FOR SHARE", "Select (t) columns(a) where(id=?0) for_share"),
        (
            "UPDATE jobs SET state = 'run' WHERE id = (SELECT id FROM jobs WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *",
            "Update (jobs) columns(*) set(state='run') where(id=['new']) for_update skip_locked returning",
        ),
        (
            "WITH next AS (SELECT id FROM jobs LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE jobs SET owner = $1 FROM next WHERE jobs.id = next.id RETURNING jobs.id",
            "Update (jobs) columns(id) set(owner=$1) where(id=id) for_update skip_locked returning",
        ),
    ]);
}

#[test]
fn reads_updates_and_tells_relative_ones() {
    check(&[
        (
            "UPDATE accounts SET balance = balance - $1 WHERE id = $2",
            "Update (accounts) set(balance~[balance $1]) where(id=$2)",
        ),
        ("UPDATE accounts SET balance = ? WHERE id = ?", "Update (accounts) set(balance=?0) where(id=?1)"),
        (
            "UPDATE accounts SET balance = {{0}} WHERE id = {{1}} AND version = {{2}}",
            "Update (accounts) set(balance=#0) where(id=#1, version=#2)",
        ),
        (
            "UPDATE t SET a = $1, version = version + 1 WHERE id = $2 AND version = $3",
            "Update (t) set(a=$1, version~[version '1']) where(id=$2, version=$3)",
        ),
        (
            "UPDATE t AS x SET n = x.n + 1, m = s.m FROM s WHERE x.id = s.id",
            "Update (t, s) set(n~[n '1'], m=m) where(id=id)",
        ),
        ("UPDATE t SET (a, b) = ($1, b + 1)", "Update (t) set(a=$1, b~[b '1'])"),
        (
            "UPDATE t SET n = (SELECT count(*) FROM s WHERE s.k = $1) WHERE id = 1",
            "Update (t, s) aggregates(count) set(n=[$1]) where(id='1')",
        ),
        (
            "UPDATE t SET n = GREATEST(n, ?), at = NOW(), x = NULL, d = DEFAULT",
            "Update (t) set(n~[n ?0], at=[], x='NULL', d='DEFAULT')",
        ),
        (
            "UPDATE t SET data = jsonb_set(data, '{a}', $1::jsonb) WHERE id = $2",
            "Update (t) set(data~[data :a $1]) where(id=$2)",
        ),
        ("UPDATE t SET s = CASE WHEN s = 'a' THEN 'b' ELSE s END", "Update (t) set(s~[s 'a' 'b' s])"),
        ("UPDATE a INNER JOIN b ON a.id = b.id SET a.x = b.y WHERE b.z = ?", "Update (a, b) set(x=y) where(z=?0)"),
        ("UPDATE t SET a = ? WHERE id = ? LIMIT 1", "Update (t) set(a=?0) where(id=?1) limit('1')"),
        (
            "UPDATE x SET x.n = x.n + 1 FROM dbo.Things x WHERE x.id = @id",
            "Update (things) set(n~[n '1']) where(id=:id)",
        ),
        ("UPDATE OR IGNORE t SET a = 1", "Update (t) set(a='1')"),
        ("UPDATE \"User\" SET \"name\" = $1 WHERE \"User\".\"id\" = $2", "Update (user) set(name=$1) where(id=$2)"),
    ]);
}

#[test]
fn reads_inserts_and_upserts() {
    check(&[
        ("INSERT INTO t (a, b) VALUES ($1, 'x') RETURNING id", "Insert (t) columns(id) insert(a=$1, b='x') returning"),
        ("INSERT INTO t VALUES (?, ?)", "Insert (t) insert(=?0, =?1)"),
        ("INSERT INTO t (a) VALUES (?), (?)", "Insert (t) insert(a=[?0 ?1])"),
        (
            "INSERT INTO t (k, n) VALUES ($1, 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1",
            "Upsert (t) set(n~[n '1']) insert(k=$1, n='1') do_update",
        ),
        (
            "INSERT INTO t (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v WHERE t.version < EXCLUDED.version",
            "Upsert (t) set(v=$2) insert(k=$1, v=$2) where(version<version) do_update",
        ),
        ("INSERT INTO t (k) VALUES ($1) ON CONFLICT DO NOTHING", "Insert (t) insert(k=$1) do_nothing"),
        (
            "INSERT INTO t (k, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + 1, m = VALUES(n)",
            "Upsert (t) set(n~[n '1'], m=?1) insert(k=?0, n=?1) do_update",
        ),
        ("INSERT IGNORE INTO t (k) VALUES (?)", "Insert (t) insert(k=?0) do_nothing"),
        ("INSERT OR IGNORE INTO t (k) VALUES (@k)", "Insert (t) insert(k=:k) do_nothing"),
        ("INSERT OR REPLACE INTO t (k, v) VALUES (?, ?)", "Upsert (t) insert(k=?0, v=?1) do_update"),
        ("REPLACE INTO t (k, v) VALUES (?, ?)", "Upsert (t) insert(k=?0, v=?1) do_update"),
        ("INSERT INTO t SET a = ?, b = ?", "Insert (t) insert(a=?0, b=?1)"),
        (
            "INSERT INTO users (email) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM users WHERE email = $1)",
            "Insert (users) insert(email=$1) where(email=$1) not_exists",
        ),
        (
            "INSERT INTO events (seq, body) SELECT COALESCE(MAX(seq), 0) + 1, $1 FROM events",
            "Insert (events) aggregates(max) insert(seq=[seq '0' '1'], body=$1)",
        ),
        ("INSERT INTO [dbo].[T] ([a]) OUTPUT INSERTED.id VALUES (@a)", "Insert (t) insert(a=:a) returning"),
        ("INSERT INTO t DEFAULT VALUES", "Insert (t)"),
        ("INSERT INTO t (a) VALUES (E'x\\'y'), (N'z')", "Insert (t) insert(a=['x'y' 'z'])"),
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 1)",
            "Merge (t, s) set(n~[n n]) insert(id=id, n='1') where(id=id) do_update",
        ),
    ]);
}

#[test]
fn reads_deletes_and_writes_inside_with() {
    check(&[
        ("DELETE FROM t WHERE id = ?", "Delete (t) where(id=?0)"),
        (
            "DELETE FROM locks USING owners o WHERE locks.owner = o.id AND o.name = $1",
            "Delete (locks, owners) where(owner=id, name=$1)",
        ),
        (
            "DELETE FROM q WHERE id IN (SELECT id FROM q LIMIT 5) RETURNING *",
            "Delete (q) columns(*) where(id in []) returning",
        ),
        ("TRUNCATE TABLE t", "Delete (t)"),
        (
            "WITH d AS (DELETE FROM q WHERE id = $1 RETURNING *) INSERT INTO done SELECT * FROM d",
            "Delete (q) columns(*) where(id=$1) returning | Insert (done) insert(=[])",
        ),
        (
            "WITH u AS (UPDATE t SET n = n + 1 RETURNING n) SELECT n FROM u",
            "Update (t) columns(n) set(n~[n '1']) returning",
        ),
    ]);
}

#[test]
fn reads_unique_keys() {
    check(&[
        (
            "CREATE TABLE IF NOT EXISTS a.t (id SERIAL PRIMARY KEY, email VARCHAR(20) NOT NULL UNIQUE, n NUMERIC(1, 2), UNIQUE (n, email), CHECK (n > 0))",
            "CreateTable (t) unique(id, email, n+email)",
        ),
        (
            "CREATE TABLE `t` (`a` int, `b` enum('x','y'), PRIMARY KEY (`a`), UNIQUE KEY `k` (`b`(10), `a`)) ENGINE=InnoDB",
            "CreateTable (t) unique(a, b+a)",
        ),
        ("CREATE TABLE [t] ([id] INT, CONSTRAINT [pk] PRIMARY KEY CLUSTERED ([id] ASC))", "CreateTable (t) unique(id)"),
        ("CREATE TABLE t (a REFERENCES s(id), \"unique\" TEXT)", "CreateTable (t)"),
        (
            "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON public.t USING btree (lower(email), tenant)",
            "CreateIndex (t) unique(email+tenant)",
        ),
        ("CREATE UNIQUE INDEX i ON t (a) WHERE deleted IS NULL", "CreateIndex (t)"),
        ("CREATE UNIQUE INDEX i ON t (a, b) WHERE (a IS NOT NULL) AND b IS NOT NULL", "CreateIndex (t) unique(a+b)"),
        ("CREATE UNIQUE INDEX i ON t (a) WHERE a IS NOT NULL AND b IS NOT NULL", "CreateIndex (t)"),
        ("CREATE UNIQUE INDEX i ON t (a) WHERE a IS NOT NULL OR a = 1", "CreateIndex (t)"),
        ("CREATE INDEX i ON t (a)", "CreateIndex (t)"),
        (
            "ALTER TABLE ONLY t ADD CONSTRAINT k UNIQUE (a, b), ADD COLUMN c INT UNIQUE",
            "CreateIndex (t) unique(a+b, c)",
        ),
        (
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN UPDATE s SET n = 1; DELETE FROM u; END; COMMIT",
            "Other `CREATE TRIGGER x AFTER INSERT ON t BEGIN UPDATE s SET n = 1; DELETE FROM u; END` | Commit",
        ),
    ]);
}
