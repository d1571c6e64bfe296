// also: RC302, RC304, RC101, RC104
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";

const FILE = "/home/agent/.prefs.json";
const cache: Record<string, string> = JSON.parse(readFileSync(FILE, "utf8"));

function flush() {
  writeFileSync(FILE, JSON.stringify(cache)); // expect: RC107 read=7
}

const server = new McpServer({ name: "prefs", version: "1.0.0" });

server.tool("set", { key: z.string(), value: z.string() }, async ({ key, value }) => {
  cache[key] = value;
  flush();
  return { content: [{ type: "text", text: "ok" }] };
});
