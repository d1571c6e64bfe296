// deployment: cluster
const { Pool } = require("pg");

const pool = new Pool();

setInterval(async () => {
  await pool.query("DELETE FROM drafts WHERE at < now() - interval '1 day'");
  await pool.query("UPDATE accounts SET credit = credit + 1"); // expect: RC406
}, 60000);
