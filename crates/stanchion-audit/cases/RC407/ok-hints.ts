import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { readFile, appendFile } from "node:fs/promises";
import { Pool } from "pg";
import { z } from "zod";

const pool = new Pool();
const server = new McpServer({ name: "notes", version: "1.0.0" });
const cache = new Map<string, string>();

server.registerTool("show", { inputSchema: { name: z.string() }, annotations: { readOnlyHint: true } }, async ({ name }) => {
  const text = cache.get(name) ?? (await readFile(`/data/${name}.md`, "utf8"));
  cache.set(name, text);
  return { content: [{ type: "text", text }] };
});

server.registerTool("append", { inputSchema: { line: z.string() }, annotations: { readOnlyHint: false, idempotentHint: false } }, async ({ line }) => {
  await appendFile("/data/log.txt", line);
  return { content: [] };
});

server.registerTool("archive", { inputSchema: { id: z.string() }, annotations: { idempotentHint: true } }, async ({ id }) => {
  await pool.query("UPDATE notes SET archived = true WHERE id = $1", [id]);
  return { content: [] };
});
