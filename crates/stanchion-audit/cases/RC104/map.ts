import express from "express";

const app = express();
const credits = new Map<string, number>();

async function price(item: string): Promise<number> {
  const answer = await fetch(`https://shop.example/${item}`);
  return (await answer.json()).price;
}

app.post("/buy/:user/:item", async (req, res) => {
  const left = credits.get(req.params.user) ?? 0;
  const cost = await price(req.params.item);
  if (left < cost) return res.status(402).end();
  credits.set(req.params.user, left - cost); // expect: RC104 read=12
  res.status(204).end();
});
