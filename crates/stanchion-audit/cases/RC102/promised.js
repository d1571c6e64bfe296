// What a promise is resolved with in a callback is what somebody waits for.
import sqlite3 from "sqlite3";

const db = new sqlite3.Database("/data/points.db");

function one(sql, values) {
  return new Promise((resolve, reject) => {
    db.get(sql, values, (error, row) => (error ? reject(error) : resolve(row)));
  });
}

function all(sql, values) {
  return new Promise((resolve, reject) => {
    db.run(sql, values, (error) => { // expect: RC102 read=8
      if (error) {
        reject(error);
      } else {
        resolve();
      }
    });
  });
}

export async function add(id, points) {
  const row = await one("SELECT points FROM players WHERE id = ?", [id]);
  await all("UPDATE players SET points = ? WHERE id = ?", [row.points + points, id]);
}
