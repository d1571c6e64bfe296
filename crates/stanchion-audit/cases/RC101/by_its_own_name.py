# also: RC302
# Asked for by the name that was given, and written back by the name that is in the file: they are one.
import json
from dataclasses import dataclass
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")


@dataclass
class Hive:
    name: str
    bees: int

    @classmethod
    def from_dict(cls, data: dict) -> "Hive":
        return cls(name=data["name"], bees=data["bees"])

    @classmethod
    def load(cls, name: str) -> "Hive":
        return cls.from_dict(json.loads((FOLDER / f"hive-{name}.json").read_text()))

    def save(self) -> None:
        text = json.dumps({"name": self.name, "bees": self.bees})
        (FOLDER / f"hive-{self.name}.json").write_text(text)


class Queen(BaseModel):
    name: str
    eggs: int = 0

    def save(self) -> None:
        with open(f"/srv/queens/{self.name}.json", "w") as file:
            print(self.model_dump_json(), file=file)


class Yard(BaseModel):
    hives: list[str] = []

    @classmethod
    def load(cls) -> "Yard":
        return cls.model_validate_json(Path("/srv/yard.json").read_text())

    def save(self) -> None:
        Path("/srv/yard.json").write_text(self.model_dump_json())


@mcp.tool()
def feed(name: str) -> str:
    hive = Hive.load(name)
    hive.bees += 10
    hive.save()  # expect: RC101 read=54
    return "done"


@mcp.tool()
def lay(name: str) -> str:
    with open(f"/srv/queens/{name}.json") as file:
        queen = Queen.model_validate_json(file.read())
    queen.eggs += 1
    queen.save()  # expect: RC101 read=63
    return "done"


@mcp.tool()
def place(name: str) -> str:
    yard = Yard.load()
    yard.hives.append(name)
    yard.save()  # expect: RC101 read=71
    return "done"
