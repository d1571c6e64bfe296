// also: RC302, RC107, RC406
// A mark is looked at, but not set: two writes can still run at once.
import { readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const seats: Record<string, string> = {};
let over = false;

async function keep() {
  if (over) return;
  await writeFile("/data/seats.json", JSON.stringify(seats)); // expect: RC108
}

const server = new McpServer({ name: "seats", version: "1.0.0" });
server.registerTool("take", {}, async ({ seat, name }) => {
  seats[seat] = name;
  keep();
  return { content: [] };
});
process.on("SIGTERM", () => {
  over = true;
});
server.registerTool("kept", {}, async () => ({
  content: [{ type: "text", text: await readFile("/data/seats.json", "utf8") }],
}));
