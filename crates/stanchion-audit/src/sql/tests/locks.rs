//! Transactions, and locks of tables and of the application.

use super::*;

#[test]
fn reads_transactions_and_table_locks() {
    check(&[
        ("BEGIN", "Begin { mode: None, isolation: None }"),
        ("begin immediate", "Begin { mode: Immediate, isolation: None }"),
        ("BEGIN EXCLUSIVE TRANSACTION;", "Begin { mode: Exclusive, isolation: None }"),
        ("BEGIN DEFERRED", "Begin { mode: Deferred, isolation: None }"),
        ("BEGIN TRAN", "Begin { mode: None, isolation: None }"),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ", "Begin { mode: None, isolation: Some(RepeatableRead) }"),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "Begin { mode: None, isolation: Some(Serializable) }"),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SetIsolation(Serializable)"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED", "SetIsolation(ReadCommitted)"),
        ("SET default_transaction_isolation = 'repeatable read'", "SetIsolation(RepeatableRead)"),
        ("SET search_path TO x", "Other `SET search_path TO x`"),
        ("COMMIT", "Commit"),
        ("END TRANSACTION", "Commit"),
        ("ROLLBACK", "Rollback"),
        ("ROLLBACK TO SAVEPOINT a", "Savepoint"),
        ("SAVEPOINT a; RELEASE SAVEPOINT a", "Savepoint | Savepoint"),
        ("LOCK TABLE a.t, s IN SHARE ROW EXCLUSIVE MODE NOWAIT", "LockTable (t, s) for_update nowait"),
        ("LOCK TABLE t IN SHARE MODE", "LockTable (t) for_share"),
        ("LOCK TABLES t READ, s AS x READ", "LockTable (t, s) for_share"),
        ("LOCK TABLES t WRITE", "LockTable (t) for_update"),
        (
            "PRAGMA journal_mode = WAL; PRAGMA busy_timeout=5000",
            "Other `PRAGMA journal_mode = WAL` | Other `PRAGMA busy_timeout=5000`",
        ),
        (
            "BEGIN; UPDATE t SET a = ?; UPDATE s SET b = ?; COMMIT;",
            "Begin { mode: None, isolation: None } | Update (t) set(a=?0) | Update (s) set(b=?1) | Commit",
        ),
        (
            "IF NOT EXISTS (SELECT 1 FROM t WHERE k = @k) INSERT INTO t (k) VALUES (@k)",
            "Select (t) where(k=:k) | Insert (t) insert(k=:k)",
        ),
    ]);
}

#[test]
fn reads_advisory_locks() {
    check(&[
        ("SELECT pg_advisory_lock($1)", "Select lock(Session Lock $1)"),
        ("SELECT pg_try_advisory_lock(hashtext($1)) AS ok", "Select lock(Session TryLock [$1])"),
        ("SELECT pg_advisory_xact_lock(1, {{0}})", "Select lock(Transaction Lock '1' #0)"),
        ("SELECT pg_try_advisory_xact_lock_shared($1)", "Select lock(Transaction TryLock shared $1)"),
        ("SELECT pg_advisory_unlock($1::bigint)", "Select lock(Session Unlock $1)"),
        ("SELECT pg_advisory_unlock_all()", "Select lock(Session UnlockAll)"),
        ("SELECT GET_LOCK(?, 10)", "Select lock(Session TryLock ?0)"),
        ("SELECT RELEASE_LOCK('a')", "Select lock(Session Unlock 'a')"),
        (
            "EXEC sp_getapplock @Resource = 'x', @LockMode = 'Exclusive', @LockOwner = 'Session'",
            "Other lock(Session TryLock 'x') `EXEC sp_getapplock {Resource} = 'x', {LockMode} = 'Exclusive', {LockOwner} = 'Session'`",
        ),
        ("SELECT 'pg_advisory_lock(1)'", "Select"),
    ]);
}
