// also: RC401
// Rows are read, all of them removed, and those that are wanted put back: what has come in between is gone.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Pool } from "pg";
import { z } from "zod";

const server = new McpServer({ name: "hives", version: "1" });
const pool = new Pool();

server.tool("drop", { hive: z.string(), name: z.string() }, async ({ hive, name }) => {
  const { rows } = await pool.query("SELECT name, text FROM frames WHERE hive = $1", [hive]);
  await pool.query("DELETE FROM frames WHERE hive = $1", [hive]);
  for (const row of rows.filter((row) => row.name !== name)) {
    await pool.query("INSERT INTO frames (hive, name, text) VALUES ($1, $2, $3)", [hive, row.name, row.text]); // expect: RC102 read=11
  }
  return { content: [] };
});
