# also: RC302
import re
from pathlib import Path

MINUTES = Path("/srv/club/minutes")


def number() -> int:
    seen = [0]
    for page in MINUTES.glob("*.txt"):
        found = re.match(r"minutes-(\d+)", page.name)
        if found:
            seen.append(int(found.group(1)))
    return max(seen) + 1


def record(text: str) -> int:
    this = number()
    (MINUTES / f"minutes-{this:03d}.txt").write_text(text)  # expect: RC301 read=10
    return this
