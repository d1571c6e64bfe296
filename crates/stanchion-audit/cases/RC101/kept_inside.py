# also: RC302
# What was read stands deep inside of objects, and one of two is taken.
import json
from dataclasses import dataclass, field
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("leaves")
PATH = Path("/srv/tree.json")


@dataclass
class Leaf:
    text: str


@dataclass
class Branch:
    leaves: list[Leaf] = field(default_factory=list)


@dataclass
class Tree:
    branches: list[Branch] = field(default_factory=list)


def load() -> Tree:
    if PATH.exists():
        return Tree(branches=[Branch(leaves=[Leaf(text=one) for one in json.loads(PATH.read_text())])])
    return Tree()


@mcp.tool()
def grow(text: str) -> str:
    tree = load()
    tree.branches.append(Branch(leaves=[Leaf(text=text)]))
    PATH.write_text(str(tree))  # expect: RC101 read=30
    return "done"
