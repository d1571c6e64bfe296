# also: RC302
# It has the name of what it calls, and takes no lock.
import functools
import json
import time

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")
PATH = "/srv/bees.json"


def timed(function):
    @functools.wraps(function)
    def inner(*args, **named):
        begin = time.monotonic()
        try:
            return function(*args, **named)
        finally:
            print(time.monotonic() - begin)

    return inner


@mcp.tool()
@timed
def add(name: str) -> str:
    with open(PATH) as file:
        bees = json.load(file)
    bees.append(name)
    with open(PATH, "w") as file:
        json.dump(bees, file)  # expect: RC101 read=29
    return "done"
