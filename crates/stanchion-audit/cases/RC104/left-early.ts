// The gate is left between the read and the write.
class Gate {
  private closed = false;
  private waiters: Array<() => void> = [];

  async enter(): Promise<void> {
    if (!this.closed) {
      this.closed = true;
      return;
    }
    await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  leave() {
    const next = this.waiters.shift();
    if (next) next();
    else this.closed = false;
  }
}

const gate = new Gate();
let total = 0;

export async function add(id: string) {
  await gate.enter();
  const before = total;
  gate.leave();
  const more = await fetch("https://counts.example/" + id).then((answer) => answer.json());
  total = before + more; // expect: RC104 read=26
}
