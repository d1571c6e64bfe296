import { Pool } from "pg";

const pool = new Pool();

export async function comment(postId: string, author: string, text: string) {
  const post = await pool.query("SELECT id FROM posts WHERE id = $1", [postId]);
  if (post.rowCount === 0) throw new Error("no such post");
  await pool.query("INSERT INTO comments (post_id, author, text) VALUES ($1, $2, $3)", [postId, author, text]);
}

export async function audit(line: string) {
  const { rows } = await pool.query("SELECT count(*) AS n FROM audit");
  if (rows[0].n % 1000 === 0) console.log("many lines", rows[0].n);
  await pool.query("INSERT INTO audit (line) VALUES ($1)", [line]);
}
