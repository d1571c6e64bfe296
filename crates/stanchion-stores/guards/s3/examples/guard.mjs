// A guarded read-modify-write of an S3 object: touch, add one, write. Nothing but Node itself.
//
// usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa node guard.mjs ENDPOINT BUCKET KEY
// ENDPOINT is https://s3.REGION.amazonaws.com, or that of another store that knows If-Match and If-None-Match for PUT.
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION are read from the environment.
// Ends with 0 if written, 3 if a newer holder has been there.

import { createHash, createHmac } from "node:crypto";

const [endpoint, bucket, key] = process.argv.slice(2);
const env = process.env;
const escape = (part) => encodeURIComponent(part).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const url = new URL(`${endpoint.replace(/\/$/, "")}/${bucket}/${key.split("/").map(escape).join("/")}`);
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// The Authorization header of AWS's signature version 4; all of `headers` are signed.
function authorization(region, method, headers) {
  const names = Object.keys(headers).sort();
  const [time, signed] = [headers["x-amz-date"], names.join(";")];
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join("");
  const scope = [time.slice(0, 8), region, "s3", "aws4_request"];
  const request = `${method}\n${url.pathname}\n\n${lines}\n${signed}\n${headers["x-amz-content-sha256"]}`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope.join("/")}\n${sha256(request)}`;
  const signature = [...scope, text].reduce((secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${env.AWS_SECRET_ACCESS_KEY}`).toString("hex");
  const credential = `${env.AWS_ACCESS_KEY_ID}/${scope.join("/")}`;
  return `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signed}, Signature=${signature}`;
}

// Never sent twice: a lost answer is an error.
async function call(method, body, condition) {
  const headers = {
    "content-type": "application/json",
    host: url.host,
    "x-amz-content-sha256": sha256(body ?? ""),
    "x-amz-date": new Date().toISOString().replace(/[-:]|\.\d+/g, ""),
    ...condition,
    ...(env.AWS_SESSION_TOKEN ? { "x-amz-security-token": env.AWS_SESSION_TOKEN } : {}),
  };
  headers.authorization = authorization(env.AWS_REGION ?? "us-east-1", method, headers);
  const response = await fetch(url, { method, headers, body, signal: AbortSignal.timeout(5000) });
  return { status: response.status, etag: response.headers.get("etag"), content: await response.text() };
}

function stop(when) {
  console.log(`refused: a newer holder ${when}`);
  process.exit(3);
}

// The new ETag. If another one was faster, nothing was written.
async function put(state, condition) {
  const answer = await call("PUT", JSON.stringify(state), condition);
  if ([409, 412].includes(answer.status)) stop("came in between");
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.content}`);
  return answer.etag;
}

// Reads, and leaves our token in the object: from here on whoever read before us cannot write.
const [fence, lease] = [env.STANCHION_FENCE, env.STANCHION_LEASE_ID];
const read = await call("GET");
if (![200, 404].includes(read.status)) throw new Error(`${read.status} ${read.content}`);
const state = read.status === 200 ? JSON.parse(read.content) : { visits: 0 };
const ours = state.fence === fence && state.fence_lease === lease;
if (!ours && BigInt(state.fence ?? -1) >= BigInt(fence)) stop(`(fence ${state.fence}) has been here`);
const condition = read.status === 200 ? { "if-match": read.etag } : { "if-none-match": "*" };
const touched = await put({ ...state, fence, fence_lease: lease }, condition);

await put({ ...state, visits: state.visits + 1, fence, fence_lease: lease }, { "if-match": touched });
console.log(`count is ${state.visits + 1}`);
