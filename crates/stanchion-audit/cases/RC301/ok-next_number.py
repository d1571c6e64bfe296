import re
import uuid
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
    while True:
        this = number()
        try:
            with open(MINUTES / f"minutes-{this:03d}.txt", "x") as file:
                file.write(text)
            return this
        except FileExistsError:
            continue


def draft(text: str) -> None:
    # Nobody else has the same one.
    (MINUTES / f"{number()}-{uuid.uuid4()}.txt").write_text(text)


def folder() -> Path:
    made = MINUTES / f"year-{number()}"
    made.mkdir(exist_ok=True)
    return made
