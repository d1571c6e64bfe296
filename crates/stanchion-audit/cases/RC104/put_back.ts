import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

class Notifier {
  private settings = { loud: false };

  async send(text: string) {
    await fetch("https://example.com/notes", { method: "POST", body: JSON.stringify({ text, loud: this.settings.loud }) });
  }

  async test() {
    const before = this.settings.loud;
    this.settings.loud = true;
    try {
      await this.send("can you hear me?");
    } finally {
      this.settings.loud = before; // expect: RC104 read=11
    }
  }
}

const notifier = new Notifier();
const server = new McpServer({ name: "notes", version: "1" });
server.registerTool("test", {}, async () => {
  await notifier.test();
  return { content: [] };
});
