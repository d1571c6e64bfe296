// also: RC403
import nodemailer from "nodemailer";
import { ImapFlow } from "imapflow";

const mailer = nodemailer.createTransport({ host: "smtp.example" });
const broken = (error) => /ECONNRESET|ETIMEDOUT/.test(error.message);

export async function remind(to, text) {
  try {
    return await mailer.sendMail({ to, text });
  } catch (error) {
    if (!broken(error)) throw error;
    return await mailer.sendMail({ to, text }); // expect: RC402
  }
}

export async function put(folder, letter) {
  let box = new ImapFlow({ host: "imap.example" });
  try {
    await box.append(folder, letter);
  } catch {
    box = new ImapFlow({ host: "imap.example" });
    await box.append(folder, letter); // expect: RC402
  }
}

export async function order(what) {
  try {
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  } catch (error) {
    if (error.name === "TimeoutError") {
      await fetch("https://shop.example/orders", { method: "POST", body: what }); // expect: RC402
    }
  }
}
