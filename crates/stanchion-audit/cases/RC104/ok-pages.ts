// A cache: what is thrown away needs no farewell, and whoever fetches it twice has it twice.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Page } from "./page.js";

const pages = new Map<string, Page>();

async function page(url: string): Promise<Page> {
  const there = pages.get(url);
  if (there) return there;
  const made = new Page(url);
  await made.fill();
  pages.set(url, made);
  return made;
}

const server = new McpServer({ name: "pages", version: "1.0.0" });
server.registerTool("read", {}, async ({ url }) => {
  const { text } = await page(url);
  return { content: [{ type: "text", text }] };
});
server.registerTool("forget", {}, async ({ url }) => {
  pages.delete(url);
  return { content: [] };
});
