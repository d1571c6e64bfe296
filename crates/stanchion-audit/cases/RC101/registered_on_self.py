# also: RC302
# Tools that a method registers with a server that its object holds.
import json
from pathlib import Path

from mcp.server import Server
from mcp.server.fastmcp import FastMCP


class Hives:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.mcp = FastMCP("hives")
        self._register()

    def _register(self) -> None:
        @self.mcp.tool(name="add_hive")
        def add(name: str) -> str:
            hives = self._load()
            hives.append(name)
            self._save(hives)  # expect: RC101 read=19
            return "done"

    def _load(self) -> list:
        return json.loads(self.path.read_text())

    def _save(self, hives: list) -> None:
        self.path.write_text(json.dumps(hives))


class Yards:
    def __init__(self) -> None:
        self.server = Server("yards")
        self.path = "/srv/yards.json"
        self.set_up()

    def set_up(self) -> None:
        @self.server.call_tool()
        async def call(name: str, arguments: dict) -> list:
            if name == "open":
                return await self.open(arguments["yard"])
            return []

    async def open(self, yard: str) -> list:
        with open(self.path) as file:
            yards = json.load(file)
        yards[yard] = "open"
        with open(self.path, "w") as file:
            json.dump(yards, file)  # expect: RC101 read=46
        return []


if __name__ == "__main__":
    Yards()
    Hives(Path("/srv/hives.json")).mcp.run()
