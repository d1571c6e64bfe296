// deployment: cluster; also: RC202
import cron from "node-cron";
import Redis from "ioredis";
import nodemailer from "nodemailer";

const redis = new Redis();
const mailer = nodemailer.createTransport({ host: "smtp.example" });
const counters = new Map<string, number>();

cron.schedule("0 9 * * *", async () => {
  const day = new Date().toISOString().slice(0, 10);
  const mine = await redis.set(`reminders:${day}`, "1", "EX", 86400, "NX");
  if (!mine) return;
  await mailer.sendMail({ to: "all@example.org", subject: "Reminder", text: day });
});

setInterval(() => {
  counters.clear();
}, 60_000);
