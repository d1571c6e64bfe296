import express from "express";

const app = express();
const m3 = new Set<string>();

async function n3(body: unknown) {
  await fetch("https://ledger.example/credit", { method: "POST", body: JSON.stringify(body) });
}

app.post("/hook", async (req, res) => {
  if (m3.has(req.body.id)) return res.status(200).end();
  m3.add(req.body.id); // expect: RC405 read=11
  await n3(req.body);
  res.status(200).end();
});
