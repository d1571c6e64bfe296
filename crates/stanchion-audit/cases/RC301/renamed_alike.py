from pathlib import Path

PLACE = Path("/var/lib/profiles")


def rename(old: str, new: str) -> None:
    source, target = PLACE / f"{old}.md", PLACE / f"{new}.md"
    if target.exists():
        raise ValueError("there is one already")
    source.rename(target)  # expect: RC301 read=8
