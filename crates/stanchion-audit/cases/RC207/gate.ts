import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

class D {
  private w: Promise<unknown> | null = null;

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.w) await this.w;
    const mine = work();
    this.w = mine; // expect: RC207 read=7
    try {
      return await mine;
    } finally {
      this.w = null;
    }
  }
}

const d = new D();
const server = new McpServer({ name: "d", version: "1.0.0" });

server.tool("sync", {}, async () => {
  await d.run(async () => {
    await fetch("https://sink.example/sync", { method: "PUT" });
  });
  return { content: [] };
});
