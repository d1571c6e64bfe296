#!/usr/bin/env python3
"""A guarded read-modify-write through the `mariadb` (or `mysql`) program: no driver needed.

    stanchion run --lock account-1 -- transfer.py AMOUNT -- mariadb --host=127.0.0.1 app

With a driver it is the same two statements."""
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent.parent
split = sys.argv.index("--")
amount, client = int(sys.argv[1]), sys.argv[split + 1:]
fence, lease = int(os.environ["STANCHION_FENCE"]), os.environ["STANCHION_LEASE_ID"]
assert all(c in "0123456789abcdef" for c in lease), "a lease id is hexadecimal"


def run(file, **values):
    names = "".join(f", @{name} = {value}" for name, value in values.items())
    script = f"SET @id = 1, @fence = {fence}, @fence_lease = '{lease}'{names};\n" + (here / file).read_text()
    done = subprocess.run(client + ["--batch", "--skip-column-names"], input=script, text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.split()


accepted, floor, balance = run("touch.sql")
if accepted != "1":
    sys.exit(f"refused: a newer holder has been here; be above {floor}")
if os.environ.get("PAUSE_AFTER_READ"):
    print("read", flush=True)
    sys.stdin.readline()
if run("write.sql", balance=int(balance) - amount) != ["1"]:
    sys.exit("refused: a newer holder has touched the row")
print("written")
