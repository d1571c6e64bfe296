// also: RC302
// What the caller gives is another file than the one that is written.
import { readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const FILE = "/data/settings.json";
const TEMPLATE = "/usr/share/settings.json";
const server = new McpServer({ name: "settings", version: "1" });

async function load(path?: string) {
  const file = path ?? FILE;
  return JSON.parse(await readFile(file, "utf8"));
}

server.registerTool("show", {}, async () => ({ content: [{ type: "text", text: JSON.stringify(await load()) }] }));

server.registerTool("reset", {}, async ({ name }) => {
  const settings = await load(TEMPLATE);
  settings.name = name;
  await writeFile(FILE, JSON.stringify(settings));
  return { content: [] };
});
