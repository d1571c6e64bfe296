// Only which row it is comes from what was read.
import Database from "better-sqlite3";

const db = new Database("/data/letters.db");

export function file(box, folder) {
  const letter = db.prepare("SELECT * FROM letters WHERE box = ?").get(box);
  const values = [];
  values.push(folder);
  values.push(letter.number);
  db.prepare("UPDATE letters SET folder = ? WHERE number = ?").run(...values);
}
