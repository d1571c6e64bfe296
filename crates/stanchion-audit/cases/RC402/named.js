// also: RC403
// What the error says of itself, and what a library calls its errors.
import nodemailer from "nodemailer";
import { TimeoutError } from "ky";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

const mailer = nodemailer.createTransport({ host: "smtp.example" });

export async function asked(to, text) {
  try {
    return await mailer.sendMail({ to, text });
  } catch (error) {
    if (!error.timeout) throw error;
    return await mailer.sendMail({ to, text }); // expect: RC402
  }
}

export async function ofClass(to, text) {
  try {
    return await mailer.sendMail({ to, text });
  } catch (error) {
    if (error instanceof TimeoutError) {
      return await mailer.sendMail({ to, text }); // expect: RC402
    }
    throw error;
  }
}

export async function compared(to, text) {
  try {
    return await mailer.sendMail({ to, text });
  } catch (error) {
    if (error.code === ErrorCode.RequestTimeout) {
      return await mailer.sendMail({ to, text }); // expect: RC402
    }
    throw error;
  }
}
