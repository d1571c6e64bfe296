# also: RC302
import json
import os
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("meter")
FILE = "/data/meter.json"


class Latch:
    def __init__(self, path):
        self.path = path + ".lock"
        self.file = None

    def __enter__(self):
        while True:
            try:
                self.file = open(self.path, "x")
                return self
            except FileExistsError:
                time.sleep(0.1)

    def __exit__(self, *rest):
        self.file.close()
        os.unlink(self.path)


@mcp.tool()
def count(name: str) -> str:
    with Latch(FILE):
        with open(FILE) as f:
            all = json.load(f)
        all[name] = all.get(name, 0) + 1
        with open(FILE, "w") as f:
            json.dump(all, f)
    return "ok"
