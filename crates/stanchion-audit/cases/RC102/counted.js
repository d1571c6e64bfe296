const { Pool } = require("pg");

const pool = new Pool();

exports.next = async (who) => {
  const open = await pool.query("SELECT * FROM orders WHERE state = $1 ORDER BY id", ["open"]);
  for (const order of open.rows) {
    await pool.query("UPDATE orders SET state = $1, owner = $2, tries = tries + 1 WHERE id = $3", ["packing", who, order.id]); // expect: RC102 read=6
    return order;
  }
};
