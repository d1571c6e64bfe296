// The table is in memory: only calls of this process can come in between, and only where one pauses.
import initSqlJs, { Database } from "sql.js";
import { readFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

class Store {
  private db: Database | undefined;
  async open() {
    const SQL = await initSqlJs();
    this.db = new SQL.Database(readFileSync("/usr/share/words.db"));
  }
  count(id: string) {
    const stmt = this.db!.prepare("SELECT n FROM c WHERE id = ?");
    stmt.bind([id]);
    stmt.step();
    const n = stmt.getAsObject().n as number;
    stmt.free();
    this.db!.run("UPDATE c SET n = ? WHERE id = ?", [n + 1, id]);
  }
  async slow(id: string) {
    const rows = this.db!.exec("SELECT n FROM c WHERE id = ?", [id]);
    const more = await fetch("https://counts.example/" + id).then((answer) => answer.json());
    this.db!.run("UPDATE c SET n = ? WHERE id = ?", [rows[0].values[0][0] + more, id]); // expect: RC102 read=22
  }
}

const store = new Store();
await store.open();
const server = new McpServer({ name: "words", version: "1" });
server.tool("count", { id: z.string() }, async ({ id }) => {
  store.count(id);
  await store.slow(id);
  return { content: [] };
});
