import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import fs from "node:fs";

const server = new McpServer({ name: "n", version: "1" });
server.tool("mv", {}, async ({ from, to }: any) => {
  if (fs.existsSync(to)) throw new Error("taken");
  fs.renameSync(from, to); // expect: RC301 read=6
  return { content: [] };
});
