"""Takes 10 from an account as the holder of a token.

usage: DATABASE_URL=postgres://... python3 transfer.py ACCOUNT FENCE LEASE
"""
import os
import subprocess
import sys

URL = os.environ["DATABASE_URL"]
TOUCH = "UPDATE accounts SET fence = {fence}, fence_lease = {lease} WHERE id = {id} RETURNING balance"
HOLD = "SELECT stanchion_guard.hold({fence}, {lease})"
WRITE = "UPDATE accounts SET balance = {balance} WHERE id = {id}"


def with_psycopg(psycopg, account, fence, lease):
    token = {"id": account, "fence": fence, "lease": lease}

    def sql(text):
        return text.replace("{", "%(").replace("}", ")s")

    with psycopg.connect(URL) as connection:
        balance = connection.execute(sql(TOUCH), token).fetchone()[0]  # the read
        connection.commit()
        connection.execute(sql(HOLD), token)
        connection.execute(sql(WRITE), {**token, "balance": balance - 10})
    return balance - 10


def with_psql(account, fence, lease):
    def run(sql, **values):
        arguments = ["psql", URL, "-qtAX", "-v", "ON_ERROR_STOP=1"]
        for name, value in values.items():
            arguments += ["-v", f"{name}={value}"]
            sql = sql.replace("{" + name + "}", f":'{name}'")
        done = subprocess.run(arguments, input=sql, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        return done.stdout.strip()

    token = {"id": account, "fence": fence, "lease": lease}
    balance = int(run(TOUCH, **token))  # the read
    run(f"BEGIN; {HOLD}; {WRITE}; COMMIT;", balance=balance - 10, **token)
    return balance - 10


if __name__ == "__main__":
    account, fence, lease = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    try:
        import psycopg
    except ImportError:
        print(with_psql(account, fence, lease))
    else:
        print(with_psycopg(psycopg, account, fence, lease))
