import { createClient } from "redis";

const redis = createClient();

// Whoever sees that it has changed begins anew.
export async function take(id) {
  await redis.watch("errand:" + id);
  const state = await redis.get("errand:" + id);
  if (state !== "free") return "somebody has it";
  await redis.multi().set("errand:" + id, "mine").exec();
  return "go";
}

// What is found is given, what is not is fetched: whoever fetches it twice has it twice.
export async function price(id) {
  const kept = await redis.get("price:" + id);
  if (kept) return kept;
  const answer = await fetch("https://prices.example/" + id);
  const text = await answer.text();
  await redis.set("price:" + id, text, { EX: 60 });
  return text;
}
