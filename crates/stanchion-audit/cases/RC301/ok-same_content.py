from pathlib import Path

KEEP = Path("/srv/garden/seeds/.gitkeep")


def prepare() -> None:
    if not KEEP.exists():
        KEEP.write_text("")
