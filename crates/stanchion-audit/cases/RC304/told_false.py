# also: RC101, RC302
# It says that it went wrong, and nobody listens.
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("links")
PATH = Path("/data/links.json")


class Links:
    def __init__(self):
        self.all = {}

    def load(self) -> bool:
        try:
            with open(PATH) as file:
                self.all = json.load(file)
            return True
        except json.JSONDecodeError:
            self.all = {}
            return False

    def save(self) -> None:
        with open(PATH, "w") as file:
            json.dump(self.all, file)  # expect: RC304 read=19


@mcp.tool()
def link(name: str) -> None:
    links = Links()
    links.load()
    links.all[name] = 1
    links.save()
