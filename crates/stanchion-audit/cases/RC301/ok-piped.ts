// Filled under a name of its own, and moved into place when it is complete.
import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const PATH = "/data/words.tsv";

async function fetched() {
  if (existsSync(PATH)) return;
  const answer = await fetch("https://data.example/words.tsv");
  const part = `${PATH}.${randomUUID()}`;
  await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(part));
  await rename(part, PATH);
}

const server = new McpServer({ name: "words", version: "1.0.0" });
server.registerTool("words", {}, async () => {
  await fetched();
  let text = "";
  for await (const part of createReadStream(PATH, "utf8")) text += part;
  return { content: [{ type: "text", text }] };
});
