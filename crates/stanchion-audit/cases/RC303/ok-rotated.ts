// also: RC301
// A log that is added to gets another name when it is long: nobody writes a draft, and nothing is emptied.
import { createWriteStream, type WriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

class Visits {
  private out: WriteStream | null = null;
  private turn: Promise<void> = Promise.resolve();

  constructor(private path: string) {}

  add(text: string) {
    this.turn = this.turn.catch(() => {}).then(() => this.added(text));
    return this.turn;
  }

  private async added(text: string) {
    await this.rotated();
    const out = this.opened();
    await new Promise<void>((done) => out.write(`${text}\n`, () => done()));
  }

  private opened() {
    if (this.out) return this.out;
    this.out = createWriteStream(this.path, { flags: "a" });
    return this.out;
  }

  private async rotated() {
    const size = await stat(this.path).then((s) => s.size).catch(() => 0);
    if (size < 1_000_000) return;
    if (this.out) {
      await new Promise<void>((done) => this.out!.end(() => done()));
      this.out = null;
    }
    await rename(this.path, `${this.path}.1`);
  }
}

const visits = new Visits("/var/log/visits.log");
const server = new McpServer({ name: "visits", version: "1.0.0" });
server.registerTool("visit", {}, async ({ text }) => {
  await visits.add(text);
  return { content: [] };
});
