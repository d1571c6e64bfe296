// deployment: cluster
import express from "express";
import { Pool } from "pg";

const db = new Pool();
const app = express();
app.put("/docs/:id", async (req, res) => {
  const { rows: [doc] } = await db.query("SELECT * FROM docs WHERE id=$1", [req.params.id]);
  const values = [doc.body + req.body.add, doc.id, doc.rev];
  await db.query("UPDATE docs SET body=$1, rev=rev+1 WHERE id=$2 AND rev=$3", values); // expect: RC106 read=8
  res.end();
});
app.post("/docs/:id", async (req, res) => {
  const values = [req.body.body, req.params.id, req.body.rev];
  await db.query("UPDATE docs SET body=$1, rev=rev+1 WHERE id=$2 AND rev=$3", values); // expect: RC106
  res.end();
});
app.listen(1);
