// The size is asked for anew, but it is added to what was there before.
import { stat } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

class Quota {
  used = 0;

  async take(path: string) {
    const before = this.used;
    const { size } = await stat(path);
    this.used = before + size; // expect: RC104 read=9
  }
}

const quota = new Quota();
const server = new McpServer({ name: "quota", version: "1.0.0" });
server.registerTool("take", {}, async ({ path }) => {
  await quota.take(path);
  return { content: [] };
});
