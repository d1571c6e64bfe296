// A stream that adds to the file empties nothing, whether it is written to or ended.
import { createWriteStream, readFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

const CALLS = "/var/log/calls.log";

class Calls {
  private out = createWriteStream(CALLS, { flags: "a" });

  add(text: string) {
    this.out.write(`${text}\n`);
  }

  end() {
    this.out.end("end\n");
  }
}

const calls = new Calls();
const server = new McpServer({ name: "calls", version: "1.0.0" });
server.registerTool("call", {}, async ({ text }) => {
  calls.add(text);
  return { content: [] };
});
server.registerTool("calls", {}, async () => ({ content: [{ type: "text", text: readFileSync(CALLS, "utf8") }] }));
process.on("exit", () => calls.end());
