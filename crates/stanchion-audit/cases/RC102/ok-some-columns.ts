import Database from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const db = new Database("/var/lib/desk/desk.db");
const server = new McpServer({ name: "desk", version: "1" });
let current: number | null = null;

function present() {
  if (!current) {
    const last: any = db.prepare("SELECT * FROM desks ORDER BY used_at DESC LIMIT 1").get();
    if (last) current = last.id;
  }
  return current;
}

function change(id: any, fields: Record<string, unknown>) {
  const names = Object.keys(fields);
  const values = names.map((name) => fields[name]);
  db.prepare(`UPDATE desks SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = ?`).run(...values, id);
}

server.tool("place", {}, async ({ room }: any) => {
  change(present(), { room });
  return { content: [] };
});
