// A parent is looked for by the number that the loop gives to rows which were found otherwise.
import Database from "better-sqlite3";

const db = new Database("/srv/stock/stock.db");

export function renumber(project, above) {
  const parent = db.prepare("SELECT name FROM jobs WHERE number = ?").get(above);
  if (!parent) throw new Error("no parent");
  db.transaction(() => {
    const rows = db.prepare("SELECT id, kind FROM jobs WHERE project = ? ORDER BY id").all(project);
    let next = 1;
    for (const row of rows) {
      db.prepare("UPDATE jobs SET number = ? WHERE id = ?").run(next, row.id);
      next += 1;
    }
  })();
}
