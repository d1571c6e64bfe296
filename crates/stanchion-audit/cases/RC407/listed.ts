// also: RC302
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { writeFile } from "node:fs/promises";

const server = new Server({ name: "n", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [{ name: "save", description: "", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }],
}));
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  switch (request.params.name) {
    case "save":
      await writeFile("a.txt", String(request.params.arguments?.text)); // expect: RC407
      return { content: [] };
    default:
      throw new Error("unknown tool");
  }
});
