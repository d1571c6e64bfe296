"""FastMCP's own proxy: PORT COMMAND ARGS, Streamable HTTP in front of a stdio server."""

import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

port, command, args = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
proxy = create_proxy(StdioTransport(command=command, args=args), name="echo")
proxy.run(transport="http", host="127.0.0.1", port=port, path="/mcp", show_banner=False, log_level="error")
