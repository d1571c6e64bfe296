// How the file looks now is asked after the pause: whoever reads it twice has it twice.
import { statSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { parsed } from "./parse.js";

class Settings {
  private all: Record<string, string> = {};
  private seen: string | null = null;

  private look() {
    const now = statSync("/etc/app.toml");
    return [now.mtimeMs, now.size].join("|");
  }

  private async read() {
    this.all = await parsed("/etc/app.toml");
    this.seen = this.look();
  }

  async get() {
    if (this.seen !== this.look()) await this.read();
    return this.all;
  }
}

const settings = new Settings();
const server = new McpServer({ name: "settings", version: "1.0.0" });
server.registerTool("settings", {}, async () => ({
  content: [{ type: "text", text: JSON.stringify(await settings.get()) }],
}));
