import { createClient } from "redis";

const client = createClient();

export async function hold(name) {
  const end = Date.now() + 5000;
  const got = await client.set(name, end, { PX: 5000, NX: true });
  if (got === null) throw new Error("busy");
  await client.publish("held", name);
  return async () => {
    if (end > Date.now()) await client.del(name); // expect: RC202
  };
}
