// Whoever saves has read anew, under a lock of the machine.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import lockfile from "proper-lockfile";
import { Book } from "./book";

const FILE = "/data/book.json";
const book = new Book(FILE);
const server = new McpServer({ name: "book", version: "1.0.0" });

server.registerTool("add", {}, async ({ line }: { line: string }) => {
  const release = await lockfile.lock(FILE);
  try {
    await book.load();
    book.lines.push(line);
    await book.save();
  } finally {
    await release();
  }
  return { content: [] };
});
