// also: RC302
import { promises as fsp } from "fs";
import path from "path";

interface Data { users: Record<string, { n: number }> }

export class JsonDb {
  private readonly p: string;
  constructor(dir?: string) {
    this.p = path.join(dir || process.cwd(), "db.json");
  }

  private async r5(): Promise<Data> {
    return JSON.parse(await fsp.readFile(this.p, "utf8")) as Data;
  }

  private async w5(data: Data) {
    await fsp.writeFile(this.p, JSON.stringify(data)); // expect: RC101 read=14
  }

  async mutate(change: (data: Data) => void | Promise<void>) {
    const data = await this.r5();
    await change(data);
    await this.w5(data);
  }
}

const db = new JsonDb();

export async function inc(user: string) {
  await db.mutate((data) => {
    data.users[user].n += 1;
  });
}
