# also: RC302
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("log book")
BOOK = Path("/data/book.jsonl")


def pages():
    found = []
    with open(BOOK) as f:
        for line in f:
            found.append(json.loads(line))
    return found


def lines():
    with BOOK.open() as f:
        return [json.loads(line) for line in f]


def bind(all):
    with open(BOOK, "w") as f:
        for page in all:
            f.write(json.dumps(page) + "\n")  # expect: RC101 read=14, RC101 read=21


@mcp.tool()
def add(text: str) -> str:
    all = pages()
    all.append({"text": text})
    bind(all)
    return "ok"


@mcp.tool()
def drop(number: int) -> str:
    bind([page for page in lines() if page["number"] != number])
    return "ok"
