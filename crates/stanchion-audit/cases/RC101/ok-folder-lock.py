# also: RC302
# A folder that is there already cannot be made: it is a lock.
import json
import os
import time
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")


class Alone:
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        while True:
            try:
                os.mkdir(self.path)
                break
            except FileExistsError:
                time.sleep(0.1)
        return self

    def __exit__(self, *rest):
        os.rmdir(self.path)


class AloneToo:
    def __init__(self, path):
        self.path = Path(path)

    def __enter__(self):
        while True:
            try:
                self.path.mkdir()
                return self
            except FileExistsError:
                time.sleep(0.1)

    def __exit__(self, *rest):
        self.path.rmdir()


@mcp.tool()
def add(name: str) -> str:
    with Alone("/srv/bees.lock"):
        bees = json.load(open("/srv/bees.json"))
        bees.append(name)
        json.dump(bees, open("/srv/bees.json", "w"))
    return "done"


@mcp.tool()
def add_wasp(name: str) -> str:
    with AloneToo("/srv/wasps.lock"):
        wasps = json.load(open("/srv/wasps.json"))
        wasps.append(name)
        json.dump(wasps, open("/srv/wasps.json", "w"))
    return "done"
