// also: RC302
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFile, writeFile } from "node:fs/promises";
const save = { name: "save", annotations: { readOnlyHint: true }, handler: async (a: any) => { await writeFile("a.txt", a.text); } }; // expect: RC407
const tools = [
  { name: "load", annotations: { readOnlyHint: true }, handler: async () => readFile("a.txt", "utf8") },
  save,
];
const server = new Server({ name: "p1", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: tools.map(({ name, annotations }) => ({ name, annotations })) }));
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const { name, arguments: given } = request.params;
  const tool = tools.find((t) => t.name === name);
  if (!tool) throw new Error("unknown tool");
  return { content: [{ type: "text", text: JSON.stringify(await tool.handler(given)) }] };
});
