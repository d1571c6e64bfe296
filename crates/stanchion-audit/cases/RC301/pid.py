# also: RC302
import os
import sys
from pathlib import Path

PID = Path("/run/sync.pid")


def start() -> None:
    if PID.exists():
        pid = int(PID.read_text())
        if os.path.exists(f"/proc/{pid}"):
            print("it runs already", file=sys.stderr)
            sys.exit(1)
    PID.write_text(str(os.getpid()))  # expect: RC301 read=10
