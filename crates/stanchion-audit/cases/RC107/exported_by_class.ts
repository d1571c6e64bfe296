// also: RC304
import initSqlJs, { Database } from "sql.js";
import * as fs from "fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

export class MemoryStore {
  private db!: Database;
  constructor(private readonly dbPath: string) {}

  async init(): Promise<void> {
    const SQL = await initSqlJs({ locateFile: (f) => `/usr/lib/${f}` });
    try {
      const data = await fs.readFile(this.dbPath);
      this.db = new SQL.Database(new Uint8Array(data));
    } catch {
      this.db = new SQL.Database();
    }
    this.db.exec("CREATE TABLE IF NOT EXISTS m (k TEXT PRIMARY KEY, v TEXT)");
  }

  private async persist(): Promise<void> {
    const data = this.db.export();
    await fs.writeFile(this.dbPath, Buffer.from(data)); // expect: RC107 read=14, RC302
  }

  async put(k: string, v: string) {
    const stmt = this.db.prepare("INSERT OR REPLACE INTO m VALUES (?, ?)");
    stmt.run([k, v]);
    stmt.free();
    await this.persist();
  }
}

const store = new MemoryStore("/data/memory.db");
await store.init();
const server = new McpServer({ name: "m", version: "1" });
server.registerTool("put", { inputSchema: { k: z.string(), v: z.string() } }, async ({ k, v }) => {
  await store.put(k, v);
  return { content: [] };
});
