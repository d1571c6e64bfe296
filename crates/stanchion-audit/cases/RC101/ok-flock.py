# also: RC302
import contextlib
import fcntl
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("kv")
DATA = Path("/var/lib/kv/data.json")
LOCK = Path("/var/lib/kv/data.lock")


@contextlib.contextmanager
def exclusive():
    with open(LOCK, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


@mcp.tool()
def put(key: str, value: str) -> str:
    with exclusive():
        data = json.loads(DATA.read_text())
        data[key] = value
        DATA.write_text(json.dumps(data))
    return "ok"


@mcp.tool()
def get(key: str) -> str | None:
    return json.loads(DATA.read_text()).get(key)
