import { readFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const words: string[] = JSON.parse(readFileSync("/usr/share/words.json", "utf8"));
const seen = new Map<string, number>();

const server = new McpServer({ name: "words", version: "1.0.0" });

server.tool("lookup", { word: z.string() }, async ({ word }) => {
  seen.set(word, (seen.get(word) ?? 0) + 1);
  await appendFile("/var/log/lookups.log", word + "\n");
  return { content: [{ type: "text", text: String(words.includes(word)) }] };
});
