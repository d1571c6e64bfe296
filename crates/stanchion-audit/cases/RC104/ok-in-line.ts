class Gate {
  private closed = false;
  private waiters: Array<() => void> = [];

  enter(): Promise<void> {
    return new Promise((resolve) => {
      if (this.closed) {
        this.waiters.push(resolve);
      } else {
        this.closed = true;
        resolve();
      }
    });
  }

  leave() {
    if (this.waiters.length > 0) {
      const next = this.waiters.shift()!;
      next();
    } else {
      this.closed = false;
    }
  }
}

const gate = new Gate();
let total = 0;

export async function add(id: string) {
  await gate.enter();
  try {
    const before = total;
    const more = await fetch("https://counts.example/" + id).then((answer) => answer.json());
    total = before + more;
  } finally {
    gate.leave();
  }
}
