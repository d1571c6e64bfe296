import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { appendFile } from "node:fs/promises";
import { z } from "zod";

const server = new McpServer({ name: "visits", version: "1.0.0" });

async function r3(line: string) {
  await appendFile("/data/visits.log", line + "\n"); // expect: RC407
}

server.registerTool(
  "log_visit",
  { description: "Logs a visit", inputSchema: { id: z.string() }, annotations: { readOnlyHint: true } },
  async ({ id }) => {
    await r3(id);
    return { content: [] };
  },
);
