// also: RC302
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { readFileSync, writeFileSync } from "node:fs";

class Settings {
  private static kept: Record<string, string> | null = null;

  static get all() {
    if (!Settings.kept) Settings.kept = JSON.parse(readFileSync("settings.json", "utf8"));
    return Settings.kept!;
  }

  static put(name: string, value: string) {
    Settings.all[name] = value;
    writeFileSync("settings.json", JSON.stringify(Settings.kept)); // expect: RC107 read=10
  }
}

const server = new McpServer({ name: "settings", version: "1" });
server.tool("put", {}, async ({ name, value }: any) => {
  Settings.put(name, value);
  return { content: [] };
});
await server.connect(new StdioServerTransport());
