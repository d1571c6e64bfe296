# also: RC302
import json
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("graph")
FILE = Path("/data/graph.jsonl")


def load() -> dict:
    graph = {"things": [], "links": []}
    with open(FILE) as lines:
        for line in lines:
            item = json.loads(line)
            if item["kind"] == "thing":
                graph["things"].append(item)
            else:
                graph["links"].append(item)
    return graph


def save(graph: dict) -> None:
    lines = [json.dumps(thing) for thing in graph["things"]]
    lines += [json.dumps(link) for link in graph["links"]]
    with open(FILE, "w") as file:
        file.write("\n".join(lines))


@mcp.tool()
def add(thing: dict) -> str:
    graph = load()
    graph["things"].append(thing)
    save(graph)  # expect: RC101 read=32
    return "added"
