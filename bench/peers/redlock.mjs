// redlock + ioredis as a worker of stanchion-bench.
//
// Takes a job as JSON, says READY, waits for GO, prints a tally as JSON; see bench/src/job.rs.

import { openSync, readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const require = createRequire(`${process.env.STANCHION_PEERS}/`);
const Redis = require("ioredis");
const Redlock = require("redlock").default;

const job = JSON.parse(process.argv[2]);
const LEASE_MS = 30_000;
const now = () => performance.now();

/// The same buckets as bench/src/histogram.rs.
function bucket(ns) {
  const shift = Math.max(0, Math.floor(Math.log2(Math.max(ns, 1))) + 1 - 7);
  return shift * 64 + Math.floor(ns / 2 ** shift);
}

/// One task's count; the rules are those of bench/src/worker.rs.
class Count {
  operations = 0;
  holdMs = 0;
  overlaps = 0;
  maxNs = 0;
  buckets = new Map();
  seen = Buffer.alloc(8);
  empty = Buffer.alloc(8);

  constructor(task) {
    this.id = Buffer.alloc(8);
    this.id.writeUInt32LE(job.process * job.tasks + task + 1);
    this.cell = job.cell ? openSync(job.cell, "r+") : undefined;
  }

  record(ms) {
    const ns = Math.round(ms * 1e6);
    const b = bucket(ns);
    this.buckets.set(b, (this.buckets.get(b) ?? 0) + 1);
    this.maxNs = Math.max(this.maxNs, ns);
  }

  swap(expected, next) {
    readSync(this.cell, this.seen, 0, 8, 0);
    if (!this.seen.equals(expected)) this.overlaps += 1;
    // stanchion-audit: ignore RC302 -- the cell is a number of fixed width that only the holder writes
    writeSync(this.cell, next, 0, 8, 0);
  }

  operation(window, asked) {
    const done = now();
    if (window.start <= done && done < window.end) {
      this.operations += 1;
      this.record(done - asked);
    }
  }

  hold(window, asked, got, left) {
    if (got >= window.start) this.record(got - asked);
    if (window.start <= got && got < window.end) this.operations += 1;
    this.holdMs += Math.max(0, Math.min(left, window.end) - Math.max(got, window.start));
  }
}

async function run(redlock, key, count, window) {
  for (let asked = now(); asked < window.end; asked = now()) {
    const lock = await redlock.acquire([key], LEASE_MS);
    if (count.cell === undefined) {
      await lock.release();
      count.operation(window, asked);
      continue;
    }
    const got = now();
    count.swap(count.empty, count.id);
    if (job.hold_us > 0) await sleep(job.hold_us / 1000);
    count.swap(count.id, count.empty);
    const left = now();
    // stanchion-audit: ignore RC205 -- a measurement that fails ends the process, and the key with its ttl
    await lock.release();
    count.hold(window, asked, got, left);
  }
}

// One node, or those of a redlock: URL.
const several = /^redlock:\/\/([^/?]*)/.exec(job.place[0]);
const urls = several ? several[1].split(",").map((address) => `redis://${address}/`) : [job.place[0]];
const clients = urls.map((url) => new Redis(url));
await Promise.all(clients.map((client) => client.ping()));
// Its own delays; without an end, because a contended task must not fail.
const redlock = new Redlock(clients, { retryCount: -1 });
const input = createInterface({ input: process.stdin });
console.log("READY");
const line = await new Promise((resolve) => input.once("line", resolve).once("close", resolve));
if (line !== "GO") throw new Error("the parent is gone");
const start = now() + job.warm_up_ms;
const window = { start, end: start + job.measured_ms };
const counts = Array.from({ length: job.tasks }, (_, task) => new Count(task));
const key = (task) => (job.cell ? job.key : `${job.key}-${job.process}-${task}`);
await Promise.all(counts.map((count, task) => run(redlock, key(task), count, window)));

const buckets = new Map();
for (const count of counts) for (const [b, n] of count.buckets) buckets.set(b, (buckets.get(b) ?? 0) + n);
const sum = (of) => counts.reduce((total, count) => total + of(count), 0);
console.log(
  JSON.stringify({
    tasks: counts.map((count) => count.operations),
    times: { counts: [...buckets], max_ns: Math.max(...counts.map((count) => count.maxNs)) },
    hold_ns: Math.round(sum((count) => count.holdMs) * 1e6),
    overlaps: sum((count) => count.overlaps),
    rss_kib: null,
  }),
);
input.close();
await Promise.all(clients.map((client) => client.quit()));
