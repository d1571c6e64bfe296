// also: RC302
// Each tool says what it does; what is written for all of them is none of theirs.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { appendFile, readFile, writeFile } from "node:fs/promises";

const server = new Server({ name: "n", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [
    { name: "load", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
    { name: "stat", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
    { name: "save", inputSchema: { type: "object" }, annotations: { readOnlyHint: false, idempotentHint: true } },
    { name: "note", inputSchema: { type: "object" }, annotations: { readOnlyHint: false } },
  ],
}));
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const { name, arguments: given } = request.params;
  await appendFile("calls.log", `${name}\n`);
  if (name !== "stat") {
    await appendFile("calls.log", "…");
  }
  switch (name) {
    case "load":
    case "save": {
      const text = await readFile("a.txt", "utf8");
      if (name === "save") {
        await writeFile("a.txt", String(given?.text));
      }
      return { content: [{ type: "text", text }] };
    }
    case "stat":
      return { content: [] };
    default:
      await appendFile("notes.txt", String(given?.text));
      return { content: [] };
  }
});
