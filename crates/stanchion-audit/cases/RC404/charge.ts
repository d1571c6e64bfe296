// deployment: cluster; also: RC202, RC203
import Redis from "ioredis";
import axios from "axios";

const redis = new Redis();

export async function pay(key: string, order: object) {
  const mine = await redis.set(`idem:${key}`, "begun", "EX", 86400, "NX");
  if (!mine) throw new Error("in flight");
  try {
    const answer = await axios.post("https://pay.example/charges", order, { timeout: 5000 });
    return answer.data;
  } catch (error) {
    await redis.del(`idem:${key}`); // expect: RC404 read=11
    throw error;
  }
}
