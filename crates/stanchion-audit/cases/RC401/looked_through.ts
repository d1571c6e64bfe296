import { Pool } from "pg";

const pool = new Pool();

export async function byFind(title: string) {
  const { rows } = await pool.query("SELECT id, title FROM notes");
  const found = rows.find((row) => row.title === title);
  if (found) return found.id;
  await pool.query("INSERT INTO notes (title) VALUES ($1)", [title]); // expect: RC401 read=6
}

export async function bySome(title: string) {
  const { rows } = await pool.query("SELECT title FROM topics");
  if (rows.some((row) => row.title.toLowerCase() === title.toLowerCase())) {
    throw new Error("there already");
  }
  await pool.query("INSERT INTO topics (title) VALUES ($1)", [title]); // expect: RC401 read=13
}

export async function byLoop(title: string) {
  const { rows } = await pool.query("SELECT title FROM marks");
  for (const row of rows) {
    if (row.title === title) {
      return false;
    }
  }
  await pool.query("INSERT INTO marks (title) VALUES ($1)", [title]); // expect: RC401 read=21
  return true;
}

export async function byFilter(title: string) {
  const { rows } = await pool.query("SELECT title FROM pages");
  if (rows.filter((row) => row.title === title).length > 0) return;
  await pool.query("INSERT INTO pages (title) VALUES ($1)", [title]); // expect: RC401 read=32
}

export async function byEach(titles: string[]) {
  const known = (await pool.query("SELECT title FROM films")).rows;
  for (const title of titles) {
    if (known.find((row) => row.title === title)) continue;
    await pool.query("INSERT INTO films (title) VALUES ($1)", [title]); // expect: RC401 read=38
  }
}

export async function byNot(title: string) {
  const { rows } = await pool.query("SELECT title FROM books");
  const titles = rows.map((row) => row.title);
  if (!titles.includes(title)) {
    await pool.query("INSERT INTO books (title) VALUES ($1)", [title]); // expect: RC401 read=46
  }
}

export async function byFlag(title: string) {
  const { rows } = await pool.query("SELECT title FROM songs");
  let found = false;
  for (const row of rows) {
    if (row.title === title) {
      found = true;
    }
  }
  if (!found) {
    await pool.query("INSERT INTO songs (title) VALUES ($1)", [title]); // expect: RC401 read=54
  }
}
