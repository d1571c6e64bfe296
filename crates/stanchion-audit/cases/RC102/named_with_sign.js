// What is bound by name carries the sign that it has in the statement.
const sqlite3 = require("sqlite3");
const db = new sqlite3.Database("/data/pages.db");
exports.hit = (page) => {
  db.get("SELECT hits FROM pages WHERE id = $page", { $page: page }, (error, row) => {
    db.run("UPDATE pages SET hits = $hits WHERE id = $page", { $hits: row.hits + 1, $page: page }); // expect: RC102 read=5
  });
};
