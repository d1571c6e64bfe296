import { PoolClient } from "pg";

export async function left(client: PoolClient, show: string) {
  const { rows } = await client.query("SELECT places FROM shows WHERE id = $1 FOR UPDATE", [show]);
  return rows[0].places;
}
