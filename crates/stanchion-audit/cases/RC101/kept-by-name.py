# also: RC302
# What is to be written is put together for all files first, each under its name.
from pathlib import Path


def rename(pages: list[str], old: str, new: str) -> int:
    changed = {}
    for page in pages:
        changed[page] = Path(page).read_text().replace(old, new)
    for page, text in changed.items():
        Path(page).write_text(text)  # expect: RC101 read=9
    return len(changed)


def sign(pages: list[str], name: str) -> bool:
    before = {}
    try:
        for page in pages:
            before[page] = Path(page).read_text()
            with open(page, "a") as handle:
                handle.write(name)
    except OSError:
        for page, text in before.items():
            Path(page).write_text(text)  # expect: RC101 read=19
        return False
    return True
