import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Pool } from "pg";
import { z } from "zod";

const pool = new Pool();
const server = new McpServer({ name: "orders", version: "1.0.0" });

server.registerTool(
  "order",
  { inputSchema: { sku: z.string() }, annotations: { idempotentHint: true, readOnlyHint: false } },
  async ({ sku }) => {
    const { rows } = await pool.query("INSERT INTO orders (sku) VALUES ($1) RETURNING id", [sku]); // expect: RC407
    return { content: [{ type: "text", text: String(rows[0].id) }] };
  },
);
