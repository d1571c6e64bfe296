// The new file is whole, but the old one is gone before it is in its place.
import { randomUUID } from "node:crypto";
import { promises as fs } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const server = new McpServer({ name: "hives", version: "1" });

server.tool("put", { text: z.string() }, async ({ text }) => {
  const fresh = `/srv/hives.${randomUUID()}`;
  await fs.writeFile(fresh, text);
  await fs.rm("/srv/hives.txt", { force: true });
  await fs.rename(fresh, "/srv/hives.txt"); // expect: RC302
  return { content: [] };
});

server.tool("show", {}, async () => {
  return { content: [{ type: "text", text: await fs.readFile("/srv/hives.txt", "utf8") }] };
});
