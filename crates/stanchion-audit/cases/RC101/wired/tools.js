import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

export function made(kept) {
  const server = new McpServer({ name: "lists", version: "1.0.0" });
  server.registerTool("add", {}, async ({ item }) => {
    const all = await kept.k1();
    all.push(item);
    await kept.k2(all);
    return { content: [] };
  });
  return server;
}
