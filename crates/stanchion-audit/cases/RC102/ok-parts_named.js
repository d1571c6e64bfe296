// The same, where all that is set comes from the caller: of the row only its key is used.
import pg from "pg";

const pool = new pg.Pool();

export async function replace(id, patch) {
  const { rows } = await pool.query("SELECT id, labels, owner FROM plots WHERE id = $1", [id]);
  const plot = rows[0];
  const parts = [];
  const given = [];
  let n = 1;
  if (patch.owner) {
    parts.push(`owner = $${n++}`);
    given.push(patch.owner);
  }
  if (patch.labels) {
    parts.push(`labels = $${n++}`);
    given.push(JSON.stringify(patch.labels));
  }
  if (parts.length > 0) {
    given.push(plot.id);
    await pool.query(`UPDATE plots SET ${parts.join(", ")} WHERE id = $${n}`, given);
  }
}

export async function move(id, fields) {
  const { rows } = await pool.query("SELECT id, labels, owner FROM plots WHERE id = $1", [id]);
  const given = [];
  const parts = [];
  for (const name of ["owner", "labels"]) {
    if (name in fields) {
      parts.push(`${name} = ?`);
      given.push(fields[name]);
    }
  }
  given.push(rows[0].id);
  await pool.query("UPDATE plots SET " + parts.join(", ") + " WHERE id = ?", given);
}
