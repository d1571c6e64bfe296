import { DuckDBInstance } from "@duckdb/node-api";

const instance = await DuckDBInstance.create("my.db");
const connection = await instance.connect();

export async function count(id: string) {
  const reader = await connection.runAndReadAll("SELECT n FROM c WHERE id = $1", [id]);
  const n = reader.getRows()[0][0];
  await connection.run("UPDATE c SET n = $1 WHERE id = $2", [n + 1, id]); // expect: RC102 read=7
}
