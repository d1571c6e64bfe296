// also: RC302, RC107, RC406
// Nobody waits, but whoever comes while one is being written is sent away: two never run at once.
import { readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const seats: Record<string, string> = {};
let writing = false;

async function keep() {
  if (writing) return;
  writing = true;
  try {
    await writeFile("/data/seats.json", JSON.stringify(seats));
  } finally {
    writing = false;
  }
}

setInterval(() => {
  keep();
}, 5000);

const server = new McpServer({ name: "seats", version: "1.0.0" });
server.registerTool("take", {}, async ({ seat, name }) => {
  seats[seat] = name;
  return { content: [] };
});
server.registerTool("kept", {}, async () => ({
  content: [{ type: "text", text: await readFile("/data/seats.json", "utf8") }],
}));
