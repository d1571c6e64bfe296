// The library reads the file that it is given the path of.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { loadDeck } from "slide-decks";
import { Workspace } from "slide-spaces";

const server = new McpServer({ name: "decks", version: "1" });

server.registerTool("add", {}, async ({ name, text }) => {
  const file = join("/data/decks", `${name}.deck`);
  const deck = await loadDeck(file);
  deck.slides.push({ text });
  await writeFile(file, JSON.stringify(deck)); // expect: RC101 read=12, RC302
  return { content: [] };
});

server.registerTool("pin", {}, async ({ name }) => {
  const file = join("/data/spaces", `${name}.json`);
  const space = new Workspace(file);
  const pins = await space.pins();
  await writeFile(file, JSON.stringify([...pins, name])); // expect: RC101 read=20, RC302
  return { content: [] };
});
