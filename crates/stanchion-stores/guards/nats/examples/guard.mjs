// A guarded read-modify-write on a key of a NATS bucket: touch, add one, write. No packages needed.
//
// usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa node guard.mjs HOST PORT BUCKET KEY
// Ends with 0 if written, 3 if a newer holder has been there.

import { randomBytes } from "node:crypto";
import { createConnection } from "node:net";

const WRONG_SEQUENCE = 10071, NO_MESSAGE = 10037;

class Nats {
  constructor(host, port) {
    this.inbox = `_INBOX.${randomBytes(8).toString("hex")}`;
    this.waiting = new Map();
    this.sent = 0;
    this.buffer = Buffer.alloc(0);
    this.socket = createConnection({ host, port });
    this.socket.on("data", (bytes) => this.take(bytes));
    this.socket.on("error", (error) => this.fail(error));
    this.socket.write(`CONNECT {"headers":true,"no_responders":true,"verbose":false}\r\nSUB ${this.inbox}.* 1\r\n`);
  }

  fail(error) {
    for (const { reject } of this.waiting.values()) reject(error);
  }

  take(bytes) {
    this.buffer = Buffer.concat([this.buffer, bytes]);
    for (;;) {
      const end = this.buffer.indexOf("\r\n");
      if (end < 0) return;
      const words = this.buffer.toString("utf8", 0, end).split(" ");
      const size = /^H?MSG$/.test(words[0]) ? Number(words.at(-1)) + 2 : 0;
      if (this.buffer.length < end + 2 + size) return;
      const body = this.buffer.toString("utf8", end + 2, end + 2 + size - 2);
      this.buffer = this.buffer.subarray(end + 2 + size);
      if (words[0] === "PING") this.socket.write("PONG\r\n");
      if (words[0] === "-ERR") this.fail(new Error(words.join(" ")));
      if (words[0] === "HMSG") this.fail(new Error("nobody answers: is JetStream on, and is there such a bucket?"));
      if (words[0] === "MSG") this.waiting.get(words[1])?.resolve(JSON.parse(body));
    }
  }

  ask(subject, payload, headers) {
    const reply = `${this.inbox}.${++this.sent}`;
    const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
    const block = headers ? `NATS/1.0\r\n${lines.join("")}\r\n` : "";
    const sizes = (headers ? `${block.length} ` : "") + (block.length + Buffer.byteLength(payload));
    this.socket.write(`${headers ? "HPUB" : "PUB"} ${subject} ${reply} ${sizes}\r\n${block}${payload}\r\n`);
    return new Promise((resolve, reject) => this.waiting.set(reply, { resolve, reject }));
  }
}

class Guard {
  constructor(nats, bucket, key, number, leaseId) {
    this.nats = nats;
    this.stream = `KV_${bucket}`;
    this.subject = `$KV.${bucket}.${key}`;
    this.number = BigInt(number);
    this.token = `${this.number}-${leaseId}`;
  }

  // The value, its revision and its fence.
  async last() {
    const question = JSON.stringify({ last_by_subj: this.subject });
    const answer = await this.nats.ask(`$JS.API.STREAM.MSG.GET.${this.stream}`, question);
    if (answer.error?.err_code === NO_MESSAGE) return ["", 0, null];
    if (answer.error) throw new Error(answer.error.description);
    const { seq, hdrs = "", data = "" } = answer.message;
    const block = Buffer.from(hdrs, "base64").toString();
    const header = (name) => block.split("\r\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const value = header("KV-Operation") ? "" : Buffer.from(data, "base64").toString();
    return [value, seq, header("Fence") ?? null];
  }

  // Writes in the place of `revision`; the new one, or null if it is not the last any more.
  async replace(revision, value) {
    const headers = { "Nats-Expected-Last-Subject-Sequence": revision, Fence: this.token };
    const answer = await this.nats.ask(this.subject, value, headers);
    if (answer.error?.err_code === WRONG_SEQUENCE) return null;
    if (answer.error) throw new Error(answer.error.description);
    return answer.seq;
  }

  // Raises the fence to our token and reads: [value, revision], or null if a newer holder has been here.
  async touch() {
    for (;;) {
      const [value, revision, fence] = await this.last();
      if (fence !== null && fence !== this.token && BigInt(fence.split("-")[0]) >= this.number) return null;
      const touched = await this.replace(revision, value);
      if (touched !== null) return [value, touched];
    }
  }
}

async function main() {
  const [host, port, bucket, key] = process.argv.slice(2);
  const nats = new Nats(host, Number(port));
  const guard = new Guard(nats, bucket, key, process.env.STANCHION_FENCE, process.env.STANCHION_LEASE_ID);
  try {
    const touched = await guard.touch();
    if (touched === null) {
      console.log("refused: a newer holder has been here");
      return 3;
    }
    const [value, revision] = touched;
    const count = Number(value || 0) + 1;
    if ((await guard.replace(revision, String(count))) === null) {
      console.log("refused: a newer holder came in between");
      return 3;
    }
    console.log(`count is ${count}`);
    return 0;
  } finally {
    nats.socket.end();
  }
}

process.exitCode = await main();
