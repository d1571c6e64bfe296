// What is kept was read after the look: whoever reads it twice has it twice.
import { readFile } from "node:fs/promises";

class Client {
  private session: string | undefined;
  private texts: Record<string, string> | undefined;

  async send(body: string) {
    const headers: Record<string, string> = {};
    if (this.session) headers["x-session"] = this.session;
    const answer = await fetch("https://api.example/rpc", { method: "POST", headers, body });
    const next = answer.headers.get("x-session");
    if (next) this.session = next;
    return answer.text();
  }

  async text(key: string) {
    if (!this.texts) {
      this.texts = JSON.parse(await readFile("texts.json", "utf8"));
    }
    return this.texts?.[key];
  }
}

export const client = new Client();
