import sqlite3


def charge(path: str, account_id: int, amount: int) -> int:
    conn = sqlite3.connect(path, isolation_level=None)
    try:
        conn.execute("BEGIN")
        conn.execute("UPDATE meta SET writes = writes + 1 WHERE id = 1")
        (balance,) = conn.execute("SELECT balance FROM accounts WHERE id = ?", (account_id,)).fetchone()
        balance = max(0, balance - amount)
        conn.execute("UPDATE accounts SET balance = ? WHERE id = ?", (balance, account_id))
        conn.execute("COMMIT")
        return balance
    finally:
        conn.close()


def charge_immediate(path: str, account_id: int, amount: int) -> int:
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("BEGIN IMMEDIATE")
    (balance,) = conn.execute("SELECT balance FROM accounts WHERE id = ?", (account_id,)).fetchone()
    conn.execute("UPDATE accounts SET balance = ? WHERE id = ?", (balance - amount, account_id))
    conn.execute("COMMIT")
    return balance - amount
