// also: RC302
// What runs is looked up in a table by its name: the table is filled by a constructor, in a factory, or when the file is loaded.
import { readFileSync, writeFileSync } from "node:fs";

type Way = (said: { title: string }) => unknown;

interface Shelf {
  all(): string[];
  keep(all: string[]): void;
}

class OnDisk implements Shelf {
  constructor(private place: string) {}
  all(): string[] {
    return JSON.parse(readFileSync(this.place, "utf8"));
  }
  keep(all: string[]) {
    writeFileSync(this.place, JSON.stringify(all)); // expect: RC101 read=15
  }
}

class InMemory implements Shelf {
  private titles: string[] = [];
  all() {
    return this.titles;
  }
  keep(all: string[]) {
    this.titles = all;
  }
}

export function shelf(place?: string): Shelf {
  return place ? new OnDisk(place) : new InMemory();
}

export class Desk {
  private ways = new Map<string, Way>();

  constructor(private shelf: Shelf) {
    this.fill();
  }

  private fill() {
    this.ways.set("shelf/add", (said) => {
      const all = this.shelf.all();
      all.push(said.title);
      this.shelf.keep(all);
    });
  }

  async asked(way: string, said: { title: string }) {
    const found = this.ways.get(way);
    if (!found) throw new Error(`no ${way}`);
    return await found(said);
  }
}

export function counter() {
  const ways = new Map<string, Way>();
  ways.set("count", (said) => {
    const seen = JSON.parse(readFileSync("/data/seen.json", "utf8"));
    seen[said.title] = (seen[said.title] ?? 0) + 1;
    writeFileSync("/data/seen.json", JSON.stringify(seen)); // expect: RC101 read=61
  });
  return (way: string, said: { title: string }) => ways.get(way)?.(said);
}

const plain = new Map<string, { describe: string; run: Way }>();
plain.set("mark", {
  describe: "marks a title",
  run: (said) => {
    const marks = JSON.parse(readFileSync("/data/marks.json", "utf8"));
    marks.push(said.title);
    writeFileSync("/data/marks.json", JSON.stringify(marks)); // expect: RC101 read=72
  },
});

export function mark(said: { title: string }) {
  return plain.get("mark")!.run(said);
}
