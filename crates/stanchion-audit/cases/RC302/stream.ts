// A stream that begins the file anew.
import { createWriteStream, readFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const PLAN = "/data/plan.txt";

const server = new McpServer({ name: "plan", version: "1.0.0" });
server.registerTool("plan", {}, async ({ text }) => {
  const out = createWriteStream(PLAN, { mode: 0o600 });
  out.end(text); // expect: RC302
  return { content: [] };
});
server.registerTool("planned", {}, async () => ({ content: [{ type: "text", text: readFileSync(PLAN, "utf8") }] }));
