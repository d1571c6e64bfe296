// The price is there before the total is read: nobody comes in between.
import express from "express";

let total = 0;

async function price(id: string): Promise<number> {
  const answer = await fetch(`https://shop.example/prices/${id}`);
  return (await answer.json()).amount;
}

const app = express();
app.post("/orders", async (req, res) => {
  const amount = await price(req.body.id);
  total += amount;
  res.json({ total });
});
app.listen(3000);
