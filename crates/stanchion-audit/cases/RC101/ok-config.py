import json
import sys
from pathlib import Path

CONFIG = json.loads(Path("/etc/agent/config.json").read_text())


def render(template: Path, out: Path, name: str) -> None:
    text = template.read_text().replace("{{name}}", name)
    out.write_text(text)


def main() -> None:
    for name in CONFIG["names"]:
        render(Path(CONFIG["template"]), Path(CONFIG["out"]) / f"{name}.html", name)


if __name__ == "__main__":
    sys.exit(main())
