# also: RC302
import os

from mcp.server import Server

server = Server("csv")
ROOT = os.environ.get("CSV_ROOT", "/srv/csv")


def where(name):
    return os.path.join(ROOT, name)


def take(name):
    with open(where(name)) as f:
        return f.readlines()


def give(name, lines):
    with open(where(name), "w") as f:
        f.writelines(lines)  # expect: RC101 read=16


@server.call_tool()
async def call_tool(name, arguments):
    if name == "replace_line":
        lines = take(arguments["file"])
        lines[arguments["line"]] = arguments["text"] + "\n"
        give(arguments["file"], lines)
        return [{"type": "text", "text": "ok"}]
    raise ValueError(name)
