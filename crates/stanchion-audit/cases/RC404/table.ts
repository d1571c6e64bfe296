import { Pool } from "pg";

const pool = new Pool();

async function j3(k: string) {
  await pool.query("DELETE FROM keys WHERE key = $1", [k]); // expect: RC404 read=12
}

export async function k3(k: string, body: object) {
  await pool.query("INSERT INTO keys (key) VALUES ($1)", [k]);
  try {
    return await fetch("https://pay.example/charges", { method: "POST", body: JSON.stringify(body) });
  } catch (error) {
    await j3(k);
    throw error;
  }
}
