// A value out of an answer: who asks twice has the same value twice, and nobody has to give it back.
import { Directory } from "some-directory";

export class Settings {
  private region: string | null = null;
  private home: string | null = null;
  private directory = new Directory();

  async where() {
    if (this.region) return this.region;
    const found = await this.directory.lookup({ name: "region" });
    if (!found.entry?.text) throw new Error("no region");
    this.region = found.entry.text;
    return this.region;
  }

  async folder(shell: (command: string) => Promise<{ output: string }>) {
    if (this.home) return this.home;
    let path = null;
    try {
      const said = await shell("pwd");
      path = said.output.trim();
      if (path.startsWith("/")) {
        this.home = path;
        return path;
      }
    } catch {}
    return "/";
  }
}
