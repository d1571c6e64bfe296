// A guarded read-modify-write on a Redis hash: touch, add one, write. Nothing but Node itself.
//
// usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa node guard.mjs HOST PORT KEY
// Ends with 0 if written, 3 if a newer holder has been there.

import { readFileSync } from "node:fs";
import { connect } from "node:net";

const [host, port, key] = process.argv.slice(2);
const token = [process.env.STANCHION_FENCE, process.env.STANCHION_LEASE_ID];
const script = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");

const socket = connect({ host, port: Number(port) });
let received = Buffer.alloc(0);

// Reads one answer at `at`; undefined while it is not complete.
function parse(at) {
  const end = received.indexOf("\r\n", at);
  if (end < 0) return undefined;
  const [kind, rest, next] = [received.toString("latin1", at, at + 1), received.toString("utf8", at + 1, end), end + 2];
  if (kind === "$") {
    const size = Number(rest);
    if (size < 0) return { value: null, next };
    if (received.length < next + size + 2) return undefined;
    return { value: received.toString("utf8", next, next + size), next: next + size + 2 };
  }
  if (kind === "*") {
    const value = [];
    let place = next;
    for (let i = 0; i < Number(rest); i++) {
      const item = parse(place);
      if (!item) return undefined;
      value.push(item.value);
      place = item.next;
    }
    return { value, next: place };
  }
  if (kind === "-") return { error: rest, next };
  return { value: kind === ":" ? Number(rest) : rest, next };
}

function call(...words) {
  const parts = words.map((word) => Buffer.from(String(word)));
  socket.write(Buffer.concat([Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")])]));
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.on("data", function hear(bytes) {
      received = Buffer.concat([received, bytes]);
      const answer = parse(0);
      if (!answer) return;
      socket.off("data", hear);
      received = received.subarray(answer.next);
      answer.error ? reject(new Error(answer.error)) : resolve(answer.value);
    });
  });
}

const [touched, ...rest] = await call("EVAL", script("touch.lua"), 1, key, ...token);
if (!touched) {
  console.log(`refused: a newer holder (fence ${rest[0]}) has been here`);
  process.exit(3);
}
const fields = {};
for (let i = 0; i < rest.length; i += 2) fields[rest[i]] = rest[i + 1];
const count = Number(fields.count ?? 0) + 1;
const [written, floor] = await call("EVAL", script("write.lua"), 1, key, ...token, "count", count);
if (!written) {
  console.log(`refused: a newer holder (fence ${floor}) came in between`);
  process.exit(3);
}
console.log(`count is ${count}`);
socket.end();
