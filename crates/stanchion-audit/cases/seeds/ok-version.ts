// right in the articles: a version in the condition; deployment: cluster
import { Pool } from "pg";

const pool = new Pool();

export async function take(project: string, sum: number) {
  for (let turn = 0; turn < 5; turn++) {
    const { rows } = await pool.query("SELECT budget, version FROM projects WHERE id = $1", [project]);
    if (rows[0].budget < sum) throw new Error("too little");
    const done = await pool.query(
      "UPDATE projects SET budget = budget - $1, version = version + 1 WHERE id = $2 AND version = $3",
      [sum, project, rows[0].version],
    );
    if (done.rowCount === 1) return;
    await new Promise((wake) => setTimeout(wake, 50 * 2 ** turn + Math.random() * 50));
  }
  throw new Error("conflict");
}
