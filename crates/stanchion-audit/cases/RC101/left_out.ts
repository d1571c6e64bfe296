// also: RC302
import { readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const FILE = "/data/settings.json";
const server = new McpServer({ name: "settings", version: "1" });

async function load(path?: string) {
  const file = path ?? FILE;
  return JSON.parse(await readFile(file, "utf8"));
}

async function save(settings: object, path = FILE) {
  await writeFile(path, JSON.stringify(settings)); // expect: RC101 read=10
}

server.registerTool("set", {}, async ({ name, value }) => {
  const settings = await load();
  settings[name] = value;
  await save(settings);
  return { content: [] };
});
