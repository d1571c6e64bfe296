// also: RC302
// Whoever finds the flag set lines up: a lock, but of one process.
import * as fs from "node:fs/promises";

class Gate {
  private closed = false;
  private waiters: Array<() => void> = [];

  private async enter(): Promise<void> {
    if (!this.closed) {
      this.closed = true;
      return;
    }
    await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  private leave(): void {
    const next = this.waiters.shift();
    if (next) next();
    else this.closed = false;
  }

  async within<T>(work: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }
}

const gate = new Gate();

export async function add(item: string) {
  await gate.within(async () => {
    const all = JSON.parse(await fs.readFile("/data/a.json", "utf8"));
    all.push(item);
    await fs.writeFile("/data/a.json", JSON.stringify(all)); // expect: RC201 read=37
  });
}

class Turns {
  private queue: Array<() => void> = [];
  private held = false;

  take(): Promise<() => void> {
    return new Promise((resolve) => {
      const mine = () => {
        this.held = true;
        resolve(() => this.next());
      };
      if (!this.held) mine();
      else this.queue.push(mine);
    });
  }

  private next() {
    const next = this.queue.shift();
    if (next) next();
    else this.held = false;
  }
}

const turns = new Turns();

export async function addInTurn(item: string) {
  const done = await turns.take();
  try {
    const all = JSON.parse(await fs.readFile("/data/b.json", "utf8"));
    all.push(item);
    await fs.writeFile("/data/b.json", JSON.stringify(all)); // expect: RC201 read=70
  } finally {
    done();
  }
}
