# also: RC302
# The tools are objects, and one of them is taken by its name.
from mcp.server import Server
from mcp.types import Tool, ToolAnnotations


class Load:
    def describe(self) -> Tool:
        return Tool(name="load", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=True))

    def run(self, given: dict) -> str:
        with open("a.txt") as file:
            return file.read()


class Save:
    def describe(self) -> Tool:
        return Tool(name="save", inputSchema={}, annotations=ToolAnnotations(readOnlyHint=True))

    def run(self, given: dict) -> str:
        with open("a.txt", "w") as file:
            file.write(given["text"])  # expect: RC407
        return "saved"


server = Server("notes")
tools = {"load": Load(), "save": Save()}


@server.list_tools()
async def list_tools():
    return [tools["load"].describe(), tools["save"].describe()]


@server.call_tool()
async def call_tool(name, arguments):
    if name not in tools:
        raise ValueError(name)
    return tools[name].run(arguments)
