// The path of a page has the title in it, which others change.
import Database from "better-sqlite3";
import fs from "node:fs";
import path from "node:path";

const db = new Database("/srv/atlas/atlas.db");

export function redraw(code, input) {
  const map = db.prepare("SELECT * FROM maps WHERE code = ?").get(code);
  if (!map) throw new Error("no such map");
  const fields = [];
  const values = [];
  if (input.title !== undefined) {
    fields.push("title = ?");
    values.push(input.title);
  }
  if (input.page !== undefined) {
    const page = path.join(path.join("/srv/atlas", `volume-${map.volume_id}`), `map-${map.title}.svg`);
    fs.writeFileSync(page, input.page);
    fields.push("page = ?");
    values.push(page);
  }
  fields.push("changed_at = datetime('now')");
  values.push(map.id);
  db.prepare(`UPDATE maps SET ${fields.join(", ")} WHERE id = ?`).run(...values); // expect: RC102 read=9
}
