import Database from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const db = new Database("/var/lib/desk/desk.db");
const server = new McpServer({ name: "desk", version: "1" });

function change(id: number, fields: Record<string, unknown>) {
  const names = Object.keys(fields);
  const values = names.map((name) => fields[name]);
  db.prepare(`UPDATE desks SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = ?`).run(...values, id);
}

server.tool("raise", {}, async ({ id, by }: any) => {
  const desk: any = db.prepare("SELECT * FROM desks WHERE id = ?").get(id);
  await new Promise((done) => setTimeout(done, 1));
  change(id, { height: desk.height + by }); // expect: RC102 read=14
  return { content: [] };
});
