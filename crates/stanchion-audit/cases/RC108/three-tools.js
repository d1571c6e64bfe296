// also: RC302, RC107, RC101
// Three tools start the same write: that is one mistake.
import { readFile, writeFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const server = new McpServer({ name: "lamps", version: "1.0.0" });
const lamps = {};
let mode = "calm";

async function keep() {
  await writeFile("/data/lamps.json", JSON.stringify({ lamps, mode })); // expect: RC108
}

server.registerTool("on", {}, async ({ lamp }) => {
  lamps[lamp] = true;
  keep();
  return { content: [] };
});
server.registerTool("off", {}, async ({ lamp }) => {
  lamps[lamp] = false;
  keep();
  return { content: [] };
});
server.registerTool("party", {}, async () => {
  mode = "party";
  keep();
  return { content: [] };
});
server.registerTool("kept", {}, async () => ({
  content: [{ type: "text", text: await readFile("/data/lamps.json", "utf8") }],
}));
