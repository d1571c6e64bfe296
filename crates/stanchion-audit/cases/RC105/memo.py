# also: RC302
import json

from filelock import FileLock
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("memo")
P = "/data/memo.json"
L = FileLock(P + ".lock")


class S:
    def r1(self):
        with L:
            with open(P) as f:
                return json.load(f)

    def w1(self, d):
        with L:
            with open(P, "w") as f:
                json.dump(d, f)  # expect: RC105 read=16


s = S()


@mcp.tool()
def remember(key: str, value: str) -> str:
    d = s.r1()
    d[key] = value
    s.w1(d)
    return "ok"
