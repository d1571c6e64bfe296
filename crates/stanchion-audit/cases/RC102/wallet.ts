import express from "express";
import { Pool } from "pg";

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const app = express();
app.use(express.json());

class Wallets {
  async balance(id: string): Promise<number> {
    const { rows } = await pool.query("SELECT balance FROM wallets WHERE id = $1", [id]);
    if (rows.length === 0) throw new Error("no such wallet");
    return Number(rows[0].balance);
  }

  async store(id: string, balance: number): Promise<void> {
    await pool.query("UPDATE wallets SET balance = $1 WHERE id = $2", [balance, id]); // expect: RC102 read=10
  }
}

const wallets = new Wallets();

app.post("/wallets/:id/withdraw", async (req, res) => {
  const { id } = req.params;
  const current = await wallets.balance(id);
  if (current < req.body.amount) return res.status(402).end();
  await wallets.store(id, current - req.body.amount);
  res.json({ balance: current - req.body.amount });
});

app.listen(3000);
