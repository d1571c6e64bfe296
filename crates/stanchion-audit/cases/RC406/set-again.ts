// deployment: cluster
import nodemailer from "nodemailer";

const mailer = nodemailer.createTransport({ host: "smtp.example" });

async function digest(): Promise<void> {
  try {
    await mailer.sendMail({ to: "all@example", subject: "Digest" }); // expect: RC406
  } finally {
    setTimeout(digest, 3_600_000);
  }
}

class Report {
  start(): void {
    setTimeout(() => void this.send(), 60_000);
  }

  private async send(): Promise<void> {
    await fetch("https://chat.example/messages", { method: "POST", body: "report" }); // expect: RC406
    setTimeout(() => this.send(), 60_000);
  }
}

void digest();
new Report().start();
