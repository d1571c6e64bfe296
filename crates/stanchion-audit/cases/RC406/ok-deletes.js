// deployment: cluster
const { Pool } = require("pg");

const pool = new Pool();

setInterval(async () => {
  await pool.query("UPDATE jobs SET state = 0 WHERE state = 1 AND begun < now() - interval '1 minute'");
  await pool.query("DELETE FROM jobs WHERE state = 2 AND done < now() - interval '1 day'");
}, 60000);
