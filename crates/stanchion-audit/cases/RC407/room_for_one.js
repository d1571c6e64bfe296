// Called again, it adds another one: what is deleted are old ones.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createClient } from "@libsql/client";

const client = createClient({ url: "file:birds.db" });
const server = new McpServer({ name: "birds", version: "1.0.0" });

server.registerTool("hear_call", { annotations: { idempotentHint: true } }, async ({ bird_id, sound }) => {
  await client.execute("DELETE FROM calls WHERE heard < date('now', '-7 days')");
  await client.execute({ sql: "INSERT INTO calls (bird_id, sound) VALUES (?, ?)", args: [bird_id, sound] }); // expect: RC407
  return { content: [] };
});
