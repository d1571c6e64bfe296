// Called again, it deletes what it has inserted, and inserts the same.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createClient } from "@libsql/client";

const client = createClient({ url: "file:birds.db" });
const server = new McpServer({ name: "birds", version: "1.0.0" });

server.registerTool("set_calls", { annotations: { idempotentHint: true } }, async ({ bird_id, calls }) => {
  const work = await client.transaction("write");
  await work.execute({ sql: "DELETE FROM calls WHERE bird_id = ?", args: [bird_id] });
  for (const call of calls) {
    await work.execute({ sql: "INSERT INTO calls (bird_id, sound) VALUES (?, ?)", args: [bird_id, call] });
  }
  await work.commit();
  return { content: [] };
});
