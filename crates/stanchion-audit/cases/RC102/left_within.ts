import Database from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const db = new Database("/data/jobs.db");
const server = new McpServer({ name: "jobs", version: "1" });

server.registerTool("take", {}, async ({ id, who }) => {
  const job = db.prepare("SELECT state, owner FROM jobs WHERE id = ?").get(id);
  if (job) {
    if (job.state !== "open") {
      throw new Error("not open");
    }
  }
  await notify(who);
  db.prepare("UPDATE jobs SET state = ?, owner = ? WHERE id = ?").run("taken", who, id); // expect: RC102 read=8
  return { content: [] };
});

async function notify(who: string) {
  await fetch(`https://example.com/${who}`);
}
