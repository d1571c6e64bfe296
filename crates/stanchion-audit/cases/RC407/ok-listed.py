# also: RC302
# Two servers have a tool of the same name, and what two names lead to is not known to be of one.
from mcp.server import Server
from mcp.types import Tool, ToolAnnotations


async def reads():
    server = Server("reads")

    @server.list_tools()
    async def list_tools():
        return [
            Tool(name="save", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=True)),
            Tool(name="load", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=True)),
        ]

    @server.call_tool()
    async def call_tool(name, arguments):
        if name in ("save", "load"):
            with open("a.txt") as file:
                return file.read()
        with open("others.txt", "a") as file:
            file.write(name)


async def writes():
    server = Server("writes")

    @server.list_tools()
    async def list_tools():
        return [Tool(name="save", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=False))]

    @server.call_tool()
    async def call_tool(name, arguments):
        if name == "save":
            with open("a.txt", "w") as file:
                file.write(arguments["text"])
