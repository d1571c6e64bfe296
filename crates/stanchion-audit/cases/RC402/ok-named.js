// A host that was not found got nothing, whatever the program calls its own options.
import nodemailer from "nodemailer";

const mailer = nodemailer.createTransport({ host: "smtp.example" });

export async function order(what, options) {
  try {
    await fetch("https://shop.example/orders", { method: "POST", body: what });
  } catch (error) {
    if (options.timeout && error.code === "ENOTFOUND") {
      return await fetch("https://shop.example/orders", { method: "POST", body: what });
    }
    throw error;
  }
}

export async function remind(to, text, timeout) {
  try {
    return await mailer.sendMail({ to, text });
  } catch (error) {
    if (timeout > 0 && error.code === "ENOTFOUND") {
      return await mailer.sendMail({ to, text });
    }
    throw error;
  }
}
