import json
from pathlib import Path

IN = Path("/srv/in")
OUT = Path("/srv/out")


def convert(name: str) -> int:
    rows = json.loads((IN / f"{name}.json").read_text())
    lines = [",".join(str(v) for v in row.values()) for row in rows]
    (OUT / f"{name}.csv").write_text("\n".join(lines))
    return len(lines)


def main() -> None:
    index = []
    for path in IN.iterdir():
        index.append({"name": path.stem, "rows": convert(path.stem)})
    (OUT / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main()
