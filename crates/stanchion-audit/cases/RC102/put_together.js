// Columns and values are collected first: some of them are what was read.
import sqlite3 from "sqlite3";

const db = new sqlite3.Database("/data/tasks.db");

function found(id) {
  return new Promise((resolve) => db.get("SELECT * FROM tasks WHERE id = ?", [id], (_, row) => resolve(row)));
}

function changed(id, fields) {
  const parts = [];
  const values = [];
  if (fields.title !== undefined) {
    parts.push("title = ?");
    values.push(fields.title);
  }
  if (fields.state !== undefined) {
    parts.push("state = ?");
    values.push(fields.state);
  }
  values.push(id);
  return new Promise((resolve) => {
    db.run(`UPDATE tasks SET ${parts.join(", ")} WHERE id = ?`, values, () => resolve()); // expect: RC102 read=7
  });
}

export async function rename(id, text) {
  const task = await found(id);
  task.title = `${task.title} (${text})`;
  await changed(id, task);
}
