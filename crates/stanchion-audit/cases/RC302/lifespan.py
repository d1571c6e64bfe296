import json
import os
from contextlib import asynccontextmanager

from mcp.server.fastmcp import FastMCP

TOKEN = os.environ.get("TOKEN_FILE", "token.json")


@asynccontextmanager
async def life(server):
    token = None
    if os.path.exists(TOKEN):
        with open(TOKEN) as f:
            token = json.load(f)
    yield {"token": token}
    with open(TOKEN, "w") as f:
        f.write(server.credentials())  # expect: RC302


mcp = FastMCP("sheets", lifespan=life)
