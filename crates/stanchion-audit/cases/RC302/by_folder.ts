// also: RC101
// Written by its name, and read by whoever goes through the folder.
import { promises as fs } from "node:fs";
import path from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server = new McpServer({ name: "hives", version: "1" });
const FOLDER = "/srv/hives";

server.tool("put", { name: z.string(), text: z.string() }, async ({ name, text }) => {
  await fs.writeFile(path.join(FOLDER, `${name}.json`), JSON.stringify({ name, text })); // expect: RC302
  return { content: [] };
});

server.tool("show", {}, async () => {
  let text = "";
  for (const name of await fs.readdir(FOLDER)) {
    if (name.endsWith(".json")) {
      text += await fs.readFile(path.join(FOLDER, name), "utf8");
    }
  }
  return { content: [{ type: "text", text }] };
});
