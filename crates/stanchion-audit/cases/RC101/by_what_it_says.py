# also: RC302
# Found by going through a folder, and written back under the name that the file's own text says.
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")
YARDS = Path("/srv/yards")
QUEENS = Path("/srv/queens")


@dataclass
class Hive:
    number: int
    bees: int

    @property
    def file(self) -> str:
        return f"hive-{self.number}.json"


def all_hives() -> list[Hive]:
    hives = []
    for path in FOLDER.glob("*.json"):
        with path.open() as file:
            hives.append(Hive(**json.load(file)))
    return hives


def keep(hive: Hive) -> None:
    (FOLDER / hive.file).write_text(json.dumps(asdict(hive)))


@mcp.tool()
def add(number: int, bees: int) -> str:
    for hive in all_hives():
        if hive.number == number:
            hive.bees += bees
            keep(hive)  # expect: RC101 read=39
            return "done"
    return "none"


@mcp.tool()
def open_yard(name: str) -> str:
    for path in YARDS.rglob("*.json"):
        yard = json.loads(path.read_text())
        if yard["name"] == name:
            yard["open"] = True
            place = YARDS / yard["town"] / f"{yard['name']}.json"
            place.write_text(json.dumps(yard))  # expect: RC101 read=50
    return "done"


@mcp.tool()
def crown(name: str) -> str:
    for path in QUEENS.iterdir():
        queen = json.loads(path.read_text())
        if queen["name"] == name:
            queen["crowned"] = True
            (QUEENS / "crowned" / f"{queen['name']}.json").write_text(json.dumps(queen))  # expect: RC101 read=61
            path.unlink()
    return "done"
