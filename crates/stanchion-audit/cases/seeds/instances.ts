// bugs: the article's first example, a mutex of one process in several; deployment: cluster
import { Mutex } from "async-mutex";
import { Pool } from "pg";

const pool = new Pool();
const mutex = new Mutex();

export async function take(project: string, sum: number) {
  await mutex.runExclusive(async () => {
    const found = await pool.query("SELECT budget FROM projects WHERE id = $1", [project]);
    const left = found.rows[0].budget - sum;
    await pool.query("UPDATE projects SET budget = $1 WHERE id = $2", [left, project]); // expect: RC201 read=10
  });
}
