import sqlite3 from "better-sqlite3";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const db = sqlite3("/var/lib/reviews/reviews.db");
const server = new McpServer({ name: "reviews", version: "1" });

server.tool("save", {}, async ({ book, reviews }) => {
  const rows = db.prepare("SELECT author, body FROM reviews WHERE book = ?").all(book);
  const known = new Set(rows.map((row) => row.author));
  await new Promise((done) => setTimeout(done, 1));
  for (const review of reviews) {
    if (!known.has(review.author)) {
      db.prepare("INSERT INTO reviews (book, author, body) VALUES (?, ?, ?)").run(book, review.author, review.body); // expect: RC401 read=8
    }
  }
  return { content: [] };
});
