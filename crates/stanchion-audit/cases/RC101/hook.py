# also: RC302
import json
import sys
from pathlib import Path

SESSIONS = Path.home() / ".hooks" / "sessions.json"


def record(event: dict) -> None:
    sessions = json.loads(SESSIONS.read_text())
    entry = sessions.setdefault(event["session_id"], {"calls": 0})
    entry["calls"] += 1
    SESSIONS.write_text(json.dumps(sessions))  # expect: RC101 read=10


def main() -> int:
    event = json.load(sys.stdin)
    if event.get("hook_event_name") == "PostToolUse":
        record(event)
    return 0


if __name__ == "__main__":
    sys.exit(main())
