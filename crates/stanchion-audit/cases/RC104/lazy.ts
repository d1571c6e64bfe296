import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Pool } from "pg";

const server = new McpServer({ name: "rows", version: "1.0.0" });
let pool: Pool | undefined;

async function connected() {
  if (!pool) {
    const made = new Pool();
    await made.query("SELECT 1");
    pool = made; // expect: RC104 read=8
  }
  return pool;
}

server.registerTool("rows", {}, async () => {
  const { rows } = await (await connected()).query("SELECT * FROM items");
  return { content: [{ type: "text", text: JSON.stringify(rows) }] };
});
