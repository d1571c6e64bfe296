// also: RC302
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import fs from "node:fs/promises";
import { Mutex } from "async-mutex";
import { z } from "zod";

const FILE = "/home/agent/notes.json";
const guard = new Mutex();
const server = new McpServer({ name: "notes", version: "1.0.0" });

server.tool("add", { text: z.string() }, async ({ text }) => {
  return guard.runExclusive(async () => {
    const notes = JSON.parse(await fs.readFile(FILE, "utf8"));
    notes.push(text);
    await fs.writeFile(FILE, JSON.stringify(notes)); // expect: RC201 read=14
    return { content: [{ type: "text", text: "added" }] };
  });
});

await server.connect(new StdioServerTransport());
