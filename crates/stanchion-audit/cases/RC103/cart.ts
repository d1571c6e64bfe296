// deployment: cluster
import { createClient } from "redis";
import express from "express";

const client = createClient({ url: process.env.REDIS_URL });
const app = express();

class CartStore {
  private key(user: string) {
    return `cart:${user}`;
  }

  async load(user: string): Promise<{ items: string[] }> {
    const raw = await client.get(this.key(user));
    return raw ? JSON.parse(raw) : { items: [] };
  }

  async save(user: string, cart: { items: string[] }) {
    await client.set(this.key(user), JSON.stringify(cart), { EX: 86400 }); // expect: RC103 read=14
  }
}

const carts = new CartStore();

app.post("/cart/:user/items", async (req, res) => {
  const cart = await carts.load(req.params.user);
  cart.items.push(req.body.sku);
  await carts.save(req.params.user, cart);
  res.json(cart);
});
