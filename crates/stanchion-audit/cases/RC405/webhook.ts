// deployment: cluster; also: RC203
import express from "express";
import Redis from "ioredis";

const redis = new Redis();
const app = express();

async function credit(account: string, amount: number) {
  await fetch("https://ledger.example/credit", { method: "POST", body: JSON.stringify({ account, amount }) });
}

app.post("/webhooks/payments", async (req, res) => {
  const event = req.body;
  const fresh = await redis.set(`evt:${event.id}`, "1", "EX", 300, "NX"); // expect: RC405
  if (fresh) await credit(event.account, event.amount);
  res.status(200).end();
});
