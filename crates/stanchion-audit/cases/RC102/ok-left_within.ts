// Whoever leaves inside looks at another column than those that are set.
import Database from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const db = new Database("/data/jobs.db");
const server = new McpServer({ name: "jobs", version: "1" });

server.registerTool("seen", {}, async ({ id, who }) => {
  const job = db.prepare("SELECT kind FROM jobs WHERE id = ?").get(id);
  if (job) {
    if (job.kind === "secret") {
      throw new Error("not for you");
    }
  }
  db.prepare("UPDATE jobs SET reader = ? WHERE id = ?").run(who, id);
  return { content: [] };
});
