// The promise is kept, without a pause after the look: all who come meanwhile get the same line.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Line } from "./line.js";

const lines = new Map<string, Promise<Line>>();

async function opened(host: string): Promise<Line> {
  const made = new Line(host);
  await made.open();
  return made;
}

function line(host: string): Promise<Line> {
  const there = lines.get(host);
  if (there) return there;
  const coming = opened(host);
  lines.set(host, coming);
  coming.catch(() => lines.delete(host));
  return coming;
}

const server = new McpServer({ name: "lines", version: "1.0.0" });
server.registerTool("say", {}, async ({ host, text }) => {
  await (await line(host)).say(text);
  return { content: [] };
});
server.registerTool("hang_up", {}, async ({ host }) => {
  const there = lines.get(host);
  lines.delete(host);
  await (await there)?.close();
  return { content: [] };
});
