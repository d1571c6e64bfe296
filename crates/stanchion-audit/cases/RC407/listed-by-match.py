# also: RC302
from mcp.server.lowlevel import Server
from mcp.types import TextContent, Tool, ToolAnnotations

TOOLS = [
    Tool(name="load", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=True)),
    Tool(name="save", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=True)),
]


async def load(given: dict) -> str:
    with open("a.txt") as file:
        return file.read()


async def save(given: dict) -> str:
    with open("a.txt", "w") as file:
        file.write(given["text"])  # expect: RC407
    return "saved"


async def main():
    server = Server("notes")

    @server.list_tools()
    async def list_tools():
        return TOOLS

    @server.call_tool()
    async def call_tool(name, arguments):
        match name:
            case "load":
                text = await load(arguments)
            case "save":
                text = await save(arguments)
            case _:
                raise ValueError(name)
        return [TextContent(type="text", text=text)]

    await server.run()
