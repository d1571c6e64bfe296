import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

let m = 100;

async function n(amount: number): Promise<boolean> {
  const response = await fetch(`https://audit.example/check?amount=${amount}`);
  return response.ok;
}

const server = new McpServer({ name: "credits", version: "1.0.0" });

server.tool("spend", { amount: z.number() }, async ({ amount }) => {
  const before = m;
  if (before < amount) return { content: [{ type: "text", text: "no" }] };
  if (!(await n(amount))) return { content: [{ type: "text", text: "refused" }] };
  m = before - amount; // expect: RC104 read=14
  return { content: [{ type: "text", text: String(m) }] };
});
