import { randomUUID } from "node:crypto";
import { createClient } from "redis";

const client = createClient();
const GIVE_BACK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

export async function hold(name) {
  const token = randomUUID();
  const got = await client.set(name, token, { PX: 5000, NX: true });
  if (got === null) throw new Error("busy");
  await client.publish("held", name);
  return { release: () => client.eval(GIVE_BACK, { keys: [name], arguments: [token] }), token };
}
