# also: RC302
# Tools that a method registers with a server that its object holds: locked, or only reading.
import json
from pathlib import Path

from filelock import FileLock
from mcp.server.fastmcp import FastMCP


class Hives:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = FileLock("/srv/hives.lock")
        self.mcp = FastMCP("hives")
        self._register()

    def _register(self) -> None:
        @self.mcp.tool()
        def add(name: str) -> str:
            with self.lock:
                hives = self._load()
                hives.append(name)
                self._save(hives)
            return "done"

        @self.mcp.tool()
        def show() -> list:
            return self._load()

        @self.mcp.tool()
        def start_anew() -> str:
            self._save([])
            return "done"

    def _load(self) -> list:
        return json.loads(self.path.read_text())

    def _save(self, hives: list) -> None:
        self.path.write_text(json.dumps(hives))


hives = Hives(Path("/srv/hives.json"))
