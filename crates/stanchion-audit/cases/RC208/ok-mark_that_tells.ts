// also: RC301, RC302, RC304
// Nobody is kept from anything by the mark: it only says whom to ask.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const at = (name: string) => `/run/looms/${name}.json`;

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}

async function weaver(name: string) {
  if (!fs.existsSync(at(name))) return null;
  const mark = JSON.parse(fs.readFileSync(at(name), "utf8"));
  let alive = true;
  try {
    process.kill(mark.worker, 0);
  } catch {
    alive = false;
  }
  if (alive && (await answers(mark.port))) return mark;
  fs.rmSync(at(name));
  return null;
}

const server = new McpServer({ name: "looms", version: "1.0.0" });

server.registerTool("weavers", {}, async ({ name }) => {
  const mark = await weaver(name);
  return { content: [{ type: "text", text: mark ? String(mark.port) : "none" }] };
});

server.registerTool("weave", {}, async ({ name, port }) => {
  const child = spawn("loom", ["--port", String(port)], { detached: true, stdio: "ignore" });
  child.unref();
  fs.writeFileSync(at(name), JSON.stringify({ worker: child.pid, port }));
  return { content: [{ type: "text", text: String(port) }] };
});
