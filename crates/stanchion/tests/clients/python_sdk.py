"""Calls `append` twice under one key through the official Python SDK: python_sdk.py LEDGER KEY COMMAND ARGS...

Prints one JSON object: the names of the tools, and each call's text and replay mark.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(ledger: str, key: str, command: list[str]) -> None:
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()
        calls = []
        for _ in range(2):
            result = await session.call_tool(
                "append", {"file": ledger, "line": "python"}, meta={"dev.stanchion/idempotencyKey": key}
            )
            calls.append({"text": result.content[0].text, "replayed": (result.meta or {}).get("dev.stanchion/replayed", False)})
        print(json.dumps({"tools": [tool.name for tool in tools.tools], "calls": calls}))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
