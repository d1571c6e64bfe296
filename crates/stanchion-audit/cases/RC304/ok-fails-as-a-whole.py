# also: RC101, RC302
import json

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("stock")
FILE = "/data/stock.json"


def take():
    with open(FILE) as f:
        return json.load(f)


def put(all):
    with open(FILE, "w") as f:
        json.dump(all, f)


@mcp.tool()
def sell(names: list[str]) -> str:
    failed = []
    for name in names:
        try:
            all = take()
            all[name] -= 1
            put(all)
        except Exception as e:
            failed.append((name, str(e)))
    return str(failed)
