// also: RC302, RC201, RC101
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Mutex } from "async-mutex";
import fs from "node:fs/promises";
import { z } from "zod";

const FILE = "/data/list.json";
const server = new McpServer({ name: "list", version: "1.0.0" });

server.tool("push", { item: z.string() }, async ({ item }) => {
  const mutex = new Mutex();
  return mutex.runExclusive(async () => { // expect: RC206
    const list = JSON.parse(await fs.readFile(FILE, "utf8"));
    list.push(item);
    await fs.writeFile(FILE, JSON.stringify(list));
    return { content: [] };
  });
});
