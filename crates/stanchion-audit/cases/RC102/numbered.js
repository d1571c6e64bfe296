// Which placeholder it is depends on how many there are.
import pg from "pg";

const pool = new pg.Pool();

export async function tag(id, word, title) {
  const { rows } = await pool.query("SELECT * FROM notes WHERE id = $1", [id]);
  const columns = [];
  const values = [];
  values.push(JSON.stringify([...rows[0].tags, word]));
  columns.push(`tags = $${values.length}`);
  if (title) {
    values.push(title);
    columns.push(`title = $${values.length}`);
  }
  values.push(id);
  await pool.query(`UPDATE notes SET ${columns.join(", ")} WHERE id = $${values.length}`, values); // expect: RC102 read=7
}
