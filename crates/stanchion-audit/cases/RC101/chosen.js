// also: RC302, RC104
// A factory chooses; the handler stands in an object beside its description.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { readFile, writeFile } from "node:fs/promises";

class Disk {
  constructor(dir) {
    this.dir = dir;
  }
  async k1(id) {
    return JSON.parse(await readFile(`${this.dir}/${id}.json`, "utf8"));
  }
  async k2(id, item) {
    await writeFile(`${this.dir}/${id}.json`, JSON.stringify(item)); // expect: RC101 read=11
  }
}

class Heap {
  constructor() {
    this.all = new Map();
  }
  async k1(id) {
    return this.all.get(id);
  }
  async k2(id, item) {
    this.all.set(id, item);
  }
}

function chosen(config) {
  switch (config.kind) {
    case "disk":
      return new Disk(config.dir);
    default:
      return new Heap();
  }
}

const kept = chosen({ kind: process.env.KIND, dir: process.env.DIR });
const server = new McpServer({ name: "items", version: "1.0.0" });

server.tool("change", {
  description: "changes an item",
  handler: async ({ id, fields }) => {
    const item = await kept.k1(id);
    await kept.k2(id, { ...item, ...fields });
  },
});
