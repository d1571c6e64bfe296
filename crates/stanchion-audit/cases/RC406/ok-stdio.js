// also: RC401
// Each letter is claimed before it is posted; the rest is about the process itself.
import Database from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

const db = new Database("/data/letters.db");
const server = new McpServer({ name: "letters", version: "1.0.0" });
const seen = new Map();
let sent = 0;

async function post() {
  for (const letter of db.prepare("SELECT id, text FROM letters WHERE posted = 0").all()) {
    const claimed = db.prepare("UPDATE letters SET posted = 1 WHERE id = ? AND posted = 0").run(letter.id);
    if (claimed.changes !== 1) continue;
    await fetch("https://post.example/letters", { method: "POST", body: letter.text });
  }
}

async function beat() {
  await fetch("https://post.example/alive", { method: "POST", body: String(sent) });
  sent = 0;
  for (const [key, at] of seen) if (at < Date.now() - 60_000) seen.delete(key);
}

setInterval(post, 60_000);
setInterval(beat, 60_000);
server.registerTool("write", {}, async ({ text }) => {
  db.prepare("INSERT INTO letters (text) VALUES (?)").run(text);
  seen.set(text, Date.now());
  sent += 1;
  return { content: [] };
});
await server.connect(new StdioServerTransport());
