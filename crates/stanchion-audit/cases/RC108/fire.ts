// also: RC302, RC107, RC101
import { writeFile, readFile } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const where = "/data/board.json";
const board: Record<string, string> = {};

export async function restore() {
  Object.assign(board, JSON.parse(await readFile(where, "utf8")));
}

function later() {
  void writeFile(where, JSON.stringify(board)); // expect: RC108
}

const server = new McpServer({ name: "board", version: "1.0.0" });

server.tool("pin", { slot: z.string(), text: z.string() }, async ({ slot, text }) => {
  board[slot] = text;
  later();
  return { content: [{ type: "text", text: "pinned" }] };
});
