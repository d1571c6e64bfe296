# also: RC302
import json
import os
from pathlib import Path

import aiofiles
from fastmcp import FastMCP

mcp = FastMCP("sessions")
BASE = Path(os.getenv("BASE", "."))


class Sessions:
    def __init__(self, base: Path = BASE):
        self.base = base

    def _file(self, sid: str) -> Path:
        return self.base / sid / "state.json"

    async def load(self, sid: str) -> dict:
        f = self._file(sid)
        if not f.exists():
            return {}
        async with aiofiles.open(f) as h:
            return json.loads(await h.read())

    async def store(self, sid: str, state: dict) -> None:
        f = self._file(sid)
        f.parent.mkdir(parents=True, exist_ok=True)
        async with aiofiles.open(f, "w") as h:
            await h.write(json.dumps(state))  # expect: RC101 read=25

    async def update(self, sid: str, **changes) -> dict:
        state = await self.load(sid)
        state.update(changes)
        await self.store(sid, state)
        return state


sessions = Sessions()


@mcp.tool
async def set_title(sid: str, title: str) -> dict:
    """Sets the title."""
    return await sessions.update(sid, title=title)
