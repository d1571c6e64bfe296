# also: RC101, RC302
# A line that cannot be understood becomes today; the rest is as it was read.
from datetime import date, datetime
from pathlib import Path

NOTES = Path("/data/notes")


def sign(name: str, who: str) -> None:
    path = NOTES / name
    text = path.read_text()
    first, rest = text.split("\n", 1)
    try:
        due = datetime.strptime(first, "%Y-%m-%d").date()
    except ValueError:
        due = date.today()
    path.write_text(f"{due.isoformat()}\n{rest}\nsigned {who}")
