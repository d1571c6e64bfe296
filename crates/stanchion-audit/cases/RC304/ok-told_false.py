# also: RC101, RC302
# It says that it went wrong, and who calls goes no further.
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
            json.dump(self.all, file)


@mcp.tool()
def link(name: str) -> None:
    links = Links()
    if not links.load():
        raise RuntimeError("cannot be read")
    links.all[name] = 1
    links.save()
