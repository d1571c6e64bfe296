import Database from "better-sqlite3";

const db = new Database("/data/app.db");
const select = db.prepare("SELECT balance FROM accounts WHERE id = ?");
const update = db.prepare("UPDATE accounts SET balance = ? WHERE id = ?");

export function deposit(id: number, amount: number): number {
  const row = select.get(id) as { balance: number };
  const balance = row.balance + amount;
  update.run(balance, id); // expect: RC102 read=8
  return balance;
}
