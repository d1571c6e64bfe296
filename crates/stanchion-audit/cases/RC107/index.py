# also: RC302, RC304, RC301
import json
import os

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("index")


class Q:
    def __init__(self):
        self.p = os.path.join("/data", "index.json")
        self.d = {}
        self.one()

    def one(self):
        if os.path.exists(self.p):
            with open(self.p) as f:
                self.d = json.load(f)

    def two(self):
        with open(self.p, "w") as f:
            json.dump(self.d, f)  # expect: RC107 read=19


q = Q()


@mcp.tool()
def index(doc: str, text: str) -> int:
    q.d[doc] = len(text)
    q.two()
    return len(q.d)
