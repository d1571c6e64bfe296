// also: RC302
// Each of them does what it says; what is found in another way may be any of them.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFile, writeFile } from "node:fs/promises";

const tools = [
  { name: "load", annotations: { readOnlyHint: true }, handler: async () => readFile("a.txt", "utf8") },
  {
    name: "save",
    annotations: { readOnlyHint: false },
    handler: async (given: any) => {
      await writeFile("a.txt", given.text);
    },
  },
];

const server = new Server({ name: "n", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: tools.map(({ name, annotations }) => ({ name, annotations })),
}));
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const { name, arguments: given } = request.params;
  const tool = tools.find((t) => t.name === name) ?? tools.find((t) => t.name.startsWith(name));
  if (!tool) throw new Error("unknown tool");
  return { content: [{ type: "text", text: JSON.stringify(await tool.handler(given)) }] };
});
