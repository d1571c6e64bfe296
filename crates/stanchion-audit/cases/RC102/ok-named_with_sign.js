// The row is another one, and what is written does not come from the one that was read.
const sqlite3 = require("sqlite3");
const db = new sqlite3.Database("/data/pages.db");
exports.visit = (page, from) => {
  db.get("SELECT title FROM pages WHERE id = $page", { $page: page }, (error, row) => {
    db.run("UPDATE pages SET last_title = $title WHERE id = $from", { $title: row.title, $from: from });
  });
};
exports.hit = (page) => {
  db.run("UPDATE pages SET hits = hits + $more WHERE id = $page", { $more: 1, $page: page });
};
