// The database's methods are handed on with their receiver.
import Database from "better-sqlite3";

function plain(base: any) {
  return { prepare: base.prepare.bind(base), transaction: base.transaction.bind(base) };
}

const db = plain(new Database("/data/queue.db"));

export const take = (kind: string) => {
  const row = db.prepare(`SELECT id, state FROM jobs WHERE state = 0 AND kind = ? LIMIT 1`).get(kind) as any;
  if (!row) return undefined;
  db.prepare(`UPDATE jobs SET state = 1 WHERE id = ?`).run(row.id); // expect: RC102 read=11
  return row;
};
