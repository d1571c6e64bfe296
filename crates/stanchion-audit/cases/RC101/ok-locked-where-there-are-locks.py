# also: RC302
# A system without locks goes on without them; where there are some, they are taken.
import json
import os
import threading
from contextlib import contextmanager
from pathlib import Path

from mcp.server.fastmcp import FastMCP

try:
    import fcntl
except ImportError:
    fcntl = None

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")
GATE = threading.Lock()


@contextmanager
def alone(folder: Path):
    if fcntl is None or not folder.is_dir():
        yield
        return
    with open(folder / "lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def alone_or_not(folder: Path, shared: bool):
    if not shared:
        print("nobody else is here")
        yield None
    else:
        with open(folder / "lock", "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle


@contextmanager
def by_file(folder: Path):
    name = str(folder / "bees.lock")
    if folder.is_dir():
        os.close(os.open(name, os.O_CREAT | os.O_EXCL))
        try:
            yield
        finally:
            os.unlink(name)
    else:
        yield


@contextmanager
def after_a_lock(folder: Path):
    with GATE:
        if fcntl is None:
            yield
            return
        with open(folder / "lock", "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def saved(name: str, bees: list) -> None:
    (FOLDER / name).write_text(json.dumps(bees))


@mcp.tool()
def add(name: str) -> str:
    with alone(FOLDER):
        bees = json.loads((FOLDER / "bees.json").read_text())
        bees.append(name)
        saved("bees.json", bees)
    return "done"


@mcp.tool()
def add_wasp(name: str, shared: bool) -> str:
    with alone_or_not(FOLDER, shared):
        wasps = json.loads((FOLDER / "wasps.json").read_text())
        wasps.append(name)
        saved("wasps.json", wasps)
    return "done"


@mcp.tool()
def add_ant(name: str) -> str:
    with by_file(FOLDER):
        ants = json.loads((FOLDER / "ants.json").read_text())
        ants.append(name)
        saved("ants.json", ants)
    return "done"


@mcp.tool()
def add_fly(name: str) -> str:
    with after_a_lock(FOLDER):
        flies = json.loads((FOLDER / "flies.json").read_text())
        flies.append(name)
        saved("flies.json", flies)
    return "done"
