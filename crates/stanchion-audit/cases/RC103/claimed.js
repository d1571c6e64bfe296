import { createClient } from "redis";

const redis = createClient();

export async function take(id) {
  const state = await redis.get("errand:" + id);
  if (state !== "free") return "somebody has it";
  await redis.set("errand:" + id, "mine"); // expect: RC103 read=6
  return "go";
}
