// also: RC302
// A list of the module, names that are compared one by one, and a hint of one tool that is right.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFile, unlink, writeFile } from "node:fs/promises";

const TOOLS = [
  { name: "load", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "save", inputSchema: { type: "object" }, annotations: { readOnlyHint: true, idempotentHint: true } },
  { name: "drop", inputSchema: { type: "object" }, annotations: { readOnlyHint: false } },
];

async function save(text: string) {
  await writeFile("a.txt", text); // expect: RC407
  return { content: [] };
}

class Notes {
  private server = new Server({ name: "n", version: "1" }, { capabilities: { tools: {} } });

  constructor() {
    this.server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given } }) => {
      if (name === "load") {
        return { content: [{ type: "text", text: await readFile("a.txt", "utf8") }] };
      }
      if (name === "save" && given) {
        return await save(String(given.text));
      } else if (name === "drop") {
        await unlink("a.txt");
        return { content: [] };
      }
      throw new Error("unknown tool");
    });
    this.server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: TOOLS }));
  }
}

new Notes();
