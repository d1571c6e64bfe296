import initSqlJs from "sql.js";
import fs from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const SQL = await initSqlJs();
const db = new SQL.Database(fs.readFileSync("/data/words.db"));
const server = new McpServer({ name: "words", version: "1" });
server.tool("find", { word: z.string() }, async ({ word }) => {
  return { content: db.exec("SELECT * FROM words WHERE word = ?", [word]) };
});
server.tool("copy", { to: z.string() }, async ({ to }) => {
  fs.writeFileSync(to, Buffer.from(db.export()), { flag: "wx" });
  return { content: [] };
});
