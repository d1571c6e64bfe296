// deployment: cluster; also: RC202
import { createClient } from "redis";

const client = createClient();

export class Lease {
  constructor(private readonly name: string, private readonly owner: string) {}

  async u4(): Promise<boolean> {
    return (await client.set(this.name, this.owner, { NX: true, EX: 15 })) !== null;
  }

  async w4(): Promise<boolean> {
    const holder = await client.get(this.name);
    if (holder !== this.owner) return false;
    await client.expire(this.name, 15); // expect: RC204 read=14
    return true;
  }
}
