# also: RC302
import json
from pathlib import Path

from filelock import FileLock
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("tasks")


class Tasks:
    def __init__(self, path: Path):
        self.path = path
        self.lock = FileLock(str(path) + ".lock")

    def add(self, title: str) -> int:
        with self.lock:
            tasks = json.loads(self.path.read_text())
            tasks.append(title)
            self.path.write_text(json.dumps(tasks))
            return len(tasks)


tasks = Tasks(Path("/data/tasks.json"))


@mcp.tool()
def add_task(title: str) -> int:
    return tasks.add(title)
