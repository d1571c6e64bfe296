# also: RC302
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("facts")


class Store:
    def __init__(self, path: Path):
        self.path = path
        self.state = json.loads(path.read_text())

    def put(self, key: str, value: str) -> None:
        self.state[key] = value
        self.path.write_text(json.dumps(self.state))  # expect: RC107 read=13


store = Store(Path("/data/facts.json"))


@mcp.tool()
def learn(key: str, value: str) -> str:
    store.put(key, value)
    return "ok"
