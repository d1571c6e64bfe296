import initSqlJs from "sql.js";
import fs from "node:fs";
import path from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const DB_PATH = path.join(process.env.HOME!, ".notes", "notes.db");
const SQL = await initSqlJs();
const db = fs.existsSync(DB_PATH) ? new SQL.Database(fs.readFileSync(DB_PATH)) : new SQL.Database();
db.run("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE)");

function save() {
  fs.writeFileSync(DB_PATH, Buffer.from(db.export())); // expect: RC107 read=9, RC302
}

const server = new McpServer({ name: "notes", version: "1" });
server.tool("add", { body: z.string() }, async ({ body }) => {
  // Nobody else has this table: it is in memory, and nothing pauses in between.
  const same = db.exec("SELECT id FROM notes WHERE body = ?", [body]);
  if (same.length === 0) db.run("INSERT INTO notes (body) VALUES (?)", [body]);
  save();
  return { content: [{ type: "text", text: "ok" }] };
});
