# also: RC302
# When it was changed is another field than what is in it.
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel

mcp = FastMCP("leaves")
ROOT = Path("/srv/leaves")


class Leaf(BaseModel):
    body: str
    at: float


@dataclass
class Plain:
    body: str
    at: float


@mcp.tool()
def rename(name: str, old: str, new: str) -> str:
    path = ROOT / name
    leaf = Leaf(body=path.read_text(), at=path.stat().st_mtime)
    body = leaf.body.replace(old, new)
    if body != leaf.body:
        path.write_text(body)  # expect: RC101 read=29
    return "done"


@mcp.tool()
def rename_whole(name: str, old: str, new: str) -> str:
    path = ROOT / name
    leaf = Plain(path.read_text(), path.stat().st_mtime)
    if old in leaf.body:
        handle, other = tempfile.mkstemp(dir=ROOT)
        with os.fdopen(handle, "w") as file:
            file.write(leaf.body.replace(old, new))
        os.replace(other, path)  # expect: RC101 read=39
    return "done"


@mcp.tool()
def rename_known(name: str, at: float, new: str) -> str:
    path = ROOT / name
    leaf = Leaf(body=path.read_text(), at=path.stat().st_mtime)
    if leaf.at != at:
        raise ValueError("changed meanwhile")
    path.write_text(leaf.body + new)  # expect: RC101 read=51
    return "done"
