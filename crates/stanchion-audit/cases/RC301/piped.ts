// also: RC302
// That the file is there means that it is complete, and it is filled under that name.
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const PATH = "/data/words.tsv";

async function fetched() {
  if (existsSync(PATH)) return;
  const answer = await fetch("https://data.example/words.tsv");
  await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(PATH)); // expect: RC301 read=11
}

const server = new McpServer({ name: "words", version: "1.0.0" });
server.registerTool("words", {}, async () => {
  await fetched();
  let text = "";
  for await (const part of createReadStream(PATH, "utf8")) text += part;
  return { content: [{ type: "text", text }] };
});
