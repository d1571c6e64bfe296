import { Mutex } from "async-mutex";

const totals = new Map<string, number>();

function g1() {
  return new Mutex();
}

export async function g2(name: string, amount: number, audit: (n: number) => Promise<void>) {
  const gate = g1();
  const release = await gate.acquire(); // expect: RC206
  try {
    const before = totals.get(name) ?? 0;
    await audit(before);
    totals.set(name, before + amount);
  } finally {
    release();
  }
}
