// also: RC101, RC302
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { cups } from "./cups.js";

const server = new McpServer({ name: "cups", version: "1.0.0" });
server.registerTool("fill", {}, async ({ cup, what }) => {
  cups.fill(cup, what);
  return { content: [] };
});
await server.connect(new StdioServerTransport());
