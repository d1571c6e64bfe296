"""The library is given the path, but nothing of the file comes back."""
import ast
from pathlib import Path

import audittrail
import pathkit
import renderer
import store_here
from mcp.server.fastmcp import FastMCP
from rich.text import Text

mcp = FastMCP("pages")
ROOT = Path("/data/pages")


@mcp.tool()
def put(name: str, text: str) -> str:
    path = ROOT / f"{name}.md"
    # It is shown, hashed, normalised, and used as a key.
    audittrail.note(path)
    key = pathkit.digest(str(path))
    shown = pathkit.shorten(path)
    path.write_text(f"<!-- {key} {shown} -->\n{text}")
    return shown


@mcp.tool()
def render(name: str, text: str) -> str:
    path = ROOT / f"{name}.html"
    # What is loaded is the text, and the path says only where it will be.
    page = renderer.parse(str(path), text)
    path.write_text(page.html)
    return "done"


@mcp.tool()
def save(name: str, text: str) -> str:
    path = ROOT / f"{name}.bin"
    done = store_here.write(path, text)
    path.write_text(text if done else "")
    return "done"


@mcp.tool()
def copy(name: str, other: str) -> str:
    # Another file is read than is written.
    page = renderer.load(ROOT / f"{other}.md")
    (ROOT / f"{name}.copy").write_text(page.html)
    return "done"


@mcp.tool()
def label(name: str) -> str:
    path = ROOT / f"{name}.txt"
    # The language's own, and nothing that comes of it is written.
    tree = ast.parse(str(path))
    text = Text(str(path))
    path.write_text(ast.dump(tree))
    return str(text)
