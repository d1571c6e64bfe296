// Called again, it adds another sighting: what was updated before is another table, or other columns.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createClient } from "@libsql/client";

const client = createClient({ url: "file:birds.db" });
const server = new McpServer({ name: "birds", version: "1.0.0" });

server.registerTool("see_bird", { annotations: { idempotentHint: true } }, async ({ ring, place }) => {
  const work = await client.transaction("write");
  await work.execute({ sql: "UPDATE birds SET place = ? WHERE ring = ?", args: [place, ring] });
  if (place) {
    await work.execute({ sql: "INSERT INTO sightings (ring, place) VALUES (?, ?)", args: [ring, place] }); // expect: RC407
  }
  await work.commit();
  return { content: [] };
});

server.registerTool("move_bird", { annotations: { idempotentHint: true } }, async ({ ring, place }) => {
  const work = await client.transaction("write");
  await work.execute({ sql: "UPDATE stays SET ended = 1 WHERE ring = ?", args: [ring] });
  if (place) {
    await work.execute({ sql: "INSERT INTO stays (ring, place) VALUES (?, ?)", args: [ring, place] }); // expect: RC407
  }
  await work.commit();
  return { content: [] };
});
