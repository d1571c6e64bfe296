// deployment: cluster
import express from "express";
import { Pool } from "pg";

const locks = new Map<string, Promise<void>>();
async function withKey<T>(key: string, work: () => Promise<T>): Promise<T> {
  while (locks.has(key)) await locks.get(key);
  let done!: () => void;
  locks.set(key, new Promise<void>((resolve) => (done = resolve)));
  try {
    return await work();
  } finally {
    locks.delete(key);
    done();
  }
}

const db = new Pool();
const app = express();
app.post("/:id", async (req, res) => {
  await withKey(req.params.id, async () => {
    const { rows } = await db.query("SELECT n FROM t WHERE id=$1", [req.params.id]);
    await db.query("UPDATE t SET n=$1 WHERE id=$2", [rows[0].n + 1, req.params.id]); // expect: RC201 read=22
  });
  res.end();
});
app.listen(1);
