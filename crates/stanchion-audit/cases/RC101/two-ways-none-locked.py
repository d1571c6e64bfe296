# also: RC302
# Two ways through a context manager, and neither of them takes a lock; or one that is never gone.
import json
import logging
from contextlib import contextmanager
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
BEES = Path("/srv/bees.json")
WASPS = Path("/srv/wasps.json")
LOUD = False


@contextmanager
def timed(what: str):
    if not what:
        yield
        return
    logging.info("begin %s", what)
    yield
    logging.info("end %s", what)


@contextmanager
def told(what: str):
    if not LOUD:
        yield
    if LOUD:
        raise RuntimeError(what)


@mcp.tool()
def add(name: str) -> str:
    with timed("add"):
        bees = json.loads(BEES.read_text())
        bees.append(name)
        BEES.write_text(json.dumps(bees))  # expect: RC101 read=37
    return "done"


@mcp.tool()
def add_wasp(name: str) -> str:
    with told("add"):
        wasps = json.loads(WASPS.read_text())
        wasps.append(name)
        WASPS.write_text(json.dumps(wasps))  # expect: RC101 read=46
    return "done"
