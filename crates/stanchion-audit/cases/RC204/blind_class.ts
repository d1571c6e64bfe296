// deployment: cluster
import { randomBytes } from "node:crypto";
import Redis from "ioredis";

const redis = new Redis();
const RELEASE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end";

export class Lease {
  private token = randomBytes(8).toString("hex");
  private beat?: NodeJS.Timeout;
  constructor(private key: string) {}

  async start() {
    if ((await redis.set(this.key, this.token, "PX", 5000, "NX")) !== "OK") throw new Error("busy");
    this.beat = setInterval(async () => {
      await redis.pexpire(this.key, 5000); // expect: RC204
    }, 2000);
  }

  async stop() {
    clearInterval(this.beat);
    await redis.eval(RELEASE, 1, this.key, this.token);
  }
}
