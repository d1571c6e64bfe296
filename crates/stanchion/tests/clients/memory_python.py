"""Uses a memory server through the official Python SDK: memory_python.py COMMAND ARGS...

Prints one JSON object: the tools, what a search found, what a wrong call was told, and the resource in the end.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command: list[str]) -> None:
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()

        async def call(tool: str, arguments: dict):
            result = await session.call_tool(tool, arguments)
            return result.model_dump(by_alias=True)

        def person(name: str) -> dict:
            return {"name": name, "entityType": "person", "observations": ["first"]}

        await call("create_entities", {"entities": [person("Ada"), person("Brook")]})
        await call("create_relations", {"relations": [{"from": "Ada", "to": "Brook", "relationType": "knows"}]})
        await call("add_observations", {"observations": [{"entityName": "Ada", "contents": ["second"]}]})
        found = await call("search_nodes", {"query": "SECOND"})
        refused = await call("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]})
        await call("delete_entities", {"entityNames": ["Brook"]})
        resource = await session.read_resource("memory://knowledge-graph")
        report = {
            "tools": [tool.name for tool in tools.tools],
            "found": found["structuredContent"],
            "refused": refused["content"][0]["text"] if refused["isError"] else None,
            "resource": resource.contents[0].text,
        }
        print(json.dumps(report))


asyncio.run(main(sys.argv[1:]))
