"""A library reads the file once, and what it gave is kept."""
from pathlib import Path

import planfile
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("plans")


class Plans:
    def __init__(self, path: Path):
        self.path = path
        self._plan = None

    def _loaded(self):
        if self._plan is None:
            self._plan = planfile.load(str(self.path))
        return self._plan

    def add(self, step: str) -> None:
        plan = self._loaded()
        plan.steps.append(step)
        self.path.write_text(planfile.dumps(plan))  # expect: RC107 read=17, RC302


plans = Plans(Path("/data/plan.txt"))


@mcp.tool()
def add(step: str) -> str:
    plans.add(step)
    return "added"
