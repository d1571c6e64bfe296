// also: RC302, RC304, RC104
import { readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const where = "/data/bookmarks.json";
let held: { urls: string[] } | undefined;

async function k1() {
  if (!held) {
    held = JSON.parse(await readFile(where, "utf8"));
  }
  return held!;
}

const server = new McpServer({ name: "bookmarks", version: "1.0.0" });

server.tool("bookmark", { url: z.string() }, async ({ url }) => {
  const state = await k1();
  state.urls.push(url);
  await writeFile(where, JSON.stringify(state)); // expect: RC107 read=11
  return { content: [] };
});
