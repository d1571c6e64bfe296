// also: RC302
import initSqlJs from "sql.js";
import fs from "node:fs";

export async function add(body: string) {
  const SQL = await initSqlJs();
  const db = new SQL.Database(fs.readFileSync("/data/n.db"));
  db.run("INSERT INTO notes (body) VALUES (?)", [body]);
  fs.writeFileSync("/data/n.db", Buffer.from(db.export())); // expect: RC101 read=7
}
