import fcntl
import json
import os

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("two")


def take(path):
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock.fileno(), fcntl.LOCK_SH)
        with open(path) as f:
            return json.load(f)


def put(path, data):
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX)
        with open(path + ".new", "x") as f:
            json.dump(data, f)
        os.replace(path + ".new", path)


@mcp.tool()
def note(text: str) -> str:
    notes = take("/data/notes.json")
    notes.append(text)
    put("/data/notes.json", notes)  # expect: RC105 read=14
    return "ok"


@mcp.tool()
def tag(name: str) -> str:
    tags = take("/data/tags.json")
    tags.append(name)
    put("/data/tags.json", tags)  # expect: RC105 read=14
    return "ok"
