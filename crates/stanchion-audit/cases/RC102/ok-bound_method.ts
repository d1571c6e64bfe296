// The transaction is taken off in the same way, and it is one.
import Database from "better-sqlite3";

function plain(base: any) {
  return { prepare: base.prepare.bind(base), transaction: base.transaction.bind(base) };
}

const db = plain(new Database("/data/queue.db"));

export const take = (kind: string) =>
  db
    .transaction(() => {
      const row = db.prepare(`SELECT id, state FROM jobs WHERE state = 0 AND kind = ? LIMIT 1`).get(kind) as any;
      if (!row) return undefined;
      db.prepare(`UPDATE jobs SET state = 1 WHERE id = ?`).run(row.id);
      return row;
    })
    .immediate();
