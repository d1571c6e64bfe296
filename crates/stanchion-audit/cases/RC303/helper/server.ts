import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { h1 } from "./atomic.js";

const server = new McpServer({ name: "page", version: "1.0.0" });

server.tool("publish", { html: z.string() }, async ({ html }) => {
  await h1("/srv/www/index.html", html);
  return { content: [] };
});
