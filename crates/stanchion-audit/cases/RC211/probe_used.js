// also: RC102
const { Pool } = require("pg");

const pool = new Pool();

exports.take = async (show) => {
  const { rows } = await pool.query("SELECT places FROM shows WHERE id = $1 FOR UPDATE NOWAIT", [show]); // expect: RC211
  await pool.query("UPDATE shows SET places = $1 WHERE id = $2", [rows[0].places - 1, show]);
};
