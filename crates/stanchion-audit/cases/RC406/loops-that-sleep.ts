// deployment: cluster
import nodemailer from "nodemailer";
import { Pool } from "pg";

const pool = new Pool();
const mailer = nodemailer.createTransport({ host: "smtp.example" });

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

class Digest {
  private running = true;

  async run(): Promise<void> {
    while (this.running) {
      try {
        const { rows } = await pool.query("SELECT email FROM users WHERE due = true");
        for (const { email } of rows) {
          await mailer.sendMail({ to: email, subject: "Digest" }); // expect: RC406
        }
      } catch (error) {
        console.error(error);
      }
      await sleep(60_000);
    }
  }

  stop(): void {
    this.running = false;
  }
}

async function report(): Promise<void> {
  for (;;) {
    await new Promise((done) => setTimeout(done, 3_600_000));
    await fetch("https://chat.example/messages", { method: "POST", body: "report" }); // expect: RC406
  }
}

void report();
new Digest().run().catch(console.error);
