// Called again, it finds the row and updates it.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createClient } from "@libsql/client";

const client = createClient({ url: "file:birds.db" });
const server = new McpServer({ name: "birds", version: "1.0.0" });

server.registerTool("name_bird", { annotations: { idempotentHint: true } }, async ({ ring, name }) => {
  const work = await client.transaction("write");
  const done = await work.execute({ sql: "UPDATE birds SET name = ? WHERE ring = ?", args: [name, ring] });
  if (done.rowsAffected === 0) {
    await work.execute({ sql: "INSERT INTO birds (ring, name) VALUES (?, ?)", args: [ring, name] });
  }
  await work.commit();
  return { content: [] };
});
