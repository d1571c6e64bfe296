// also: RC302
// The function that gives the lock back is handed to who has asked for it.
import * as fs from "node:fs/promises";

class Keys {
  private taken = new Map<string, Promise<void>>();

  async take(key: string): Promise<() => void> {
    while (this.taken.has(key)) {
      await this.taken.get(key);
    }
    let done!: () => void;
    const mine = new Promise<void>((resolve) => {
      done = resolve;
    });
    this.taken.set(key, mine);
    return () => {
      this.taken.delete(key);
      done();
    };
  }
}

const keys = new Keys();

export async function add(item: string) {
  const done = await keys.take("a");
  try {
    const all = JSON.parse(await fs.readFile("/data/a.json", "utf8"));
    all.push(item);
    await fs.writeFile("/data/a.json", JSON.stringify(all)); // expect: RC201 read=29
  } finally {
    done();
  }
}

class Line {
  private last: Promise<void> = Promise.resolve();

  take(): Promise<() => void> {
    let done!: () => void;
    const mine = new Promise<void>((resolve) => {
      done = resolve;
    });
    const ready = this.last.then(() => done);
    this.last = this.last.then(() => mine);
    return ready;
  }
}

const line = new Line();

export async function addInLine(item: string) {
  const done = await line.take();
  try {
    const all = JSON.parse(await fs.readFile("/data/b.json", "utf8"));
    all.push(item);
    await fs.writeFile("/data/b.json", JSON.stringify(all)); // expect: RC201 read=56
  } finally {
    done();
  }
}

// What fails does not keep the others waiting.
let last: Promise<unknown> = Promise.resolve();

function behind<T>(work: () => Promise<T>): Promise<T> {
  const run = last.then(work, work);
  last = run.then(
    () => undefined,
    () => undefined,
  );
  return run;
}

export async function addBehind(item: string) {
  return behind(async () => {
    const all = JSON.parse(await fs.readFile("/data/c.json", "utf8"));
    all.push(item);
    await fs.writeFile("/data/c.json", JSON.stringify(all)); // expect: RC201 read=78
  });
}

// Behind the work of the queue nobody has anything.
export async function addAfter(item: string) {
  await behind(async () => undefined);
  const all = JSON.parse(await fs.readFile("/data/d.json", "utf8"));
  all.push(item);
  await fs.writeFile("/data/d.json", JSON.stringify(all)); // expect: RC101 read=87
}
