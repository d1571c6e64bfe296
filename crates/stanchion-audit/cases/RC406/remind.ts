// deployment: cluster
import cron from "node-cron";
import nodemailer from "nodemailer";
import { Pool } from "pg";

const pool = new Pool();
const mailer = nodemailer.createTransport({ host: "smtp.example" });

cron.schedule("0 9 * * *", async () => {
  const { rows } = await pool.query("SELECT email FROM users WHERE due = true");
  for (const { email } of rows) {
    await mailer.sendMail({ to: email, subject: "Reminder", text: "Due today" }); // expect: RC406
  }
});
