// also: RC404
import { Pool } from "pg";
import Stripe from "stripe";

const pool = new Pool();
const stripe = new Stripe(process.env.STRIPE_KEY!);

async function b3(key: string) {
  const { rows } = await pool.query("SELECT result FROM idempotency WHERE key = $1", [key]);
  return rows[0];
}

export async function pay(key: string, amount: number) {
  const seen = await b3(key);
  if (seen) return seen.result;
  const intent = await stripe.paymentIntents.create({ amount, currency: "eur" });
  await pool.query("INSERT INTO idempotency (key, result) VALUES ($1, $2)", [key, intent.id]); // expect: RC401 read=9
  return intent.id;
}
