const { Pool } = require("pg");

const pool = new Pool();

exports.isTaken = async (show) => {
  try {
    await pool.query("SELECT id FROM shows WHERE id = $1 FOR UPDATE NOWAIT", [show]);
    return false;
  } catch (error) {
    if (error.code === "55P03") return true;
    throw error;
  }
};
