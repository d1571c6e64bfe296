// Nobody runs between the two.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

class Notifier {
  private settings = { loud: false };

  text(text: string) {
    return JSON.stringify({ text, loud: this.settings.loud });
  }

  async test() {
    const before = this.settings.loud;
    this.settings.loud = true;
    const body = this.text("can you hear me?");
    this.settings.loud = before;
    await fetch("https://example.com/notes", { method: "POST", body });
  }
}

const notifier = new Notifier();
const server = new McpServer({ name: "notes", version: "1" });
server.registerTool("test", {}, async () => {
  await notifier.test();
  return { content: [] };
});
