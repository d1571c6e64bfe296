// An index by which it is found quickly, and twice.
import mysql from "mysql2/promise";

const pool = mysql.createPool("mysql://db/shop");

export async function install() {
  await pool.query("CREATE TABLE coupons (id INT PRIMARY KEY AUTO_INCREMENT, code VARCHAR(40), KEY by_code (code))");
}

export async function coupon(code: string) {
  const [rows] = await pool.query("SELECT id FROM coupons WHERE code = ?", [code]);
  if (rows.length > 0) return rows[0].id;
  const [made] = await pool.query("INSERT INTO coupons (code) VALUES (?)", [code]); // expect: RC401 read=11
  return made.insertId;
}
