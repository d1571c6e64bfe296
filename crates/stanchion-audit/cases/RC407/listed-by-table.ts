// also: RC302
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFile, writeFile } from "node:fs/promises";

const loadTool = { name: "load", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };
const saveTool = { name: "save", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } };

const handlers: Record<string, (given: any) => Promise<string>> = {
  load: async () => readFile("a.txt", "utf8"),
  save: async (given) => {
    await writeFile("a.txt", String(given.text)); // expect: RC407
    return "saved";
  },
};

export async function serve() {
  const server = new Server({ name: "n", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [loadTool, ...[saveTool]] }));
  server.setRequestHandler(CallToolRequestSchema, async (request) => {
    const { name, arguments: given } = request.params;
    const handler = handlers[name];
    if (!handler) {
      throw new Error("unknown tool");
    }
    return { content: [{ type: "text", text: await handler(given) }] };
  });
}
