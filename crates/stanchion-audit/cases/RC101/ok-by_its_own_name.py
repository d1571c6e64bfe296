# also: RC302
# Another file by its name, its ending, its folder, or by what else is in its name; or it is locked.
import json
import sys
from pathlib import Path

from filelock import FileLock
from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")


class Queen(BaseModel):
    name: str
    eggs: int = 0

    def save(self) -> None:
        (FOLDER / f"queen-{self.name}.json").write_text(self.model_dump_json())


def hive(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


@mcp.tool()
def page(name: str) -> str:
    found = hive(name)
    (FOLDER / f"{found['name']}.html").write_text(found["text"])
    Path(f"/srv/pages/{found['name']}.json").write_text(json.dumps(found))
    (FOLDER / f"page-{found['name']}.json").write_text(json.dumps(found))
    return "done"


@mcp.tool()
def copy(name: str, to: str) -> str:
    found = hive(name)
    (FOLDER / f"{to}.json").write_text(json.dumps(found))
    return "done"


@mcp.tool()
def crown(name: str) -> str:
    queen = Queen.model_validate(hive(name))
    queen.eggs = 0
    print(queen, file=sys.stderr)
    queen.save()
    return "done"


@mcp.tool()
def feed(name: str) -> str:
    with FileLock("/srv/hives.lock"):
        found = hive(name)
        found["fed"] = True
        (FOLDER / f"{found['name']}.json").write_text(json.dumps(found))
    return "done"
