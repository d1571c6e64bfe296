// deployment: cluster
import Database from "better-sqlite3";
import { Pool } from "pg";
import sqlite3 from "sqlite3";

const db = new Pool();
const UPDATE = "UPDATE docs SET body=$1, rev=rev+1 WHERE id=$2 AND rev=$3";

export async function save(id: string, body: string, rev: number) {
  const { rowCount } = await db.query(UPDATE, [body, id, rev]);
  if (rowCount === 0) throw new Error("conflict");
}

export async function saved(id: string, body: string, rev: number) {
  await db.query(UPDATE, [body, id, rev]);
  const { rows } = await db.query("SELECT rev, body FROM docs WHERE id=$1", [id]);
  return rows[0].rev === rev + 1 && rows[0].body === body;
}

const plain = new Database("docs.db");
export function saveHere(id: string, body: string, rev: number) {
  const done = plain.prepare("UPDATE docs SET body=?, rev=rev+1 WHERE id=? AND rev=?").run(body, id, rev);
  return done.changes === 1;
}

const old = new sqlite3.Database("docs.db");
export function saveLater(id: string, body: string, rev: number, then: (saved: boolean) => void) {
  old.run("UPDATE docs SET body=?, rev=rev+1 WHERE id=? AND rev=?", [body, id, rev], function (this: { changes: number }) {
    then(this.changes === 1);
  });
}
