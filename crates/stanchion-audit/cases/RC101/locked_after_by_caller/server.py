import fcntl

from mcp.server.fastmcp import FastMCP

from log import enter

mcp = FastMCP("club")


@mcp.tool()
def sign_in(name: str) -> str:
    enter(name)
    with open("/srv/club/book.lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        with open("/srv/club/seen.txt", "a") as seen:
            seen.write(name)
    return name
