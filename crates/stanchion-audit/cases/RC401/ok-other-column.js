import sqlite3 from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const db = sqlite3("/var/lib/reviews/reviews.db");
const server = new McpServer({ name: "reviews", version: "1" });

server.tool("save", {}, async ({ book, reviews }) => {
  const rows = db.prepare("SELECT id, body FROM reviews WHERE book = ?").all(book);
  const known = new Set(rows.map((row) => row.id));
  await new Promise((done) => setTimeout(done, 1));
  for (const review of reviews) {
    if (!known.has(review.id)) {
      db.prepare("INSERT INTO reviews (book, body) VALUES (?, ?)").run(book, review.body);
    }
  }
  return { content: [] };
});
