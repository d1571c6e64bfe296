# also: RC101, RC302
# What could not be read is nothing, and nobody writes because of that.
from pathlib import Path

NOTES = Path("/data/notes")


def find(name: str):
    path = NOTES / name
    try:
        return path.read_text()
    except OSError:
        pass
    return None


def read(name: str):
    try:
        return (NOTES / name).read_text()
    except OSError:
        return None


def close(name: str) -> None:
    found = find(name)
    if found is None:
        raise ValueError("no such note")
    (NOTES / name).write_text(found.replace("open", "closed"))


def close_all(names: list[str]) -> None:
    for name in names:
        found = read(name)
        if not found:
            continue
        (NOTES / name).write_text(found.replace("open", "closed"))
