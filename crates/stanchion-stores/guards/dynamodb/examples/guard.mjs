// A guarded read-modify-write on a DynamoDB item: touch, add one, write. Nothing but Node itself.
//
// usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa node guard.mjs ENDPOINT TABLE KEY
// ENDPOINT is https://dynamodb.REGION.amazonaws.com, or an emulator's; the table's key is `id`, a string.
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION are read from the environment.
// Ends with 0 if written, 3 if a newer holder has been there.

import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const [endpoint, table, key] = process.argv.slice(2);
const env = process.env;
const token = { ":fence": { N: env.STANCHION_FENCE }, ":lease": { S: env.STANCHION_LEASE_ID } };
const expressions = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// The Authorization header of AWS's signature version 4, for a POST to /; all of `headers` are signed.
function authorization(region, headers, body) {
  const names = Object.keys(headers).sort();
  const [time, signed] = [headers["x-amz-date"], names.join(";")];
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join("");
  const scope = [time.slice(0, 8), region, "dynamodb", "aws4_request"];
  const request = `POST\n/\n\n${lines}\n${signed}\n${sha256(body)}`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope.join("/")}\n${sha256(request)}`;
  const signature = [...scope, text].reduce((secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${env.AWS_SECRET_ACCESS_KEY}`).toString("hex");
  const credential = `${env.AWS_ACCESS_KEY_ID}/${scope.join("/")}`;
  return `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signed}, Signature=${signature}`;
}

// The answer of DynamoDB, and whether it was a refused condition. Never sent twice: a lost answer is an error.
async function update(more) {
  const body = JSON.stringify({ TableName: table, Key: { id: { S: key } }, ...more });
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    host: new URL(endpoint).host,
    "x-amz-date": new Date().toISOString().replace(/[-:]|\.\d+/g, ""),
    "x-amz-target": "DynamoDB_20120810.UpdateItem",
    ...(env.AWS_SESSION_TOKEN ? { "x-amz-security-token": env.AWS_SESSION_TOKEN } : {}),
  };
  headers.authorization = authorization(env.AWS_REGION ?? "us-east-1", headers, body);
  const response = await fetch(endpoint, { method: "POST", headers, body, signal: AbortSignal.timeout(5000) });
  const answer = await response.json();
  const refused = String(answer.__type).endsWith("#ConditionalCheckFailedException");
  if (!response.ok && !refused) throw new Error(`${response.status} ${JSON.stringify(answer)}`);
  return { answer, refused };
}

function stop(answer, when) {
  console.log(`refused: a newer holder (fence ${answer.Item?.fence?.N ?? "unknown"}) ${when}`);
  process.exit(3);
}

const touched = await update({ ...expressions("touch.json"), ExpressionAttributeValues: token });
if (touched.refused) stop(touched.answer, "has been here");
const count = Number(touched.answer.Attributes.visits?.N ?? 0) + 1;
const written = await update({
  ...expressions("write.json"),
  UpdateExpression: "SET visits = :visits",
  ExpressionAttributeValues: { ...token, ":visits": { N: String(count) } },
});
if (written.refused) stop(written.answer, "came in between");
console.log(`count is ${count}`);
