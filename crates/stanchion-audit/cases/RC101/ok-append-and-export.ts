import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

const LOG = path.join("/var/log/agent", "visits.jsonl");
const server = new McpServer({ name: "visits", version: "1.0.0" });

server.tool("visit", { url: z.string() }, async ({ url }) => {
  await appendFile(LOG, JSON.stringify({ url, at: Date.now() }) + "\n");
  return { content: [] };
});

server.tool("report", { month: z.string() }, async ({ month }) => {
  const text = await readFile(LOG, "utf8");
  const visits = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const target = path.join("/srv/reports", `${month}.csv`);
  await writeFile(target, visits.map((v) => `${v.at},${v.url}`).join("\n"));
  return { content: [{ type: "text", text: target }] };
});
