// What is bound is put together first, and given one by one.
import Database from "better-sqlite3";

const db = new Database("/data/notes.db");

export function tag(id, word, title) {
  const note = db.prepare("SELECT * FROM notes WHERE id = ?").get(id);
  const columns = [];
  const values = [];
  columns.push("tags = ?");
  values.push(JSON.stringify([...JSON.parse(note.tags), word]));
  if (title) {
    columns.push("title = ?");
    values.push(title);
  }
  db.prepare(`UPDATE notes SET ${columns.join(", ")} WHERE id = ?`).run(...values, id); // expect: RC102 read=7
}

export function spend(id, price) {
  const purse = db.prepare("SELECT * FROM purses WHERE id = ?").get(id);
  const values = [];
  values.push(purse.coins - price);
  values.push(id);
  db.prepare("UPDATE purses SET coins = ? WHERE id = ?").run(...values); // expect: RC102 read=20
}
