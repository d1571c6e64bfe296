import fcntl

from mcp.server.fastmcp import FastMCP

from log import enter

mcp = FastMCP("club")


@mcp.tool()
def sign_in(name: str) -> str:
    with open("/srv/club/book.lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        enter(name)
    return name
