// What is kept in the map has to be closed: whoever opens it twice never closes one of them.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Line } from "./line.js";

const lines = new Map<string, Line>();

async function line(host: string): Promise<Line> {
  const there = lines.get(host);
  if (there) return there;
  const made = new Line(host);
  await made.open();
  lines.set(host, made); // expect: RC104 read=8
  return made;
}

async function hangUp(host: string) {
  const there = lines.get(host);
  if (!there) return;
  lines.delete(host);
  await there.close();
}

const server = new McpServer({ name: "lines", version: "1.0.0" });
server.registerTool("say", {}, async ({ host, text }) => {
  await (await line(host)).say(text);
  return { content: [] };
});
server.registerTool("hang_up", {}, async ({ host }) => {
  await hangUp(host);
  return { content: [] };
});
