import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { db, place, shelve } from "./store.mjs";

const server = new McpServer({ name: "stock", version: "1.0.0" });

server.registerTool("store_box", {}, async ({ shelf, box }) => {
  const where = db.transaction(() => {
    const found = place(shelf);
    db.prepare("INSERT INTO boxes (name, label) VALUES (?, ?)").run(box, found.label);
    return found;
  })();
  return { content: [{ type: "text", text: where.label }] };
});

server.registerTool("peel_label", {}, async ({ shelf }) => {
  return { content: [{ type: "text", text: shelve(shelf) }] };
});
