// Nothing of the file comes back, or the file is a new one.
import { writeFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { parseName } from "./names";
import { format, shorten } from "text-kit";
import { openDeck } from "slide-decks";

const server = new McpServer({ name: "decks", version: "1" });

server.registerTool("put", {}, async ({ name, text }) => {
  const file = join("/data/decks", `${name}.deck`);
  const code = format(file, text);
  await writeFile(file, `// ${shorten(file)} ${parse(file).name} ${parseName(file)}\n${code}`);
  return { content: [] };
});

server.registerTool("export", {}, async ({ name }) => {
  const deck = await openDeck(join("/data/decks", `${name}.deck`));
  await writeFile(join("/data/out", `${name}.html`), deck.html);
  return { content: [] };
});

server.registerTool("touch", {}, async ({ name, text }) => {
  const file = join("/data/notes", `${name}.deck`);
  const deck = await openDeck(file);
  await writeFile(file, text);
  return { content: [{ type: "text", text: deck.title }] };
});
