// also: RC302
// The functions of the table take the lock, only look, or give back what was put into it: nothing is lost.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import lockfile from "proper-lockfile";

type Way = (said: { title: string }) => unknown;

const PLACE = "/data/shelf.json";

export class Desk {
  private ways = new Map<string, Way>();
  private waiting = new Map<string, (answer: string) => void>();

  constructor(private log: string) {
    this.ways.set("add", async (said) => {
      const release = await lockfile.lock(PLACE);
      try {
        const all = JSON.parse(readFileSync(PLACE, "utf8"));
        all.push(said.title);
        writeFileSync(PLACE, JSON.stringify(all));
      } finally {
        await release();
      }
    });
    this.ways.set("all", () => JSON.parse(readFileSync(PLACE, "utf8")));
    this.ways.set("note", (said) => appendFileSync(this.log, said.title));
  }

  asked(way: string, said: { title: string }) {
    return this.ways.get(way)?.(said);
  }

  async question(id: string): Promise<string> {
    const before = readFileSync(this.log, "utf8");
    const answer = await new Promise<string>((resolve) => this.waiting.set(id, resolve));
    return before + answer;
  }
}
