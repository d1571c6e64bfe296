// What is added to is read first, and then it waits for what is added.
import express from "express";

let total = 0;

async function price(id: string): Promise<number> {
  const answer = await fetch(`https://shop.example/prices/${id}`);
  return (await answer.json()).amount;
}

const app = express();
app.post("/orders", async (req, res) => {
  total += await price(req.body.id); // expect: RC104 read=13
  res.json({ total });
});
app.listen(3000);
