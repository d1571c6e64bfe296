import { Pool } from "pg";

const pool = new Pool();

export async function register(email: string): Promise<string> {
  const { rows } = await pool.query("SELECT id FROM users WHERE email = $1", [email]);
  if (rows.length > 0) return "taken";
  try {
    await pool.query("INSERT INTO users (email) VALUES ($1)", [email]);
    return "registered";
  } catch (error) {
    if ((error as { code?: string }).code === "23505") return "taken";
    throw error;
  }
}
