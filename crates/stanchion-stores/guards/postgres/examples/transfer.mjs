// Takes 10 from an account as the holder of a token.
// usage: DATABASE_URL=postgres://... node transfer.mjs ACCOUNT FENCE LEASE
import { execFileSync } from "node:child_process";

const url = process.env.DATABASE_URL;
const [id, fence, lease] = process.argv.slice(2);
const touch = "UPDATE accounts SET fence = $1, fence_lease = $2 WHERE id = $3 RETURNING balance";
const hold = "SELECT stanchion_guard.hold($1, $2)";
const write = "UPDATE accounts SET balance = $1 WHERE id = $2";

async function withDriver(pg) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(touch, [fence, lease, id]); // the read
    const balance = Number(rows[0].balance) - 10;
    await client.query("BEGIN");
    await client.query(hold, [fence, lease]);
    await client.query(write, [balance, id]);
    await client.query("COMMIT");
    return balance;
  } finally {
    await client.end();
  }
}

function withPsql() {
  const run = (sql, values) => {
    const variables = values.flatMap((value, i) => ["-v", `p${i + 1}=${value}`]);
    const input = sql.replace(/\$(\d)/g, (_, n) => `:'p${n}'`);
    return execFileSync("psql", [url, "-qtAX", "-v", "ON_ERROR_STOP=1", ...variables], { input, encoding: "utf8" }).trim();
  };
  const balance = Number(run(touch, [fence, lease, id])) - 10; // the read
  const numbered = write.replace("$1", "$3").replace("$2", "$4");
  run(`BEGIN; ${hold}; ${numbered}; COMMIT;`, [fence, lease, balance, id]);
  return balance;
}

try {
  const driver = await import("pg").then((module) => module.default, () => null);
  console.log(driver ? await withDriver(driver) : withPsql());
} catch (error) {
  console.error(String(error.stderr ?? error.message).trim());
  process.exit(1);
}
