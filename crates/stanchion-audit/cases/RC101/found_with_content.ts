// also: RC302
// What a file holds is found together with its path.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const server = new McpServer({ name: "hives", version: "1" });
const FOLDER = "/srv/hives";

function find(name: string) {
  const found: [string, Record<string, unknown>][] = [];
  for (const entry of readdirSync(FOLDER)) {
    const path = join(FOLDER, entry);
    if (entry.startsWith(name)) found.push([path, JSON.parse(readFileSync(path, "utf8"))]);
  }
  return found[0];
}

server.registerTool("rename", {}, async ({ name, to }) => {
  const [path, hive] = find(name);
  hive.name = to;
  writeFileSync(path, JSON.stringify(hive)); // expect: RC101 read=14
  return { content: [] };
});
