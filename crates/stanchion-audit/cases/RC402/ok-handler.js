// Another way, another text, an error that says that nothing was done, and what is done twice as if once.
import nodemailer from "nodemailer";
import { ImapFlow } from "imapflow";

const mailer = nodemailer.createTransport({ host: "smtp.example" });
const second = nodemailer.createTransport({ host: "smtp2.example" });
const box = new ImapFlow({ host: "imap.example" });

export async function remind(to, text) {
  try {
    return await mailer.sendMail({ to, text });
  } catch {
    return await second.sendMail({ to, text });
  }
}

export async function plain(to, text, html) {
  try {
    return await mailer.sendMail({ to, html });
  } catch {
    return await mailer.sendMail({ to, text });
  }
}

export async function cut(to, text) {
  try {
    await mailer.sendMail({ to, text });
  } catch {
    text = text.slice(0, 100);
    await mailer.sendMail({ to, text });
  }
}

export async function other(to, text) {
  let way = mailer;
  try {
    await way.sendMail({ to, text });
  } catch {
    way = second;
    await way.sendMail({ to, text });
  }
}

export async function order(what, login) {
  try {
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  } catch (error) {
    if (error.status === 401) {
      await login();
      await fetch("https://shop.example/orders", { method: "POST", body: what });
    }
  }
}

export async function refused(what) {
  try {
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  } catch (error) {
    if (error.code !== "ECONNREFUSED") throw error;
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  }
}

export async function unless(what) {
  try {
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  } catch (error) {
    if (error.code === "ETIMEDOUT") throw error;
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  }
}

export async function move(letters, folder) {
  try {
    await box.messageMove(letters, folder);
  } catch {
    await box.messageMove(letters, folder);
  }
}
