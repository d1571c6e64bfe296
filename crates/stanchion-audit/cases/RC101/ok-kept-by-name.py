# also: RC302
# Each goes to another file than it came from, and one map has two kinds of names.
from pathlib import Path


def export(pages: list[str]) -> int:
    copies = {}
    for page in pages:
        copies[page + ".bak"] = Path(page).read_text()
    for copy, text in copies.items():
        Path(copy).write_text(text)
    return len(copies)


def mixed(pages: list[str], others: list[str]) -> None:
    texts = {}
    for page in pages:
        texts[page + ".old"] = Path(page).read_text()
    for other in others:
        texts[other] = "new"
    for name, text in texts.items():
        Path(name).write_text(text)


def sign(pages: list[str], name: str) -> bool:
    before = {}
    try:
        for page in pages:
            before[page] = Path(page).read_text()
            with open(page, "a") as handle:
                handle.write(name)
    except OSError:
        for page, text in before.items():
            Path(page + ".before").write_text(text)
        return False
    return True
