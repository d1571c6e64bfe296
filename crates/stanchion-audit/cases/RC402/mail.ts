// also: RC403
import nodemailer from "nodemailer";

const mailer = nodemailer.createTransport({ host: "smtp.example" });
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export class Notices {
  async invoice(to: string, text: string): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        await mailer.sendMail({ to, subject: "Invoice", text }); // expect: RC402
        return;
      } catch (error) {
        console.warn("mail failed", attempt, error);
        await sleep(1000 * 2 ** attempt);
      }
    }
    throw new Error("not sent");
  }
}
