// deployment: cluster; also: RC202
import Redis from "ioredis";
import axios from "axios";

const redis = new Redis();

export async function pay(key: string, order: { amount: number }) {
  const mine = await redis.set(`idem:${key}`, "begun", "EX", 86400, "NX");
  if (!mine) throw new Error("in flight");
  if (order.amount <= 0) {
    await redis.del(`idem:${key}`);
    throw new Error("amount");
  }
  try {
    const answer = await axios.post("https://pay.example/charges", order);
    await redis.set(`idem:${key}`, JSON.stringify(answer.data), "EX", 86400);
    return answer.data;
  } catch (error) {
    await redis.set(`idem:${key}`, "unknown", "EX", 86400);
    throw error;
  }
}
