// deployment: cluster
import { createClient } from "redis";
import { randomUUID } from "node:crypto";

const client = createClient();

class T {
  private id = randomUUID();

  async up(name: string): Promise<boolean> {
    return (await client.set(`l:${name}`, this.id, { NX: true, PX: 30000 })) === "OK";
  }

  async down(name: string): Promise<void> {
    if ((await client.get(`l:${name}`)) === this.id) {
      await client.del(`l:${name}`); // expect: RC202
    }
  }
}

const t = new T();

export async function exclusively(name: string, work: () => Promise<void>) {
  if (!(await t.up(name))) throw new Error("busy");
  try {
    await work();
  } finally {
    await t.down(name);
  }
}
