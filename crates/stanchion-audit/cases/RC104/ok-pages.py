# A cache: what is thrown away needs no farewell, and whoever fetches it twice has it twice.
from mcp.server.fastmcp import FastMCP
from wire import Page

mcp = FastMCP("pages")
pages: dict[str, Page] = {}


async def page(url: str) -> Page:
    if url in pages:
        return pages[url]
    made = Page(url)
    await made.fill()
    pages[url] = made
    return made


@mcp.tool()
async def read(url: str) -> str:
    return (await page(url)).text


@mcp.tool()
async def forget(url: str) -> str:
    pages.pop(url, None)
    return "forgotten"
