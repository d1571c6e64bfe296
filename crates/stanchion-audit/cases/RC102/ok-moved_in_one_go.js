// SQLite lets one of two transactions write that have read the same: the other one fails.
export function move(db, from, to) {
  db.prepare("BEGIN").run();
  try {
    const books = db.prepare("SELECT id FROM books WHERE shelf = ?").all(from);
    if (books.length === 0) {
      db.prepare("ROLLBACK").run();
      return 0;
    }
    const marks = books.map(() => "?").join(",");
    db.prepare(`UPDATE books SET shelf = ? WHERE id IN (${marks})`).run(to, ...books.map((book) => book.id));
    db.prepare("COMMIT").run();
    return books.length;
  } catch (error) {
    db.prepare("ROLLBACK").run();
    throw error;
  }
}
