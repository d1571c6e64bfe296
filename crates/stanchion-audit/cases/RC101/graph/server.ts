import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Box, Entity } from "./store.js";

class Manager {
  private box: Box;
  constructor(path: string) {
    this.box = new Box(path);
  }

  async c(entities: Entity[]): Promise<Entity[]> {
    const graph = await this.box.a();
    const fresh = entities.filter((e) => !graph.entities.some((old) => old.name === e.name));
    graph.entities.push(...fresh);
    await this.box.b(graph);
    return fresh;
  }
}

const manager = new Manager(process.env.MEMORY_FILE_PATH ?? "memory.jsonl");
const server = new Server({ name: "memory", version: "0.6.3" }, { capabilities: { tools: {} } });

server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const { name, arguments: args } = request.params;
  switch (name) {
    case "create_entities":
      return { content: [{ type: "text", text: JSON.stringify(await manager.c(args.entities)) }] };
    default:
      throw new Error(`Unknown tool: ${name}`);
  }
});
