// also: RC302
// Found by going through a folder, and written back under the name that the file's own text says.
import { promises as fs } from "node:fs";
import path from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server = new McpServer({ name: "hives", version: "1" });
const FOLDER = "/srv/hives";

async function hives(): Promise<any[]> {
  const names = await fs.readdir(FOLDER);
  const all = [];
  for (const name of names) {
    all.push(JSON.parse(await fs.readFile(path.join(FOLDER, name), "utf8")));
  }
  return all;
}

server.tool("feed", { name: z.string() }, async ({ name }) => {
  for (const hive of await hives()) {
    if (hive.name === name) {
      hive.fed = true;
      await fs.writeFile(path.join(FOLDER, `${hive.name}.json`), JSON.stringify(hive)); // expect: RC101 read=21
    }
  }
  return { content: [{ type: "text", text: "done" }] };
});
