// also: RC401
// Rows are removed and put back while they are locked, or in one go of a database that does not pause.
import Database from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Pool } from "pg";
import { z } from "zod";

const server = new McpServer({ name: "hives", version: "1" });
const pool = new Pool();
const db = new Database("/srv/hives.db");

server.tool("drop", { hive: z.string(), name: z.string() }, async ({ hive, name }) => {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query("SELECT name, text FROM frames WHERE hive = $1 FOR UPDATE", [hive]);
    await client.query("DELETE FROM frames WHERE hive = $1", [hive]);
    for (const row of rows.filter((row) => row.name !== name)) {
      await client.query("INSERT INTO frames (hive, name, text) VALUES ($1, $2, $3)", [hive, row.name, row.text]);
    }
    await client.query("COMMIT");
  } finally {
    client.release();
  }
  return { content: [] };
});

const sort = db.transaction((hive: string) => {
  const lids = db.prepare("SELECT text FROM lids WHERE hive = ?").all(hive);
  db.prepare("DELETE FROM lids WHERE hive = ?").run(hive);
  for (const lid of lids.sort()) {
    db.prepare("INSERT INTO lids (hive, text) VALUES (?, ?)").run(hive, lid.text);
  }
});

server.tool("sort", { hive: z.string() }, async ({ hive }) => {
  sort(hive);
  return { content: [] };
});
