# also: RC101
# Written by its name, and read by whoever goes through the folder.
import json
import os
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("hives")
FOLDER = Path("/srv/hives")
YARDS = Path("/srv/yards")


@mcp.tool()
def put(name: str, text: str) -> str:
    (FOLDER / f"{name}.json").write_text(json.dumps({"name": name, "text": text}))  # expect: RC302
    return "done"


@mcp.tool()
def put_yard(town: str, name: str) -> str:
    with open(YARDS / town / f"{name}.md", "w") as file:
        file.write(name)  # expect: RC302
    return "done"


@mcp.tool()
def show() -> list[str]:
    return [json.loads(path.read_text())["text"] for path in FOLDER.glob("*.json")]


@mcp.tool()
def yards() -> str:
    text = ""
    for path in sorted(YARDS.rglob("*.md")):
        text += path.read_text()
    return text


@mcp.tool()
def keep(name: str, text: str) -> str:
    with open(os.path.join("/srv/bees", name + ".txt"), "w") as file:
        file.write(text)  # expect: RC302
    return "done"


@mcp.tool()
def find(word: str) -> list[str]:
    found = []
    for root, folders, names in os.walk("/srv/bees"):
        for name in names:
            with open(os.path.join(root, name)) as file:
                if word in file.read():
                    found.append(name)
    return found
