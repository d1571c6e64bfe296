// also: RC302, RC304
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { promises as fs } from "node:fs";

const FILE = "/data/requests.json";

class Requests {
  private data: { all: { id: string; done: boolean }[] } = { all: [] };

  constructor() {
    void this.refresh();
  }

  private async refresh() {
    try {
      this.data = JSON.parse(await fs.readFile(FILE, "utf8"));
    } catch {
      this.data = { all: [] };
    }
  }

  private async keep() {
    await fs.writeFile(FILE, JSON.stringify(this.data)); // expect: RC101 read=17
  }

  async finish(id: string) {
    await this.refresh();
    const found = this.data.all.find((one) => one.id === id);
    if (!found) return "unknown";
    found.done = true;
    await this.keep();
    return "done";
  }
}

const server = new Server({ name: "requests", version: "1.0.0" });
const requests = new Requests();
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  switch (request.params.name) {
    case "finish":
      return { content: [{ type: "text", text: await requests.finish(String(request.params.arguments?.id)) }] };
    default:
      throw new Error("unknown tool");
  }
});
